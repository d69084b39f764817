"""The variance of a contrast from fold to fold, estimated from all models of a family.

A hard fold is hard for every model, so folds are paired. Least squares fit log L_ik = a_i + b_k + e_ik, the loss of
model i on fold k, to all folds of a family. The variance of e is half the mean variance of the log differences of two
members. The effect of a fold, b_k, cancels in a contrast sum w_i L_i at its null value 0, relative margins included.
With an absolute margin m the term m b_k remains. It is neglected: b_k is some per cent, and m is small.

Fold variances are not moderated: a prior needs independent variances, and models on the same folds have none. The
pooled residual variance serves all members, and Bartlett's test says where they differ too much. Members of one task
are pooled. A contrast of two tasks takes the variance of each, with common fold effects.
"""

import math
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass

from reprise.evidence.contrasts import Contrast, Term
from reprise.evidence.runs import Quantity, Runs, Table
from reprise.evidence.statistics import (
    VarianceEstimate,
    combine_variances,
    compute_bartlett_p,
    compute_mean,
    estimate_residual_variances,
    estimate_variance,
    pool_variances,
)
from reprise.sums import add_in_order

Fold = int | str
LossesByFold = dict[Fold, float]
"""The logarithm of a loss by fold, or a weighted sum of several."""


@dataclass(frozen=True)
class FoldVariance:
    """The variance of a contrast on one fold; `bartlett_p`: Bartlett's p that all members vary alike."""

    variance: VarianceEstimate
    bartlett_p: float | None


def pool_fold_variance(contrast: Contrast, folds: Collection[Fold], table: Table) -> FoldVariance | None:
    """Pool the variance of a contrast from fold to fold over its families, of which all members with two folds count.

    Args:
        contrast: A weighted sum of losses.
        folds: The folds that all its experiments have, over which their means are taken.
        table: The runs.

    Returns:
        None for a contrast of logarithms, or of several experiments and several metrics. None also for a family without
        such members, and where a number is not positive.
    """
    weights = {term: weight for term, weight in contrast.merge_terms().items() if weight}
    experiments = {term.experiment for term in weights}
    quantities = list(dict.fromkeys(term.quantity for term in weights))
    if not experiments or contrast.log or len(experiments) > 1 < len(quantities):
        return None
    families = {table.runs[name].family for name in experiments}
    members = _list_members(families, quantities, table)
    if None in families or {runs.family for runs, _ in members} != families:
        return None
    # A loss times its weight is how much the contrast changes with the loss's logarithm.
    shares = {term: weight * _compute_mean(table, term, folds) for term, weight in weights.items()}
    if len(experiments) == 1:
        return _pool_within_experiment(shares, [runs for runs, _ in members])
    return _pool_residuals(shares, members, table, (frozenset(families), *quantities, "residuals"))


def _list_members(
    families: Set[tuple[str, ...] | None], quantities: Sequence[Quantity], table: Table
) -> list[tuple[Runs, LossesByFold]]:
    """List the experiments of the families that have two folds or more, with the sum of their log losses by fold."""
    terms = [(1.0, quantity) for quantity in quantities]
    return table.compute_once(
        (frozenset(families), *quantities),
        lambda: [
            (runs, logs) for runs in table.list_members(families) if len(logs := _collect_logs_by_fold(runs, terms)) > 1
        ],
    )


def _compute_mean(table: Table, term: Term, folds: Collection[Fold]) -> float:
    values = table.runs[term.experiment].combine([(1.0, term.quantity)])
    return compute_mean(values[fold] for fold in folds)


def _pool_within_experiment(shares: Mapping[Term, float], members: Sequence[Runs]) -> FoldVariance:
    """Pool the variances of a contrast within one experiment, in which fold effects do not cancel.

    They are taken around the mean of each member. Since all members share their folds, the result has the degrees of
    freedom of one of them.
    """
    terms = [(share, term.quantity) for term, share in shares.items()]
    series = [list(_collect_logs_by_fold(runs, terms).values()) for runs in members]
    variances = [estimate_variance(values) for values in series]
    df = max(map(len, series)) - 1
    return FoldVariance(VarianceEstimate(pool_variances(variances).variance, df), compute_bartlett_p(variances))


def _pool_residuals(
    shares: Mapping[Term, float], members: Sequence[tuple[Runs, LossesByFold]], table: Table, key: tuple
) -> FoldVariance | None:
    """Pool the residual variances of the members task by task; None where no member of a task has one.

    `key` stands for the members in the table's cache.
    """
    residuals = table.compute_once(key, lambda: estimate_residual_variances([logs for _, logs in members]))
    parts, p_values = [], []
    for task in dict.fromkeys(_get_task(table.runs[term.experiment]) for term in shares):
        variances = [
            variance
            for (runs, _), variance in zip(members, residuals, strict=True)
            if variance and _get_task(runs) == task
        ]
        if not variances:
            return None
        squares = (share**2 for term, share in shares.items() if _get_task(table.runs[term.experiment]) == task)
        parts.append((add_in_order(squares), pool_variances(variances)))
        p_values.append(compute_bartlett_p(variances))
    combined = combine_variances(0.0, parts)
    smallest_p = min((p for p in p_values if p is not None), default=None)
    return FoldVariance(VarianceEstimate(combined.error**2, combined.df), smallest_p)


def _get_task(runs: Runs) -> tuple[str, ...]:
    """Return text, task and reading of an experiment, without its model."""
    return runs.family[1:]


def _collect_logs_by_fold(runs: Runs, terms: Sequence[tuple[float, Quantity]]) -> LossesByFold:
    """Return the sum of weight * log metric of every fold with all of the metrics, each above zero."""
    return {
        r.fold: add_in_order(weight * math.log(r.metrics[quantity]) for weight, quantity in terms)
        for r in runs.finished
        if r.fold is not None and all(r.metrics.get(quantity, 0.0) > 0 for _, quantity in terms)
    }
