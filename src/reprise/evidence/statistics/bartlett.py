"""Bartlett's test: whether samples of normal laws have one variance."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy import special

from reprise.evidence.statistics.estimate import Spread


def bartlett(members: Sequence[Spread]) -> float | None:
    """The p value of variances of one normal law each that all are the same; None for fewer than two of them.

    Bartlett, "Properties of sufficiency and statistical tests" (Proc. R. Soc. A 160, 1937). Of samples that have no
    variance at all it says nothing, and one that has none beside others that have is certain to differ.
    """
    if len(members) < 2 or not any(one.variance for one in members):
        return None
    if not all(one.variance for one in members):
        return 0.0
    freedom = sum(one.freedom for one in members)
    whole = sum(one.freedom * one.variance for one in members) / freedom
    distance = sum(one.freedom * math.log(whole / one.variance) for one in members)
    correction = 1 + (sum(1 / one.freedom for one in members) - 1 / freedom) / (3 * (len(members) - 1))
    return float(special.chdtrc(len(members) - 1, distance / correction))
