"""Moderated variances: the variance of each experiment, shrunk toward that of its family.

Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray experiments"
(Stat. Appl. Genet. Mol. Biol. 3, 2004). The true variances of a family follow s0^2 d0 / chi^2(d0). A sample variance
with d degrees of freedom is then s0^2 times F(d, d0). Its posterior has d0 + d degrees of freedom, and d0 without a
sample. Maximum likelihood estimates s0 and d0, as in limma's `fitFDistUnequalDF1`. Smyth's moments of logarithms suit
many variances. With few variances they depend on the smallest, such as that of two seeds that agree by chance.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import optimize, special

from reprise.evidence.statistics import VarianceEstimate, pool_variances

_DF_GRID = np.geomspace(0.5, 1e4, 40)
"""The grid of d0 on which the search begins. If its last value is the likeliest, d0 is infinite; if its first, there is
no prior, even if a d0 between the first two is likelier.
"""
_CLEAR = 1e-3
"""A finite d0 needs a log likelihood higher than that of an infinite d0 by more than this."""


@dataclass(frozen=True)
class Prior:
    """The prior of a family: s0^2, d0, and the degrees of freedom of all members together."""

    variance: float
    df: float
    pooled_df: float

    def moderate(self, own: VarianceEstimate | None) -> VarianceEstimate:
        """Return the posterior variance of a member with this sample variance (None: one replica)."""
        if own is None:
            return VarianceEstimate(self.variance, min(self.df, self.pooled_df))
        if math.isinf(self.df):
            return VarianceEstimate(self.variance, self.pooled_df)
        df = self.df + own.df
        variance = (self.df * self.variance + own.df * own.variance) / df
        return VarianceEstimate(variance, min(df, max(self.pooled_df, own.df)))


@lru_cache(maxsize=4096)
def fit_prior(members: tuple[VarianceEstimate, ...]) -> Prior | None:
    """Return the prior of a family from the sample variances of its members; None where these have nothing in common.

    A variance of 0 has no likelihood and is left out; where most are 0, there is no prior. Where the variances differ
    by no more than chance, d0 is infinite and s0^2 the pooled variance.
    """
    varied = [one for one in members if one.variance]
    if not varied or 2 * len(varied) < len(members):
        return None
    pooled = pool_variances(varied)
    pooled_df, common_variance = pooled.df, pooled.variance
    if len(varied) < 2:
        return Prior(common_variance, math.inf, pooled_df)
    d = np.array([one.df for one in varied], dtype=float)
    s = np.array([one.variance for one in varied])
    fits = [_fit_scale(s, d, df) for df in _DF_GRID]
    best = max(range(len(fits)), key=lambda i: fits[i][1])
    half = d / 2
    # s / together ~ chi^2(d) / d
    fixed = half * np.log(half / common_variance) - special.gammaln(half)
    known = float(np.sum(fixed + (half - 1) * np.log(s) - half * s / common_variance))
    if best == len(fits) - 1 or fits[best][1] <= known + _CLEAR:
        return Prior(common_variance, math.inf, pooled_df)
    if best == 0:
        return None
    low, start, high = np.log(_DF_GRID[[best - 1, best, best + 1]])

    def slope(log_freedom: float) -> float:  # of the likelihood, at the likeliest scale, by d0
        d0 = math.exp(log_freedom)
        odds = d * s / (d0 * _fit_scale(s, d, d0)[0])
        gains = special.digamma((d + d0) / 2) - special.digamma(d0 / 2) - d / d0 - np.log1p(odds)
        return float(np.sum(gains + (d + d0) / d0 * odds / (1 + odds)))

    d0 = math.exp(optimize.brentq(slope, low, high, xtol=1e-14) if slope(low) > 0 > slope(high) else start)
    return Prior(_fit_scale(s, d, d0)[0], d0, pooled_df)


def _fit_scale(s: np.ndarray, d: np.ndarray, d0: float) -> tuple[float, float]:
    """Return the most likely s0^2 for this d0 and its log likelihood, with s / s0^2 as F(d, d0)."""

    def slope(log_scale: float) -> float:  # a search for the minimum itself would leave it half of its digits
        odds = d * s / (d0 * math.exp(log_scale))
        return float(np.sum(d / 2 - (d + d0) / 2 * odds / (1 + odds)))

    log_scale = optimize.brentq(slope, math.log(s.min()) - 1.0, math.log(s.max()) + 1.0, xtol=1e-15)
    fixed = np.sum(d / 2 * np.log(d / d0) + (d / 2 - 1) * np.log(s) - special.betaln(d / 2, d0 / 2))
    odds = d * s / (d0 * math.exp(log_scale))
    return math.exp(log_scale), float(fixed - np.sum(d / 2 * log_scale + (d + d0) / 2 * np.log1p(odds)))
