"""Document 000, section 5 and Figure 3: the loss at places of a word, made of the curve over positions in a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

AXIS = "position_in_word"
LETTERS = {
    "cross_entropy_of_first_letters": (1, 1),
    "cross_entropy_of_second_letters": (2, 2),
    "cross_entropy_of_letters_9_to_13": (9, 13),
    "cross_entropy_of_letters_beyond_13": (14, None),
}
"""Metrics by their first and last position. Section 5 sets the letters beyond the 13th apart; 9 to 13 are those before.
"""


def letter_rows(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The mean loss of all letters at these positions, over the curve's means weighed by their counts.

    Nothing for a record without the curve, and no row where no word is so long. n counts the letters.
    """
    if record["status"] != "finished":
        return
    curves = {(c["metric"], c["split"]): c for c in record["curves"] if c["axis"] == AXIS}
    for (metric, split), curve in curves.items():
        counts = curves.get(("count", split))
        if metric != "cross_entropy" or counts is None:
            continue
        letters = list(zip(curve["x"], curve["y"], counts["y"], strict=True))
        for name, (first, last) in LETTERS.items():
            chosen = [(loss, n) for at, loss, n in letters if first <= at and (last is None or at <= last)]
            total = sum(n for _, n in chosen)
            if total:
                value = sum(loss * n for loss, n in chosen) / total
                yield {"split": split, "metric": name, "value": value, "unit": curve["unit"], "n": total}
