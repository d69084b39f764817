"""Document 003's own sentences: the phrases that section 1.1 compares, and the lengths of the texts of `names.py`.

Without torch, as reports need them.
"""

PHRASES = (
    "the cat is small",
    "small the is cat",
    "walking home after school",
    "walking house after school",
)
"""The notes' two pairs, the one that should have the higher score first."""
CHANGES = ("shuffled", "swapped")
"""A sentence's words in a random order, and with two neighbours exchanged."""
BASE_DISTANCE = 8
"""Words from the second name, which is read, to the blank, without the filler."""
SENTENCE_2_FILLER = 17
"""Words of filler in our second text; the notes' has a full stop more, a deviation. The first has none."""
FILLERS = (0, 1, 2, 4, 8, SENTENCE_2_FILLER, 32, 64, 128)
"""Lengths of filler that are tested, as far as the training has them."""


def name_metric(phrase: str) -> str:
    """Return the name of a phrase's log-probability in records, before `_order_<n>`."""
    return phrase.replace(" ", "_")
