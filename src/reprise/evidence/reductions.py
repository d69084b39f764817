"""What a tier does less of than the paper, in words: a claim's sentence says under which settings its numbers came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reprise.config.schema import Scalar
from reprise.evidence.runs import Runs
from reprise.evidence.wording import listed, number

_SECTIONS = ("training", "model", "data")


def reduced(experiments: Iterable[Runs]) -> str:
    """ "At this tier 6 epochs in place of 25."; empty where the tier changes no setting of the experiments it has.

    A setting that it changes in more than one way is only named. The options of a corpus that takes the place of the
    paper's are left out: they are that corpus's own.
    """
    found: dict[str, dict[str, None]] = {}
    for runs in experiments:
        for option, now, before in _changes(runs):
            found.setdefault(option, {})[_words(option, now, before)] = None
    said = [
        next(iter(ways)) if len(ways) == 1 else f"other values of {_name(option)}" for option, ways in found.items()
    ]
    return f"At this tier {listed(said)}." if said else ""


def _changes(runs: Runs) -> Iterator[tuple[str, Scalar, Scalar]]:
    if runs.resolved is None or runs.resolved.is_check:
        return
    sections = [name for name in _SECTIONS if name != "data" or not runs.replaced_dataset]
    stated = {k: s.value for name in reversed(sections) for k, s in getattr(runs.entry, name).settings.items()}
    for option, now in runs.entry.tiers[runs.resolved.tier].reductions.items():
        if option in stated and now != stated[option]:
            yield option, now, stated[option]


def _name(option: str) -> str:
    return option.removeprefix("max_").replace("_", " ")


def _words(option: str, now: Scalar, before: Scalar) -> str:
    """Counts before what is counted, values after what has them."""
    shown, name = _shown(now), _name(option)
    counted = name.endswith("s") and isinstance(now, int)
    return f"{f'{shown} {name}' if counted else f'{name} {shown}'} in place of {_shown(before)}"


def _shown(value: Scalar) -> str:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
