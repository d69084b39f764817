"""What a tier changes in the experiments of a table, in the words that claims use too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reprise.evidence.reductions import changes
from reprise.evidence.wording import listed
from reprise.report.context import Context
from reprise.report.rounding import plural

_NAMED = 4
"""So many models are called by name; of more, their number is said."""


def reduced(context: Context, name: str) -> str:
    """ "6 epochs at most in place of 25": see `reprise.evidence.reductions.changes`."""
    return listed(list(changes(context.entry(name), context.resolved(name)).values()))


def grouped(models: Iterable[tuple[Context, str]]) -> dict[str, list[str]]:
    """Titles of models, whichever paper they are of, by how the tier changes them; "" has those that it leaves."""
    groups: dict[str, list[str]] = {}
    for context, name in models:
        groups.setdefault(reduced(context, name), []).append(context.entry(name).title)
    return groups


def sentences(context: Context, names: Sequence[str]) -> list[str]:
    """A sentence for each way in which models are changed, with these models; without them where all are alike."""
    groups = grouped((context, name) for name in names)
    if len(groups) == 1:
        return [f"At this tier {changed}." for changed in groups if changed]
    named = {c: "; ".join(t) if len(t) <= _NAMED else plural(len(t), "model") for c, t in groups.items() if c}
    return [f"{titles}: at this tier {changed}." for changed, titles in named.items()]
