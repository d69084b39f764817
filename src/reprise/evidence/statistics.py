"""The statistics that verdicts rest on, pure functions of numbers: means with an error, folds, shares, ranks, several.

The variances that moderate one another are in `reprise.evidence.moderated`. Tests import scipy.stats where they need
it: that takes longer than most commands.
"""

import math
from bisect import bisect_left
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

_REPLICAS = 1000
"""More replicas are never asked for."""


@dataclass(frozen=True)
class Spread:
    """A variance estimated from replicas, and its degrees of freedom (infinite where it is taken as known)."""

    variance: float
    freedom: float

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)


@dataclass(frozen=True)
class Estimate:
    """An estimate with its standard error and degrees of freedom; without them where no deviation is known."""

    value: float
    error: float | None = None
    freedom: float | None = None

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Return the two-sided confidence interval."""
        if self.error is None:
            return None
        reach = float(special.stdtrit(self.freedom, 0.5 + level / 2)) * self.error
        return self.value - reach, self.value + reach

    def p_above(self) -> float:
        """One-sided p value of the hypothesis that the true value is 0 or less; 1 where no deviation is known."""
        return self._tail(self.value)

    def p_below(self) -> float:
        """One-sided p value of the hypothesis that the true value is 0 or more; 1 where no deviation is known."""
        return self._tail(-self.value)

    def _tail(self, distance: float) -> float:
        if self.error is None:
            return 1.0
        if self.error == 0:
            # Replicas that are all alike leave no doubt about a difference, and none about its absence.
            return 0.0 if distance > 0 else 1.0
        return float(special.stdtr(self.freedom, -distance / self.error))


def mean(values: Iterable[float], log: bool = False) -> float:
    """Return the mean of one number or more; of equal ones it is that number, which the sum's rounding would miss.

    Args:
        values: The numbers.
        log: Whether the mean is geometric, that of their logarithms.
    """
    numbers = list(values)
    if alike(numbers):
        return float(numbers[0])
    return math.exp(float(np.mean(np.log(numbers)))) if log else float(np.mean(numbers))


def alike(values: Sequence[float]) -> bool:
    """Whether all are the same number."""
    return all(value == values[0] for value in values)


def spread(values: Sequence[float]) -> Spread | None:
    """Return the sample variance of replicas, of equal ones 0 and no rounding; None for fewer than two."""
    if len(values) < 2:
        return None
    return Spread(0.0 if alike(values) else float(np.var(values, ddof=1)), len(values) - 1)


def pool(members: Sequence[Spread]) -> Spread:
    """Return the variance that one member or more have together, each counted by its degrees of freedom."""
    freedom = sum(one.freedom for one in members)
    return Spread(sum(one.variance * one.freedom for one in members) / freedom, freedom)


def combine(value: float, parts: Sequence[tuple[float, Spread]]) -> Estimate:
    """Return an estimate whose variance is the sum of factor * variance over independent variance estimates.

    Degrees of freedom after Satterthwaite (1946).
    """
    variances = [factor * one.variance for factor, one in parts]
    total = sum(variances)
    if total == 0:
        return Estimate(value, 0.0, sum(one.freedom for _, one in parts))
    inverse = sum(v**2 / one.freedom for v, (_, one) in zip(variances, parts, strict=True))
    return Estimate(value, math.sqrt(total), total**2 / inverse if inverse else math.inf)


def bartlett(members: Sequence[Spread]) -> float | None:
    """Return the p value of variances of one normal law each that all are the same; None for fewer than two of them.

    Bartlett, "Properties of sufficiency and statistical tests" (Proc. R. Soc. A 160, 1937). Of samples that have no
    variance at all it says nothing, and one that has none beside others that have is certain to differ.
    """
    if len(members) < 2 or not any(one.variance for one in members):
        return None
    if not all(one.variance for one in members):
        return 0.0
    whole = pool(members)
    distance = sum(one.freedom * math.log(whole.variance / one.variance) for one in members)
    correction = 1 + (sum(1 / one.freedom for one in members) - 1 / whole.freedom) / (3 * (len(members) - 1))
    # Of equal variances it is 0, which rounding may pass.
    return float(special.chdtrc(len(members) - 1, max(0.0, distance) / correction))


def over_folds(mean: float, folds: int, ratio: float, spread: Spread) -> Estimate:
    """Return a mean over folds, one of which has this variance, 1/k + n_test / n_train (`ratio`) of which the mean has.

    Training sets of folds overlap, so that their means vary more than 1/k. Nadeau and Bengio, "Inference for the
    generalization error" (Machine Learning 52, 2003), section 3.
    """
    return combine(mean, [(1 / folds + ratio, spread)])


def residuals(series: Collection[Mapping[Hashable, float]]) -> list[Spread | None]:
    """Return the variance of e in y_ik = a_i + b_k + e_ik, model i's number on fold k, of each model by itself.

    A model has as many degrees of freedom as its share of all of them; None of one that has nothing left to err.
    """
    return list(_fitted(tuple(tuple(one.items()) for one in series)))


@lru_cache(maxsize=1024)
def _fitted(series: tuple[tuple[tuple[Hashable, float], ...], ...]) -> tuple[Spread | None, ...]:
    """Return the same of (fold, number) pairs: many claims compare members of one family."""
    cells = [(i, k, value) for i, one in enumerate(series) for k, value in one]
    folds = list(dict.fromkeys(k for _, k, _ in cells))
    design = np.zeros((len(cells), len(series) + len(folds)))
    for row, (i, k, _) in enumerate(cells):
        design[row, i] = design[row, len(series) + folds.index(k)] = 1.0
    y = np.array([value for *_, value in cells])
    # The freedom that the fit leaves each row: 1 - its leverage.
    left = 1 - np.einsum("ij,ji->i", design, np.linalg.pinv(design))
    squares = (y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2
    own = []
    for i in range(len(series)):
        of = [row for row, cell in enumerate(cells) if cell[0] == i]
        its = float(left[of].sum())
        own.append(Spread(float(squares[of].sum()) / its, its) if its > 1e-9 else None)
    return tuple(own)


def replicas_needed(effect: float, variances: Sequence[float], ratio: float = 0.0, tail: float = 0.025) -> int | None:
    """Replicas of each experiment (or folds) with which a true `effect` is found, one-sided at `tail`, at power 0.8.

    `variances` are those of one replica of each experiment, squared weights included; of folds, that of their
    difference, with `ratio` = n_test / n_train. None where 1000 would not do: an effect next to nothing, or folds
    that overlap too much.
    """
    total = sum(variances)
    if effect <= 0:
        return None
    if total == 0:
        return 2
    freedom = total**2 / sum(v**2 for v in variances)

    def power(n: int) -> float:  # the power of n replicas, by the noncentral law of t
        shift = effect / math.sqrt(total / n + ratio * total)
        # So many errors wide an effect is always found, and the noncentral law loses its digits.
        if shift > 20.0:
            return 1.0
        bound = special.stdtrit(freedom * (n - 1), 1 - tail)
        return 1 - float(special.nctdtr(freedom * (n - 1), shift, bound))

    n = 2 + bisect_left(range(2, _REPLICAS + 1), 0.8, key=power)
    return n if n <= _REPLICAS else None


def binomial(successes: int, n: int, share: float) -> tuple[float, float]:
    """One-sided exact p values of a true share of `share` or less, and of `share` or more."""
    from scipy import stats

    return tuple(float(stats.binomtest(successes, n, share, side).pvalue) for side in ("greater", "less"))


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of a share: all that `binomial` does not tell from it (Clopper and Pearson 1934)."""
    from scipy import stats

    bounds = stats.binomtest(successes, n).proportion_ci(level, "exact")
    return float(bounds.low), float(bounds.high)


def ranks_above(high: Sequence[float], low: Sequence[float]) -> float:
    """One-sided exact p value (Mann-Whitney) of both having one distribution, against `high` lying above.

    Infinite numbers (a replica that diverged) are allowed. A tie between the two counts a half, rounded against it.
    """
    from scipy import stats

    return float(stats.mannwhitneyu(high, low, alternative="greater", method="exact").pvalue)


def slope_weights(x: Sequence[float]) -> list[float]:
    """Weights w with sum w_i y_i the least-squares slope of y on x; they add up to 0."""
    centred = np.asarray(x, dtype=float) - float(np.mean(x))
    return [float(w) for w in centred / float(centred @ centred)]


def curvature_weights(x: Sequence[float]) -> list[float]:
    """Return weights w with sum w_i y_i the quadratic coefficient of the least-squares parabola through y over x.

    They add up to 0, and so do w_i x_i: neither a constant nor a slope is in it.
    """
    return [float(w) for w in np.linalg.pinv(np.vander(x, 3))[0]]
