"""Lengths of the texts of `names.py`, for those who read records and have no torch."""

from __future__ import annotations

FIXED = 8
"""Words from the second name, which is read, to the blank, without the filler."""
SENTENCE_2 = 17
"""Words of filler in the notes' second text, without the full stop at its end; the first has none."""
FILLERS = (0, 1, 2, 4, 8, SENTENCE_2, 32, 64, 128)
"""Lengths of filler that are tested, as far as the training has them."""
