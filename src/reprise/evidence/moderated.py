"""Moderated variances: each experiment's own variance, shrunk toward that of its family.

Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray experiments"
(Stat. Appl. Genet. Mol. Biol. 3, 2004): true variances of a family are taken to follow s0^2 d0 / chi^2(d0), so that a
sample variance with d degrees of freedom is s0^2 times F(d, d0). An experiment with d of its own then has d0 + d, and
one without any has d0. Both numbers are estimated by maximum likelihood, as limma's `fitFDistUnequalDF1` does: moments
of logarithms, Smyth's own way for many variances, hang on the smallest of a few (two seeds that are alike by chance).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import optimize, special

from reprise.evidence.statistics import Spread, pool

_FREEDOMS = np.geomspace(0.5, 1e4, 40)
"""Where the search for d0 begins: between the neighbours of the likeliest. Beyond the last it is infinite; below the
first, members have nothing in common that one could lend another.
"""
_CLEAR = 1e-3
"""A finite d0 is taken where its log likelihood is higher than that of an infinite one by more than this."""


@dataclass(frozen=True)
class Prior:
    """What a family says of the variance of a member: s0^2, d0, and the degrees of freedom of all of its members."""

    variance: float
    freedom: float
    pooled: float

    def moderate(self, own: Spread | None) -> Spread:
        """Return the posterior variance of a member with this own one (None: it has a single replica)."""
        if own is None:
            return Spread(self.variance, min(self.freedom, self.pooled))
        if math.isinf(self.freedom):
            return Spread(self.variance, self.pooled)
        freedom = self.freedom + own.freedom
        variance = (self.freedom * self.variance + own.freedom * own.variance) / freedom
        return Spread(variance, min(freedom, max(self.pooled, own.freedom)))


@lru_cache(maxsize=4096)
def prior(members: tuple[Spread, ...]) -> Prior | None:
    """Return the prior of a family from its members' own variances; None where these have nothing in common.

    Members whose replicas are all alike are left out: a variance of 0 has no likelihood; where most are such, there is
    no prior. Where the others differ by no more than chance lets them, d0 is infinite and s0^2 their pooled variance.
    """
    varied = [one for one in members if one.variance]
    if not varied or 2 * len(varied) < len(members):
        return None
    whole = pool(varied)
    pooled, together = whole.freedom, whole.variance
    if len(varied) < 2:
        return Prior(together, math.inf, pooled)
    d = np.array([one.freedom for one in varied], dtype=float)
    s = np.array([one.variance for one in varied])
    fits = [_scale(s, d, freedom) for freedom in _FREEDOMS]
    best = max(range(len(fits)), key=lambda i: fits[i][1])
    half = d / 2
    # s / together ~ chi^2(d) / d
    fixed = half * np.log(half / together) - special.gammaln(half)
    known = float(np.sum(fixed + (half - 1) * np.log(s) - half * s / together))
    if best == len(fits) - 1 or fits[best][1] <= known + _CLEAR:
        return Prior(together, math.inf, pooled)
    if best == 0:
        return None
    low, start, high = np.log(_FREEDOMS[[best - 1, best, best + 1]])

    def slope(log_freedom: float) -> float:  # of the likelihood, at the likeliest scale, by d0
        d0 = math.exp(log_freedom)
        odds = d * s / (d0 * _scale(s, d, d0)[0])
        gains = special.digamma((d + d0) / 2) - special.digamma(d0 / 2) - d / d0 - np.log1p(odds)
        return float(np.sum(gains + (d + d0) / d0 * odds / (1 + odds)))

    d0 = math.exp(optimize.brentq(slope, low, high, xtol=1e-14) if slope(low) > 0 > slope(high) else start)
    return Prior(_scale(s, d, d0)[0], d0, pooled)


def _scale(s: np.ndarray, d: np.ndarray, d0: float) -> tuple[float, float]:
    """Return the s0^2 that is likeliest for this d0, and the log likelihood of both: of s / s0^2 as F(d, d0)."""

    def slope(log_scale: float) -> float:  # a search for the minimum itself would leave it half of its digits
        odds = d * s / (d0 * math.exp(log_scale))
        return float(np.sum(d / 2 - (d + d0) / 2 * odds / (1 + odds)))

    log_scale = optimize.brentq(slope, math.log(s.min()) - 1.0, math.log(s.max()) + 1.0, xtol=1e-15)
    fixed = np.sum(d / 2 * np.log(d / d0) + (d / 2 - 1) * np.log(s) - special.betaln(d / 2, d0 / 2))
    odds = d * s / (d0 * math.exp(log_scale))
    return math.exp(log_scale), float(fixed - np.sum(d / 2 * log_scale + (d + d0) / 2 * np.log1p(odds)))
