"""How much one replica of an experiment differs from the next, its family's knowledge included.

A family is what was trained of one model on one text and task under one reading. Readings never share a deviation:
another choice may change how far replicas differ (under the schedule as chosen two of three m-RNNs blow up, under the
toolkit's none does).

Seeds: an experiment's own variance is moderated by that of its family (`moderated`); an experiment with one
replica has its family's alone.

Folds differ in difficulty, and a fold that is hard is so for every model: a difference of two models is no lone sample.
On all folds of all members of a family log L_ik = a_i + b_k + e_ik, of model i on fold k, is fitted by least squares;
the variance of e is half the mean variance of the logarithmic differences of two members. The logarithm makes
deviations shares of the loss. What a fold adds to all losses alike, b_k, drops out of a contrast sum w_i L_i that is
zero, which is where a test errs, also with a relative margin, which is part of the weights. With an absolute margin it
does not, and nothing is lent.

Folds are not moderated as seeds are: models that share their folds have no independent variances, which a prior needs;
so the pooled residual stands for all of them, and Bartlett's test says where they differ too much for one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from reprise.evidence.contrasts import Contrast
from reprise.evidence.moderated import Prior, prior
from reprise.evidence.runs import Quantity, Runs
from reprise.evidence.statistics import Spread, bartlett, mean, pooled, residuals, spread

Terms = Sequence[tuple[float, Quantity]]
"""An experiment's part of a contrast: the weighted sum of some of its metrics."""


def family_prior(family: tuple[str, ...] | None, terms: Terms, log: bool, everyone: Collection[Runs]) -> Prior | None:
    """What a family's members with two replicas or more say of the variance of these terms."""
    if family is None:
        return None
    samples = (list(runs.combined(terms, log).values()) for runs in everyone if runs.family == family)
    return prior([one for sample in samples if (one := spread(sample))])


def of_folds(
    contrast: Contrast, folds: Collection[int | str], runs: Mapping[str, Runs], everyone: Collection[Runs]
) -> tuple[Spread, float | None] | None:
    """The variance of the contrast from fold to fold by its families, and Bartlett's p that their members' are one.

    `runs` have `folds` in common; shares are of their mean. Members are the experiments among `everyone` of the family
    of one of the contrast that have at least two folds; every family of the contrast has to have one. Of several
    experiments and one metric it is the variance of residuals. Of one experiment and any metrics, whose fold effects do
    not drop out, it is that around each member's own mean, with the freedom of a single member: all share their folds.
    None for other contrasts, of several experiments with an offset, where no member is found, and where a number is
    not positive.
    """
    weights = {term: weight for term, weight in contrast.merged().items() if weight}
    names = dict.fromkeys(term.experiment for term in weights)
    quantities = list(dict.fromkeys(term.quantity for term in weights))
    if not names or contrast.log or (len(names) > 1 and (len(quantities) > 1 or contrast.offset)):
        return None
    families = {runs[name].family for name in names}
    members = [r for r in everyone if r.family in families and _folds(r, quantities) > 1]
    if None in families or {r.family for r in members} != families:
        return None
    losses = {term: runs[term.experiment].combined([(1.0, term.quantity)]) for term in weights}
    shares = {term: weight * mean(losses[term][fold] for fold in folds) for term, weight in weights.items()}
    if len(names) == 1:
        part = [(share, term.quantity) for term, share in shares.items()]
        series = [_logs(member, part) for member in members]
        own = [one for values in series if (one := spread(list(values.values())))]
        found = pooled([list(values.values()) for values in series])
        freedom = max(len(values) for values in series) - 1
        return (Spread(found.variance, freedom), bartlett(own)) if found else None
    fitted = residuals([_logs(member, [(1.0, quantities[0])]) for member in members])
    if fitted is None:
        return None
    found, own = fitted
    return Spread(found.variance * sum(share**2 for share in shares.values()), found.freedom), bartlett(own)


def _folds(runs: Runs, quantities: Collection[Quantity]) -> int:
    """How many folds have all of the metrics, each above zero."""
    return sum(all(r.metrics.get(q, 0.0) > 0 for q in quantities) and r.fold is not None for r in runs.finished)


def _logs(runs: Runs, terms: Terms) -> dict[int | str, float]:
    """Of every fold the sum of weight * log metric."""
    return {
        r.fold: sum(weight * math.log(r.metrics[quantity]) for weight, quantity in terms)
        for r in runs.finished
        if r.fold is not None and all(r.metrics.get(quantity, 0.0) > 0 for _, quantity in terms)
    }
