"""Words for what was found: one place turns a decision into a short sentence."""
# ruff: noqa: F401

from reprise.evidence.words.forms import digits, listed, margin_words, number, percent, plural, unit_words
from reprise.evidence.words.names import name_of, plain
from reprise.evidence.words.reductions import changes, reduced
from reprise.evidence.words.sentences import (
    MARGIN_KINDS,
    answer,
    effect,
    established,
    is_borrowed,
    is_ranked,
    level,
    level_paper,
    reading_line,
    sentence,
    size_words,
)
