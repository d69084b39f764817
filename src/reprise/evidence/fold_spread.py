"""The deviation that few folds borrow: how much the losses of their family differ from fold to fold.

Folds differ in difficulty, and a fold that is hard is so for every model: a difference of two models is no lone
sample, and its deviation is that of paired differences. On all folds of all members log L_ik = a_i + b_k + e_ik, of
model i on fold k, is fitted by least squares; the variance of e, the residual sum of squares over its own degrees of
freedom, (models - 1) (folds - 1) where none is missing, is half the mean variance of the logarithmic differences of two
members. Taking every pair of members for a sample of its own would count the same folds many times.

The logarithm makes deviations shares of the loss. So models of tokens of one and of two characters have one, whatever
their losses are per token, and what a fold adds to all losses alike, b_k, drops out of a contrast sum w_i L_i that is
zero, which is where a test errs, also with a relative margin, which is part of the weights. It does not with an
absolute margin: there the sum is the margin where a test errs, b_k stays in, and nothing is lent. What is assumed is
what seeds assume too, one variance for a family, and that b_k is the same for all models. Of a contrast between two
families the residuals of both are pooled: there b_k and the variance are taken to be the same in both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from reprise.evidence.contrasts import Contrast
from reprise.evidence.runs import Quantity, Runs
from reprise.evidence.statistics import Spread, mean, pooled

Series = Mapping[int | str, float]
"""A number a fold."""


def lent(
    contrast: Contrast, folds: Collection[int | str], runs: Mapping[str, Runs], everyone: Collection[Runs]
) -> Spread | None:
    """The variance of the contrast from fold to fold, of which `runs` have `folds` in common; shares are of their mean.

    Members are the experiments among `everyone` of the family of one of the contrast that have at least two folds;
    every family of the contrast has to have one. Of several experiments and one metric it is the variance of residuals
    (see above). Of one experiment and any metrics, whose fold effects do not drop out, it is that around each member's
    own mean, with the freedom of a single member: all share their folds. None for other contrasts, of several
    experiments with an offset, where no member is found, and where a number is not positive.
    """
    weights = {term: weight for term, weight in contrast.merged().items() if weight}
    names = dict.fromkeys(term.experiment for term in weights)
    quantities = list(dict.fromkeys(term.quantity for term in weights))
    if not names or (len(names) > 1 and (len(quantities) > 1 or contrast.offset)):
        return None
    families = {runs[name].family for name in names}
    members = [r for r in everyone if r.family in families and _folds(r, quantities) > 1]
    if None in families or {r.family for r in members} != families:
        return None
    losses = {term: _by_fold(runs[term.experiment], term.quantity) for term in weights}
    shares = {term: weight * mean(losses[term][fold] for fold in folds) for term, weight in weights.items()}
    if len(names) == 1:
        part = [(share, term.quantity) for term, share in shares.items()]
        return _within([_combined(member, part) for member in members])
    found = _residual([_combined(member, [(1.0, quantities[0])]) for member in members])
    return Spread(found.variance * sum(share**2 for share in shares.values()), found.freedom) if found else None


def _by_fold(runs: Runs, quantity: Quantity) -> dict[int | str, float]:
    return {r.fold: r.metrics[quantity] for r in runs.finished if r.fold is not None and quantity in r.metrics}


def _folds(runs: Runs, quantities: Collection[Quantity]) -> int:
    """How many folds have all of the metrics, each above zero."""
    return sum(all(r.metrics.get(q, 0.0) > 0 for q in quantities) and r.fold is not None for r in runs.finished)


def _combined(runs: Runs, terms: Collection[tuple[float, Quantity]]) -> Series:
    """Of every fold the sum of weight * log metric."""
    series = [(weight, _by_fold(runs, quantity)) for weight, quantity in terms]
    common = [k for k in series[0][1] if all(one.get(k, 0.0) > 0 for _, one in series)]
    return {k: sum(weight * float(np.log(one[k])) for weight, one in series) for k in common}


def _residual(series: Collection[Series]) -> Spread | None:
    """Variance and freedom of e in y_ik = a_i + b_k + e_ik."""
    cells = [(i, k, value) for i, one in enumerate(series) for k, value in one.items()]
    folds = list(dict.fromkeys(k for _, k, _ in cells))
    design = np.zeros((len(cells), len(series) + len(folds)))
    for row, (i, k, _) in enumerate(cells):
        design[row, i] = design[row, len(series) + folds.index(k)] = 1.0
    y = np.array([value for *_, value in cells])
    freedom = len(cells) - int(np.linalg.matrix_rank(design))
    if not freedom:
        return None
    residuals = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return Spread(float(residuals @ residuals) / freedom, freedom)


def _within(series: Collection[Series]) -> Spread | None:
    found = pooled([list(one.values()) for one in series])
    return Spread(found.variance, max(len(one) for one in series) - 1) if found else None
