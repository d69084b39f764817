"""The statistics that verdicts rest on, as pure functions of numbers.

Every estimate is a linear combination of means with a standard error and degrees of freedom, judged by Student's law:
two seeds' means by Welch, folds by their paired differences, a lone replica by the pooled deviation of its family.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special


@dataclass(frozen=True)
class Spread:
    """A variance estimated from replicas, and its degrees of freedom."""

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


def spread(values: Sequence[float]) -> Spread | None:
    """The sample variance of replicas, of equal ones 0 and no rounding; None for fewer than two."""
    if len(values) < 2:
        return None
    return Spread(0.0 if alike(values) else float(np.var(values, ddof=1)), len(values) - 1)


def alike(values: Sequence[float]) -> bool:
    """Whether all are the same number."""
    return all(value == values[0] for value in values)


def pooled(samples: Sequence[Sequence[float]]) -> Spread | None:
    """The pooled variance of samples around their own means; None where none has two values."""
    found = [s for s in map(spread, samples) if s]
    freedom = sum(s.freedom for s in found)
    return Spread(sum(s.variance * s.freedom for s in found) / freedom, freedom) if found else None


def bartlett(samples: Sequence[Sequence[float]]) -> float | None:
    """The p value of samples of one normal law each that all have the same variance; None for fewer than two of them.

    Bartlett, "Properties of sufficiency and statistical tests" (Proc. R. Soc. A 160, 1937). Of samples that have no
    variance at all it says nothing, and one that has none beside others that have is certain to differ.
    """
    found = [s for s in map(spread, samples) if s]
    if len(found) < 2 or not any(s.variance for s in found):
        return None
    if not all(s.variance for s in found):
        return 0.0
    whole = pooled(samples)
    distance = sum(s.freedom * math.log(whole.variance / s.variance) for s in found)
    correction = 1 + (sum(1 / s.freedom for s in found) - 1 / whole.freedom) / (3 * (len(found) - 1))
    return float(special.chdtrc(len(found) - 1, distance / correction))


def combine(value: float, parts: Sequence[tuple[float, Spread]]) -> Estimate:
    """An estimate whose variance is the sum of factor * variance over independent variance estimates.

    Degrees of freedom after Satterthwaite (1946).
    """
    variances = [factor * spread.variance for factor, spread in parts]
    total = sum(variances)
    if total == 0:
        return Estimate(value, 0.0, sum(spread.freedom for _, spread in parts))
    freedom = total**2 / sum(v**2 / spread.freedom for v, (_, spread) in zip(variances, parts, strict=True))
    return Estimate(value, math.sqrt(total), freedom)


def over_folds(mean: float, folds: int, ratio: float, spread: Spread) -> Estimate:
    """A mean over folds, one of which has this variance, 1/k + n_test / n_train (`ratio`) of which the mean has.

    Training sets of folds overlap, so that their means vary more than 1/k. Nadeau and Bengio, "Inference for the
    generalization error" (Machine Learning 52, 2003), section 3.
    """
    return combine(mean, [(1 / folds + ratio, spread)])


def holm(p_values: Sequence[float]) -> list[float]:
    """p values adjusted so that all of them together err no more often than the level says (Holm 1979)."""
    adjusted, least = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for rank, i in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = least
    return adjusted


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


def replicas_for_share(
    found: float, share: float, tail: float = 0.025, power: float = 0.8, most: int = 1000
) -> int | None:
    """Replicas with which a true share of `found` would be told from `share`; None for more than `most`."""
    if found == share:
        return None
    if found < share:
        found, share = 1 - found, 1 - share
    for n in range(1, most + 1):
        enough = bisect_left(range(n + 1), True, key=lambda k, n=n: _at_least(k, n, share) <= tail)
        if enough <= n and _at_least(enough, n, found) >= power:
            return n
    return None


def replicas_needed(
    effect: float,
    variances: Sequence[float],
    ratio: float = 0.0,
    tail: float = 0.025,
    power: float = 0.8,
    most: int = 1000,
) -> int | None:
    """Replicas of each experiment (or folds) with which a true `effect` is found, one-sided at `tail`.

    `variances` are those of one replica of each experiment, squared weights included; of folds, that of their
    difference, with `ratio` = n_test / n_train. None where `most` would not do: an effect next to nothing, or folds
    that overlap too much.
    """
    total = sum(variances)
    if effect == 0:
        return None
    if total == 0:
        return 2
    freedom = total**2 / sum(v**2 for v in variances)

    def found(n: int) -> float:
        """The power of n replicas, by the noncentral law of t."""
        shift = abs(effect) / math.sqrt(total / n + ratio * total)
        # So many errors wide an effect is always found, and the noncentral law loses its digits.
        if shift > 20.0:
            return 1.0
        bound = special.stdtrit(freedom * (n - 1), 1 - tail)
        return 1 - float(special.nctdtr(freedom * (n - 1), shift, bound))

    n = 2 + bisect_left(range(2, most + 1), power, key=found)
    return n if n <= most else None
