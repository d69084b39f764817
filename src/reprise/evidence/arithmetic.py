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
class Worked:
    """A formula's value, whether it agrees with what is printed, and by which share of it it is off."""

    value: float
    agreement: str
    off: float
    other: float | None = None  # the value of the formula that the paper calls equal


def work_out(entry: Arithmetic) -> Worked:
    """Return the value of the entry's formula beside the printed number, or beside the second formula.

    A printed number agrees if it is the value rounded to its last digit, halves either way; it is cut if it is the
    value without its further digits. Two formulas agree if their values are the same.
    """
    value = evaluate(entry.formula, entry.values)
    if entry.equals is not None:
        other = evaluate(entry.equals, entry.values)
        same = value == other or math.isclose(value, other, rel_tol=1e-12)
        return Worked(value, AGREES if same else NOT_EQUAL, value / other - 1, other)
    printed, digit = read_printed(entry.printed)
    # A formula in floating point is exact to about 15 digits, which decides no half that anyone prints.
    exact = Fraction(value) if isinstance(value, int) else Fraction(value).limit_denominator(10**12)
    agreement = DIFFERS
    if abs(exact - printed) <= digit / 2:
        agreement = AGREES
    elif printed <= exact < printed + digit:
        agreement = CUT
    return Worked(value, agreement, float(exact / printed - 1))
