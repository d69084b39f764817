"""Sizes of document 000's models from its budget of 500,000 parameters (sections 4.1 and 4.2).

The paper gives the budget, the ratio |m|/|h| and which terms there are, and no size. What is worked out here is the
largest model within the budget.
"""

import itertools
from collections.abc import Callable
from fractions import Fraction

BUDGET = 500_000
RATIOS = ("0.1", "0.2", "0.5", "1", "2", "5", "10", "20")
"""|m|/|h| of Figure 1."""


def count_gso_parameters(h: int, m: int, symbols: int, input_term: bool, recurrent_term: bool) -> int:
    """Count the parameters of equation 9 with its output layer: A, B, C, [D], [E], f, V, c."""
    V = symbols
    return 2 * h * m + m * V + input_term * h * V + recurrent_term * h * h + h + h * V + V


def count_first_order_parameters(h: int, symbols: int) -> int:
    """Count the parameters of equation 3 with its output layer: U, W, b, V, c."""
    return h * symbols + h * h + h + h * symbols + symbols


def count_integration_parameters(h: int, symbols: int, form: str) -> int:
    """Count the parameters of equation 7 ("simple") or 8 ("general": with alpha, beta_1, beta_2), output too."""
    return count_first_order_parameters(h, symbols) + (3 * h if form == "general" else 0)


def compute_second_order_size(h: int, ratio: Fraction) -> int:
    """Compute m for |m|/|h| = `ratio`: the nearest integer, halves to the even one (round-half-even), at least 1.

    That rule gives m = 150 for h = 1505 at 0.1. Another gives other sizes of the same budget: with h = 1509, m = 150
    (151 by rounding) there are 499,029 parameters.
    """
    return max(1, round(ratio * h))


def find_gso_sizes(ratio: str, symbols: int, input_term: bool, recurrent_term: bool) -> tuple[int, int]:
    """Find the largest h, and its m, with |m|/|h| = `ratio` ("0.1", "20", ...) within the budget."""

    def m(h: int) -> int:
        return compute_second_order_size(h, Fraction(ratio))

    h = find_largest_size(lambda h: count_gso_parameters(h, m(h), symbols, input_term, recurrent_term))
    return h, m(h)


def find_largest_size(count: Callable[[int], int]) -> int:
    """Find the largest h whose parameters, count(h), are within the budget; `count` increases."""
    return next(h for h in itertools.count(1) if count(h + 1) > BUDGET)
