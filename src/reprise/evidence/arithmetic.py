"""Numbers printed in a paper, worked out again from what the paper says they follow from."""

import math
from dataclasses import dataclass
from fractions import Fraction

from reprise.config.claims import Arithmetic
from reprise.config.formula import evaluate, read_printed

AGREES = "agrees"
CUT = "cut, not rounded"
DIFFERS = "does not agree"
NOT_EQUAL = "not exactly"


@dataclass(frozen=True)
class ComputedNumber:
    """Compare a formula's value with the printed number, or with the second formula that the paper calls equal.

    `relative_difference`: of the value from the number it is compared with. `second_value`: that of the second formula.
    """

    value: float
    agreement: str
    relative_difference: float
    second_value: float | None = None


def compute_number(entry: Arithmetic) -> ComputedNumber:
    """Return the value of the entry's formula beside the printed number, or beside the second formula.

    A printed number agrees if it is the value rounded to its last digit, halves either way. It is cut if it is the
    value without its further digits. Two formulas agree if their values are the same.
    """
    value = evaluate(entry.formula, entry.values)
    if entry.equals is not None:
        second_value = evaluate(entry.equals, entry.values)
        is_equal = value == second_value or math.isclose(value, second_value, rel_tol=1e-12)
        return ComputedNumber(value, AGREES if is_equal else NOT_EQUAL, value / second_value - 1, second_value)
    printed, digit = read_printed(entry.printed)
    # A formula in floating point is exact to about 15 digits, which decides no half that anyone prints.
    exact = Fraction(value) if isinstance(value, int) else Fraction(value).limit_denominator(10**12)
    agreement = DIFFERS
    if abs(exact - printed) <= digit / 2:
        agreement = AGREES
    elif printed <= exact < printed + digit:
        agreement = CUT
    return ComputedNumber(value, agreement, float(exact / printed - 1))
