"""Sums do not depend on the version of Python; from 3.12 on its own `sum` corrects the rounding of floats."""

from reprise.evidence.contrasts import Contrast, Term
from reprise.evidence.numbers import AXIS, list_letter_rows
from reprise.sums import add_in_order

UNEVEN = [1e16, 1.0, -1e16]
"""From left to right the 1 is lost, with corrected rounding it is not."""


def test_each_sum_is_rounded_and_whole_numbers_stay_whole():
    assert add_in_order(UNEVEN) == 0.0
    assert repr(add_in_order([2, 3])) == "5"
    assert add_in_order([]) == 0


def test_numbers_made_from_records_and_contrasts_are_such_sums():
    curves = [
        {"metric": name, "split": "test", "axis": AXIS, "unit": unit, "x": [9, 10, 11], "y": y}
        for name, unit, y in (("cross_entropy", "nats/character", UNEVEN), ("count", "characters", [1, 1, 1]))
    ]
    metrics = [{"metric": "cross_entropy", "split": "test", "unit": "nats/character", "value": 1.0, "n": 3}]
    record = {"status": "finished", "curves": curves, "metrics": metrics}
    rows = {row["metric"]: row for row in list_letter_rows(record)}
    assert rows["cross_entropy_of_letters_9_to_13"]["value"] == 0.0
    terms = [(1.0, Term(f"model-{i}", ("cross_entropy", "test"))) for i in range(3)]
    assert Contrast(tuple(terms), log=False).evaluate(UNEVEN) == 0.0
