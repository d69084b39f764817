"""The slope of a sweep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def slope_weights(x: Sequence[float]) -> list[float]:
    """Weights w with sum w_i y_i the least-squares slope of y on x; they add up to 0."""
    centred = np.asarray(x, dtype=float) - float(np.mean(x))
    return [float(w) for w in centred / float(centred @ centred)]
