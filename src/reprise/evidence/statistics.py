"""Statistics as pure functions of numbers: variances, means with errors, folds, shares, ranks and power.

Moderated variances are in `reprise.evidence.moderated`. Functions import scipy.stats where they need it, since that
takes longer than most commands.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from reprise.sums import add_in_order

_REPLICAS = 1000
"""The largest number of replicas that a forecast names."""


@dataclass(frozen=True)
class VarianceEstimate:
    """A variance estimated from replicas, and its degrees of freedom: infinite for a known variance."""

    variance: float
    df: float

    @property
    def deviation(self) -> float:
        """Return the standard deviation."""
        return math.sqrt(self.variance)


@dataclass(frozen=True)
class Estimate:
    """An estimate with its standard error and degrees of freedom; both are None where no variance is known."""

    value: float
    error: float | None = None
    df: float | None = None

    def compute_interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Return the two-sided confidence interval; None where no variance is known."""
        if self.error is None:
            return None
        reach = float(special.stdtrit(self.df, 0.5 + level / 2)) * self.error
        return self.value - reach, self.value + reach

    def compute_p_above(self) -> float:
        """Return the one-sided p value of a true value of 0 or less; 1 where no variance is known."""
        return self._compute_tail(self.value)

    def compute_p_below(self) -> float:
        """Return the one-sided p value of a true value of 0 or more; 1 where no variance is known."""
        return self._compute_tail(-self.value)

    def _compute_tail(self, distance: float) -> float:
        if self.error is None:
            return 1.0
        if self.error == 0:
            # Equal replicas make a difference certain, and its absence too.
            return 0.0 if distance > 0 else 1.0
        return float(special.stdtr(self.df, -distance / self.error))


def compute_mean(values: Iterable[float], log: bool = False) -> float:
    """Return the mean of one number or more; the mean of equal numbers is exactly that number.

    Args:
        values: The numbers.
        log: Whether the mean is geometric, that of their logarithms.
    """
    numbers = list(values)
    if all_equal(numbers):
        return float(numbers[0])
    return math.exp(float(np.mean(np.log(numbers)))) if log else float(np.mean(numbers))


def all_equal(values: Sequence[float]) -> bool:
    """Return whether all numbers are equal."""
    return all(value == values[0] for value in values)


def estimate_variance(values: Sequence[float]) -> VarianceEstimate | None:
    """Return the sample variance of replicas, exactly 0 of equal numbers; None for fewer than two."""
    if len(values) < 2:
        return None
    return VarianceEstimate(0.0 if all_equal(values) else float(np.var(values, ddof=1)), len(values) - 1)


def pool_variances(members: Sequence[VarianceEstimate]) -> VarianceEstimate:
    """Return the pooled variance of one sample or more, weighted by degrees of freedom."""
    df = add_in_order(one.df for one in members)
    return VarianceEstimate(add_in_order(one.variance * one.df for one in members) / df, df)


def combine_variances(value: float, parts: Sequence[tuple[float, VarianceEstimate]]) -> Estimate:
    """Return an estimate whose variance is the sum of factor * variance over independent variance estimates.

    The degrees of freedom are Satterthwaite's (1946).
    """
    variances = [factor * one.variance for factor, one in parts]
    total = add_in_order(variances)
    if total == 0:
        return Estimate(value, 0.0, add_in_order(one.df for _, one in parts))
    inverse = add_in_order(v**2 / one.df for v, (_, one) in zip(variances, parts, strict=True))
    return Estimate(value, math.sqrt(total), total**2 / inverse if inverse else math.inf)


def compute_bartlett_p(members: Sequence[VarianceEstimate]) -> float | None:
    """Return the p value of equal variances of normal samples; None for fewer than two samples.

    Bartlett, "Properties of sufficiency and statistical tests" (Proc. R. Soc. A 160, 1937). It is None where all
    variances are 0, and 0 where some are.
    """
    if len(members) < 2 or not any(one.variance for one in members):
        return None
    if not all(one.variance for one in members):
        return 0.0
    pooled = pool_variances(members)
    distance = add_in_order(one.df * math.log(pooled.variance / one.variance) for one in members)
    correction = 1 + (add_in_order(1 / one.df for one in members) - 1 / pooled.df) / (3 * (len(members) - 1))
    # The statistic of equal variances is 0; rounding may make it negative.
    return float(special.chdtrc(len(members) - 1, max(0.0, distance) / correction))


def estimate_over_folds(value: float, folds: int, ratio: float, variance: VarianceEstimate) -> Estimate:
    """Return a mean over k folds with the variance of one fold times 1/k + n_test / n_train (`ratio`).

    Training sets of folds overlap, so the mean varies by more than 1/k of one fold's variance. Nadeau and Bengio,
    "Inference for the generalization error" (Machine Learning 52, 2003), section 3.
    """
    return combine_variances(value, [(1 / folds + ratio, variance)])


