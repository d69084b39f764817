"""Moderated variances: each experiment's own variance, shrunk toward that of its family.

Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray experiments"
(Stat. Appl. Genet. Mol. Biol. 3, 2004), section 6, as `fitFDist` and `squeezeVar` of limma have it: true variances of a
family are taken to follow s0^2 d0 / chi^2(d0), whose two numbers are estimated by the moments of the logarithms of the
sample variances. An experiment with d degrees of freedom of its own then has d0 + d, and one without any has d0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from reprise.evidence.statistics.estimate import Spread

_FLOOR = 1e-5
"""Sample variances are at least this share of their median, as in limma: the logarithm of 0 has no moments."""


@dataclass(frozen=True)
class Prior:
    """What a family says of the variance of a member: s0^2, d0, and the degrees of freedom of all of its members."""

    variance: float
    freedom: float
    pooled: float

    def moderate(self, own: Spread | None) -> Spread:
        """The posterior variance of a member with this own one (None: it has a single replica)."""
        if own is None:
            return Spread(self.variance, min(self.freedom, self.pooled))
        if math.isinf(self.freedom):
            return Spread(self.variance, self.pooled)
        freedom = self.freedom + own.freedom
        variance = (self.freedom * self.variance + own.freedom * own.variance) / freedom
        return Spread(variance, min(freedom, max(self.pooled, own.freedom)))


def prior(members: Sequence[Spread]) -> Prior | None:
    """The prior of a family from its members' own variances; None where none has one, or most have none to speak of.

    Where they differ by no more than chance lets them, d0 is infinite and s0^2 their pooled variance.
    """
    pooled = sum(one.freedom for one in members)
    if not pooled:
        return None
    together = sum(one.freedom * one.variance for one in members) / pooled
    middle = float(np.median([one.variance for one in members]))
    if len(members) < 2:
        return Prior(together, math.inf, pooled)
    if middle == 0:
        return None
    half = np.array([one.freedom for one in members], dtype=float) / 2
    logs = np.log([max(one.variance, _FLOOR * middle) for one in members])
    e = logs - special.digamma(half) + np.log(half)
    excess = float(np.var(e, ddof=1) - np.mean(special.polygamma(1, half)))
    if excess <= 0:
        return Prior(together, math.inf, pooled)
    freedom = 2 * _trigamma_inverse(excess)
    variance = math.exp(float(np.mean(e)) + float(special.digamma(freedom / 2)) - math.log(freedom / 2))
    return Prior(variance, freedom, pooled)


def _trigamma_inverse(value: float) -> float:
    """y with trigamma(y) = value, by Newton's method on its reciprocal (Smyth 2004, appendix)."""
    if value > 1e7:
        return 1 / math.sqrt(value)
    if value < 1e-6:
        return 1 / value
    y = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(special.polygamma(1, y))
        step = trigamma * (1 - trigamma / value) / float(special.polygamma(2, y))
        y += step
        if -step / y < 1e-8:
            break
    return y
