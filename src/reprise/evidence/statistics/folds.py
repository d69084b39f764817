"""Means over folds that share training data, and how much losses differ from fold to fold."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping

import numpy as np

from reprise.evidence.statistics.estimate import Estimate, Spread, combine

Series = Mapping[Hashable, float]
"""A number a fold."""


def over_folds(mean: float, folds: int, ratio: float, spread: Spread) -> Estimate:
    """A mean over folds, one of which has this variance, 1/k + n_test / n_train (`ratio`) of which the mean has.

    Training sets of folds overlap, so that their means vary more than 1/k. Nadeau and Bengio, "Inference for the
    generalization error" (Machine Learning 52, 2003), section 3.
    """
    return combine(mean, [(1 / folds + ratio, spread)])


def residuals(series: Collection[Series]) -> tuple[Spread, list[Spread]] | None:
    """The variance of e in y_ik = a_i + b_k + e_ik, model i on fold k: of all models, and of each by itself.

    A model's own has as many degrees of freedom as its share of all of them. None where nothing is left to err.
    """
    cells = [(i, k, value) for i, one in enumerate(series) for k, value in one.items()]
    folds = list(dict.fromkeys(k for _, k, _ in cells))
    design = np.zeros((len(cells), len(series) + len(folds)))
    for row, (i, k, _) in enumerate(cells):
        design[row, i] = design[row, len(series) + folds.index(k)] = 1.0
    y = np.array([value for *_, value in cells])
    # The freedom that the fit leaves each row: 1 - its leverage.
    left = 1 - np.einsum("ij,ji->i", design, np.linalg.pinv(design))
    freedom = len(cells) - int(np.linalg.matrix_rank(design))
    if not freedom:
        return None
    squares = (y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2
    own = []
    for i in range(len(series)):
        of = [row for row, cell in enumerate(cells) if cell[0] == i]
        if (its := float(left[of].sum())) > 1e-9:
            own.append(Spread(float(squares[of].sum()) / its, its))
    return Spread(float(squares.sum()) / freedom, freedom), own
