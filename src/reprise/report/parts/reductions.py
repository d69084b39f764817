"""Describe what a tier reduces of the paper's settings: the budget behind the numbers of a claim or table."""

from reprise.config.schema import Experiment, Scalar
from reprise.records.resolved import Resolved
from reprise.report.parts.rounding import format_number

COUNT_NOUNS = {
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
"""Nouns of options that count something: singular and plural."""


def describe_reductions(entry: Experiment, resolved: Resolved | None) -> dict[str, str]:
    """Describe every setting that a tier reduces, by option: "at most 6 epochs (tier paper: 25)".

    Return nothing for a check and for an experiment that the tier does not run. The options of a corpus that replaces
    the paper's are left out: they are that corpus's own.
    """
    if resolved is None or resolved.is_check or resolved.tier not in entry.tiers:
        return {}
    has_other_corpus = entry.data is not None and resolved.config["data"]["dataset"] != entry.data.dataset
    sections = [entry.training, entry.model, *([] if has_other_corpus else [entry.data])]
    paper_values = {name: s.value for section in reversed(sections) if section for name, s in section.settings.items()}
    return {
        option: _describe_reduction(option, reduced, paper_values[option])
        for option, reduced in entry.tiers[resolved.tier].reductions.items()
        if option in paper_values and reduced != paper_values[option]
    }


def _name_option(option: str) -> str:
    """Name an option: "batch size"."""
    return option.removeprefix("max_").replace("_", " ")


def _describe_reduction(option: str, reduced: Scalar, paper_value: Scalar) -> str:
    """Write the noun after a count, the name of an option before any other value."""
    singular, plural = COUNT_NOUNS.get(option, ("", ""))
    text = (
        f"{_format_value(reduced)} {singular if reduced == 1 else plural}"
        if plural
        else f"{_name_option(option)} {_format_value(reduced)}"
    )
    prefix = "at most " if option.startswith("max_") else ""
    return f"{prefix}{text} (tier paper: {_format_value(paper_value)})"


def _format_value(value: Scalar) -> str:
    """Write a value; a number as everywhere."""
    return format_number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
