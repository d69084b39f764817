"""Several tests at once: all have to hold (intersection-union), or one of them refutes (Holm)."""

from __future__ import annotations

from collections.abc import Sequence


def all_hold(p_values: Sequence[float]) -> float:
    """p value of "every one of these holds": the largest, with no adjustment.

    Berger, "Multiparameter hypothesis testing and acceptance sampling" (Technometrics 24, 1982): the opposite is that
    at least one fails, and the test of that one alone errs no more often than the level says.
    """
    return max(p_values)


def holm(p_values: Sequence[float]) -> list[float]:
    """p values adjusted so that all of them together err no more often than the level says (Holm 1979)."""
    adjusted, least = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for rank, i in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = least
    return adjusted
