"""Words for what was found: one place turns a decision into a short sentence."""

from reprise.evidence.words.forms import (
    digits,
    listed,
    margin_words,
    number,
    per_cent_lower,
    percent,
    plural,
    unit_words,
)
from reprise.evidence.words.names import name_of, plain
from reprise.evidence.words.reductions import changes, reduced
from reprise.evidence.words.sentences import answer, effect, reading_line, sentence, size_words

__all__ = [
    "answer",
    "changes",
    "digits",
    "effect",
    "listed",
    "margin_words",
    "name_of",
    "number",
    "per_cent_lower",
    "percent",
    "plain",
    "plural",
    "reading_line",
    "reduced",
    "sentence",
    "size_words",
    "unit_words",
]
