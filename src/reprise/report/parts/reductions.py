"""What a tier does less of than the paper, in words: under which settings the numbers of a claim or table came."""

from reprise.config.schema import Experiment, Scalar
from reprise.records.resolved import Resolved
from reprise.report.parts.rounding import number

COUNTED = {
    "batch_size": ("example a batch", "examples a batch"),
    "embedding_size": ("dimension of the embedding", "dimensions of the embedding"),
    "final_length": ("character of the last text", "characters of the last text"),
    "hidden_size": ("hidden unit", "hidden units"),
    "matrices": ("recurrence matrix", "recurrence matrices"),
    "max_epochs": ("epoch", "epochs"),
    "pairs": ("pair of sentences", "pairs of sentences"),
    "sample_words": ("word a sample", "words a sample"),
    "samples": ("sample", "samples"),
    "second_order_size": ("second-order unit", "second-order units"),
    "steps": ("step", "steps"),
}
"""What a number of these options counts: one, and several."""


def changes(entry: Experiment, resolved: Resolved | None) -> dict[str, str]:
    """Write "at most 6 epochs (paper: 25)", by option: every setting of the paper's file that the tier changes.

    Empty of a check, and of what the tier does not run. The options of a corpus that takes the place of the paper's are
    left out: they are that corpus's own.
    """
    if resolved is None or resolved.is_check or resolved.tier not in entry.tiers:
        return {}
    replaced = entry.data is not None and resolved.config["data"]["dataset"] != entry.data.dataset
    sections = [entry.training, entry.model, *([] if replaced else [entry.data])]
    stated = {name: s.value for section in reversed(sections) if section for name, s in section.settings.items()}
    return {
        option: _words(option, now, stated[option])
        for option, now in entry.tiers[resolved.tier].reductions.items()
        if option in stated and now != stated[option]
    }


def _name(option: str) -> str:
    return option.removeprefix("max_").replace("_", " ")


def _words(option: str, now: Scalar, before: Scalar) -> str:
    """Put counts before what is counted, values behind what has them."""
    one, several = COUNTED.get(option, ("", ""))
    words = f"{_shown(now)} {one if now == 1 else several}" if several else f"{_name(option)} {_shown(now)}"
    most = "at most " if option.startswith("max_") else ""
    return f"{most}{words} (paper: {_shown(before)})"


def _shown(value: Scalar) -> str:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
