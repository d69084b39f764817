"""The phrases whose scores document 003 compares, section 1.1, and how sentences are changed to be compared too.

Without torch, which the report does without.
"""

from __future__ import annotations

PHRASES = (
    "the cat is small",
    "small the is cat",
    "walking home after school",
    "walking house after school",
)
"""The notes' two pairs, the one that should have the higher score first."""
CHANGES = ("shuffled", "swapped")
"""A sentence's words in a random order, and with two neighbours exchanged."""


def metric_of(phrase: str) -> str:
    """The name of a phrase's log-probability in records, before `_order_<n>`."""
    return phrase.replace(" ", "_")
