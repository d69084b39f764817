"""Words for what was found: one place turns a decision into a short sentence."""

from reprise.evidence.words.forms import digits, listed, margin_words, metric_name, number, percent, plural, unit_words
from reprise.evidence.words.names import name_of, plain
from reprise.evidence.words.reductions import changes, reduced
from reprise.evidence.words.sentences import answer, reading_line, sentence

__all__ = [
    "answer",
    "changes",
    "digits",
    "listed",
    "margin_words",
    "metric_name",
    "name_of",
    "number",
    "percent",
    "plain",
    "plural",
    "reading_line",
    "reduced",
    "sentence",
    "unit_words",
]
