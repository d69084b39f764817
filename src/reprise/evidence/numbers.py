"""Every number of a run record: those that training left and those that follow from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reprise.evidence.bleu import bleu_rows
from reprise.units import derived

AXIS = "position_in_word"
LETTERS = {
    "cross_entropy_of_first_letters": (1, 1),
    "cross_entropy_of_second_letters": (2, 2),
    "cross_entropy_of_letters_9_to_13": (9, 13),
    "cross_entropy_of_letters_beyond_13": (14, None),
}
"""Losses at places of a word (document 000, Figure 3): first and last position. Section 5 sets those beyond 13 apart.
"""


def numbers_of(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows of split, metric, value, unit and n: each metric, what follows from it, losses of letters, and BLEU."""
    for metric in record["metrics"]:
        yield metric
        yield from derived(metric, record["metrics"])
    yield from letter_rows(record)
    yield from bleu_rows(record)


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
