"""Estimates: linear combinations of means with a standard error and degrees of freedom, judged by Student's law."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special


@dataclass(frozen=True)
class Spread:
    """A variance estimated from replicas, and its degrees of freedom (infinite where it is taken as known)."""

    variance: float
    freedom: float

    @property
    def deviation(self) -> float:
        return math.sqrt(self.variance)


@dataclass(frozen=True)
class Estimate:
    """An estimate with its standard error and degrees of freedom; without them where no deviation is known."""

    value: float
    error: float | None = None
    freedom: float | None = None

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """The two-sided confidence interval."""
        if self.error is None:
            return None
        reach = float(special.stdtrit(self.freedom, 0.5 + level / 2)) * self.error
        return self.value - reach, self.value + reach

    def p_above(self, bound: float = 0.0) -> float:
        """One-sided p value of the hypothesis that the true value is `bound` or less; 1 where no deviation is known."""
        return self._tail(self.value - bound)

    def p_below(self, bound: float = 0.0) -> float:
        """One-sided p value of the hypothesis that the true value is `bound` or more; 1 where no deviation is known."""
        return self._tail(bound - self.value)

    def _tail(self, distance: float) -> float:
        if self.error is None:
            return 1.0
        if self.error == 0:
            # Replicas that are all alike leave no doubt about a difference, and none about its absence.
            return 0.0 if distance > 0 else 1.0
        return float(special.stdtr(self.freedom, -distance / self.error))


def mean(values: Iterable[float]) -> float:
    """The mean of one number or more; of equal ones it is that number, which the sum's rounding would miss."""
    found = list(values)
    return float(found[0]) if alike(found) else float(np.mean(found))


def alike(values: Sequence[float]) -> bool:
    """Whether all are the same number."""
    return all(value == values[0] for value in values)


def spread(values: Sequence[float]) -> Spread | None:
    """The sample variance of replicas, of equal ones 0 and no rounding; None for fewer than two."""
    if len(values) < 2:
        return None
    return Spread(0.0 if alike(values) else float(np.var(values, ddof=1)), len(values) - 1)


def pooled(samples: Sequence[Sequence[float]]) -> Spread | None:
    """The pooled variance of samples around their own means; None where none has two values."""
    found = [s for s in map(spread, samples) if s]
    freedom = sum(s.freedom for s in found)
    return Spread(sum(s.variance * s.freedom for s in found) / freedom, freedom) if found else None


def combine(value: float, parts: Sequence[tuple[float, Spread]]) -> Estimate:
    """An estimate whose variance is the sum of factor * variance over independent variance estimates.

    Degrees of freedom after Satterthwaite (1946).
    """
    variances = [factor * one.variance for factor, one in parts]
    total = sum(variances)
    if total == 0:
        return Estimate(value, 0.0, sum(one.freedom for _, one in parts))
    inverse = sum(v**2 / one.freedom for v, (_, one) in zip(variances, parts, strict=True))
    return Estimate(value, math.sqrt(total), total**2 / inverse if inverse else math.inf)
