"""Sums whose last bit is the same under every version of Python."""

from collections.abc import Iterable


def add_in_order(numbers: Iterable[float]) -> float:
    """Add numbers from left to right, each sum rounded; 0 without any.

    From Python 3.12 on the built-in `sum` corrects its rounding of floats. The same training would then give another
    record, and the same records other answers, under another version of Python.
    """
    total: float = 0
    for number in numbers:
        total += number
    return total
