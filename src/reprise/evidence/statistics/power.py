"""How many replicas a true effect takes to be found."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

from scipy import special


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
    if effect <= 0:
        return None
    if total == 0:
        return 2
    freedom = total**2 / sum(v**2 for v in variances)

    def found(n: int) -> float:
        """The power of n replicas, by the noncentral law of t."""
        shift = effect / math.sqrt(total / n + ratio * total)
        # So many errors wide an effect is always found, and the noncentral law loses its digits.
        if shift > 20.0:
            return 1.0
        bound = special.stdtrit(freedom * (n - 1), 1 - tail)
        return 1 - float(special.nctdtr(freedom * (n - 1), shift, bound))

    n = 2 + bisect_left(range(2, most + 1), power, key=found)
    return n if n <= most else None
