"""Shares of replicas: the exact binomial test and the interval of Clopper and Pearson."""

from __future__ import annotations

from scipy import special


def binomial(successes: int, n: int, share: float) -> tuple[float, float]:
    """One-sided p values of a true share of `share` or less, and of `share` or more, by the binomial law itself.

    Of few replicas the normal law would err too often: five of five would tell a share from a half at 2.5 %.
    """
    return _at_least(successes, n, share), _at_least(n - successes, n, 1 - share)


def _at_least(successes: int, n: int, share: float) -> float:
    return float(special.bdtrc(successes - 1, n, share)) if successes else 1.0


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The interval of a share: all that `binomial` does not tell from it, either way (Clopper and Pearson 1934)."""
    tail = (1 - level) / 2
    low = float(special.betaincinv(successes, n - successes + 1, tail)) if successes else 0.0
    high = float(special.betaincinv(successes + 1, n - successes, 1 - tail)) if successes < n else 1.0
    return low, high
