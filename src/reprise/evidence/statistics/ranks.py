"""The exact rank-sum test of Wilcoxon, for models of which a replica may blow up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np
from scipy.stats import rankdata

_MOST = 200_000


def ranks_above(high: Sequence[float], low: Sequence[float]) -> float:
    """One-sided exact p value of `high` and `low` being of one law, against `high` lying above; ties share their rank.

    Infinite numbers (a replica that diverged) are allowed. Every choice of the places of `high` is looked at.

    Errors: `ValueError` for an empty sample, and for samples of more than 200,000 choices.
    """
    n, m = len(high), len(low)
    if not n or not m:
        raise ValueError("a rank test takes two samples that are not empty")
    if comb(n + m, n) > _MOST:
        raise ValueError(f"a rank test of {n} and {m} numbers has more than {_MOST:,} choices to look at")
    ranks = rankdata([*high, *low])
    observed = ranks[:n].sum()
    sums = np.array([sum(ranks[i] for i in chosen) for chosen in combinations(range(n + m), n)])
    return float(np.mean(sums >= observed - 1e-9))