def estimate_residual_variances(series: Collection[Mapping[Hashable, float]]) -> list[VarianceEstimate | None]:
    """Return the variance of e in y_ik = a_i + b_k + e_ik, the number of model i on fold k, for each model.

    The degrees of freedom of a model are its share of those of the fit; None for a model without any.
    """
    return list(_fit_two_way_model(tuple(tuple(one.items()) for one in series)))


@lru_cache(maxsize=1024)
def _fit_two_way_model(series: tuple[tuple[tuple[Hashable, float], ...], ...]) -> tuple[VarianceEstimate | None, ...]:
    """Fit the model to (fold, number) pairs. The result is cached, since many claims compare members of one family."""
    cells = [(i, k, value) for i, one in enumerate(series) for k, value in one]
    folds = list(dict.fromkeys(k for _, k, _ in cells))
    design = np.zeros((len(cells), len(series) + len(folds)))
    for row, (i, k, _) in enumerate(cells):
        design[row, i] = design[row, len(series) + folds.index(k)] = 1.0
    y = np.array([value for *_, value in cells])
    # Degrees of freedom of a row: 1 - its leverage.
    left = 1 - np.einsum("ij,ji->i", design, np.linalg.pinv(design))
    squares = (y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2
    own = []
    for i in range(len(series)):
        rows = [row for row, cell in enumerate(cells) if cell[0] == i]
        df = float(left[rows].sum())
        own.append(VarianceEstimate(float(squares[rows].sum()) / df, df) if df > 1e-9 else None)
    return tuple(own)


def count_replicas_needed(
    effect: float, variances: Sequence[float], ratio: float = 0.0, tail: float = 0.025
) -> int | None:
    """Return the replicas of each experiment (or folds) that give a one-sided test at level `tail` a power of 0.8.

    Args:
        effect: The true effect.
        variances: Of one replica of each experiment, squared weights included; of folds that of their difference.
        ratio: n_test / n_train of folds.
        tail: The level of the test.

    Returns:
        The number; None where 1000 are too few, as for a tiny effect or for folds that overlap too much.
    """
    total = add_in_order(variances)
    if effect <= 0:
        return None
    if total == 0:
        return 2
    df = total**2 / add_in_order(v**2 for v in variances)

    def power(n: int) -> float:  # by the noncentral t distribution
        shift = effect / math.sqrt(total / n + ratio * total)
        # Beyond 20 standard errors the power is 1, and the noncentral distribution loses its digits.
        if shift > 20.0:
            return 1.0
        bound = special.stdtrit(df * (n - 1), 1 - tail)
        return 1 - float(special.nctdtr(df * (n - 1), shift, bound))

    n = 2 + bisect_left(range(2, _REPLICAS + 1), 0.8, key=power)
    return n if n <= _REPLICAS else None


def compute_binomial_p(successes: int, n: int, share: float) -> tuple[float, float]:
    """Return the exact one-sided p values of a true share of `share` or less, and of `share` or more."""
    from scipy import stats

    return tuple(float(stats.binomtest(successes, n, share, side).pvalue) for side in ("greater", "less"))


def compute_clopper_pearson_interval(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact confidence interval of a share (Clopper and Pearson 1934)."""
    from scipy import stats

    bounds = stats.binomtest(successes, n).proportion_ci(level, "exact")
    return float(bounds.low), float(bounds.high)


def compute_rank_sum_p(high: Sequence[float], low: Sequence[float]) -> float:
    """Return the exact one-sided p value of the Mann-Whitney test that `high` lies above `low`.

    It is the share of all choices of so many numbers whose ranks have no smaller sum. Ties have the mean of their
    ranks. SciPy's exact test takes no account of ties. A diverged replica is infinite.
    """
    from scipy import stats

    doubled = [int(rank) for rank in 2 * stats.rankdata([*high, *low])]  # whole numbers
    # The choices of so many of the first numbers, by the sum of their ranks.
    choices: list[Counter[int]] = [Counter({0: 1}), *(Counter() for _ in high)]
    for rank in doubled:
        for count in range(len(high), 0, -1):
            for total, ways in choices[count - 1].items():
                choices[count][total + rank] += ways
    observed = sum(doubled[: len(high)])
    return sum(ways for total, ways in choices[-1].items() if total >= observed) / choices[-1].total()


def compute_slope_weights(x: Sequence[float]) -> list[float]:
    """Return weights w such that sum w_i y_i is the least-squares slope of y on x; their sum is 0."""
    centred = np.asarray(x, dtype=float) - float(np.mean(x))
    return [float(w) for w in centred / float(centred @ centred)]


def compute_curvature_weights(x: Sequence[float]) -> list[float]:
    """Return weights w such that sum w_i y_i is the quadratic coefficient of the least-squares parabola of y over x.

    The sums of w_i and of w_i x_i are 0: a constant or a slope adds nothing.
    """
    return [float(w) for w in np.linalg.pinv(np.vander(x, 3))[0]]
