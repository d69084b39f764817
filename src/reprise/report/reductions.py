"""What a tier changes in an experiment, in words: the value that it takes and the paper's file's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reprise.report.context import Context
from reprise.report.rounding import integer, plural

_NAMED = 4
"""So many models are called by name; of more, their number is said."""
_WORDS = {
    "max_epochs": "epochs",
    "steps": "steps",
    "folds": "folds",
    "lines": "lines",
    "pairs": "pairs of sentences",
    "training_sentences": "training sentences",
    "validation_sentences": "validation sentences",
    "hidden_size": "hidden units",
    "embedding_size": "dimensions of the embedding",
    "vocabulary_size": "words in the vocabulary",
    "matrices": "recurrence matrices",
    "batch_size": "examples a batch",
}
"""What a number of these options counts."""


def reduced(context: Context, name: str) -> str:
    """ "6 epochs in place of 25": every setting that the tier changes, a value that stays as it is left out."""
    return ", ".join(_said(context, name, option, value) for option, value in _changed(context, name).items())


def sentences(context: Context, names: Sequence[str]) -> list[str]:
    """A sentence a change, with the models that it is made to; without them where all are changed alike."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(reduced(context, name), []).append(context.entry(name).title)
    if len(groups) == 1:
        return [f"At this tier {changes}." for changes in groups if changes]
    named = {c: "; ".join(t) if len(t) <= _NAMED else plural(len(t), "model") for c, t in groups.items() if c}
    return [f"{titles}: at this tier {changes}." for changes, titles in named.items()]


def _changed(context: Context, name: str) -> Mapping[str, Any]:
    reductions = context.reductions(name)
    return {option: value for option, value in reductions.items() if value != _stated(context, name, option)}


def _stated(context: Context, name: str, option: str) -> Any:
    """The value in the paper's file; None where it has none, as of an option of another dataset."""
    entry = context.entry(name)
    for section in (entry.model, entry.data, entry.training):
        if section is not None and option in section.settings:
            return section.settings[option].value
    return None


def _said(context: Context, name: str, option: str, value: Any) -> str:
    before, counted = _stated(context, name, option), _WORDS.get(option)
    if counted and type(value) is int:
        text = f"{integer(value)} {counted}"
        return text if before is None else f"{text} in place of {integer(before)}"
    text = f"{option.replace('_', ' ')} {value}"
    return text if before is None else f"{text} in place of {before}"
