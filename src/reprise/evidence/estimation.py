"""Estimate contrasts from run records: folds are paired, seeds are independent samples with moderated variances.

A family is all experiments with one model, text and task under one choice of every assumption. Different choices never
share a variance, since a choice may change it: under another schedule the m-RNN becomes unstable.

Seeds: the variance of an experiment is moderated by that of its family (`moderated`). An experiment with one replica
takes the family's variance. Two experiments with one replica each cannot be tested.

Folds: a hard fold is hard for every model, so folds are paired. Least squares fit log L_ik = a_i + b_k + e_ik, the loss
of model i on fold k, to all folds of a family. The variance of e is half the mean variance of the log differences of
two members. The effect of a fold, b_k, cancels in a contrast sum w_i L_i at its null value 0, relative margins
included. With an absolute margin m the term m b_k remains. It is neglected: b_k is some per cent, and m is small.

Fold variances are not moderated: a prior needs independent variances, and models on the same folds have none. The
pooled residual variance serves all members, and Bartlett's test says where they differ too much. Members of one task
are pooled. A contrast of two tasks takes the variance of each, with common fold effects.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from reprise.evidence.contrasts import Contrast, Hypothesis
from reprise.evidence.moderated import Prior, fit_prior
from reprise.evidence.runs import Quantity, Runs, Table
from reprise.evidence.statistics import (
    Estimate,
    VarianceEstimate,
    bartlett_test,
    combine_variances,
    estimate_over_folds,
    estimate_residual_variances,
    estimate_variance,
    mean,
    pool_variances,
)


@dataclass(frozen=True)
class ContrastEstimate:
    """The estimate of a contrast.

    Attributes:
        estimate: The value with its standard error.
        counts: The finished replicas of each experiment.
        borrowed: The experiments with one replica, whose variance is that of their family.
        variances: The variance of one replica of each experiment, squared weights included.
        fold_ratio: n_test / n_train of folds; 0 of seeds.
        method: "seeds", "folds" or "exact".
        without_sd: The experiments without a known variance, where the estimate has no error for want of it.
        bartlett_p: The p value of Bartlett's test that the folds of a family vary alike.
    """

    estimate: Estimate
    counts: dict[str, int]
    borrowed: tuple[str, ...] = ()
    variances: tuple[float, ...] = ()
    fold_ratio: float = 0.0
    method: str = "seeds"
    without_sd: tuple[str, ...] = ()
    bartlett_p: float | None = None


@dataclass(frozen=True)
class HypothesisEstimate:
    """The estimates of one comparison, ours and the paper's.

    Attributes:
        hypothesis: The comparison.
        effect: Our effect.
        means: The mean of each term; of logarithms the geometric mean.
        tests: The contrasts that decide, margins included.
        paper: The paper's effect as printed.
        paper_converted: The same in our unit and on our scale; None where it cannot be converted.
        paper_tests: The value of each test at the paper's numbers.
        paper_band: The range of `paper_converted` by the rounding of the paper's numbers.
    """

    hypothesis: Hypothesis
    effect: ContrastEstimate
    means: tuple[float, ...]
    tests: tuple[ContrastEstimate, ...]
    paper: float | None = None
    paper_converted: float | None = None
    paper_tests: tuple[float | None, ...] = ()
    paper_band: tuple[float, float] | None = None

    @property
    def test(self) -> ContrastEstimate:
        """Return the deciding test: of two one-sided tests the one with the larger p."""
        return max(self.tests, key=lambda test: (test.estimate.p_above(), -test.estimate.value))


def estimate_hypothesis(hypothesis: Hypothesis, table: Table) -> HypothesisEstimate | None:
    """Estimate a comparison; None where an experiment has no number for it."""
    effect, tests = (
        estimate_contrast(hypothesis.effect, table),
        tuple(estimate_contrast(test, table) for test in hypothesis.tests),
    )
    if effect is None or None in tests:
        return None
    terms = [term for _, term in hypothesis.effect.weights]
    numbers = [table.runs[term.experiment].combine([(1.0, term.quantity)]) for term in terms]
    if effect.method == "folds":
        numbers = [{fold: values[fold] for fold in _intersect_folds(numbers)} for values in numbers]
    if not all(numbers):  # an experiment in both differences of a gap cancels in it, and yet is to be shown
        return None
    return HypothesisEstimate(
        hypothesis,
        effect,
        tuple(mean(values.values(), hypothesis.effect.log) for values in numbers),
        tests,
        _evaluate_at_paper(hypothesis.effect, table, printed=True),
        _evaluate_at_paper(hypothesis.effect, table),
        tuple(_evaluate_at_paper(test, table) for test in hypothesis.tests),
        _bound_paper_effect(hypothesis.effect, table),
    )


def _bound_paper_effect(contrast: Contrast, table: Table) -> tuple[float, float] | None:
    """Return the range of the paper's contrast by the rounding of its numbers; None as of `_evaluate_at_paper`."""
    bands = [(w, table.runs[term.experiment].reported_band(term.quantity)) for w, term in contrast.weights]
    if None in (paper_band for _, paper_band in bands) or (
        contrast.log and min(paper_band[0] for _, paper_band in bands) <= 0
    ):
        return None
    return contrast.of(paper_band[w < 0] for w, paper_band in bands), contrast.of(
        paper_band[w > 0] for w, paper_band in bands
    )


def _evaluate_at_paper(contrast: Contrast, table: Table, printed: bool = False) -> float | None:
    """Return the contrast of the paper's numbers, in our unit, or as printed and without logarithms.

    None where a number is missing or has no logarithm.
    """
    terms = [(table.runs[term.experiment], term.quantity) for _, term in contrast.weights]
    reported = [of.reported(quantity) if printed else of.reported_in_our_unit(quantity) for of, quantity in terms]
    if None in reported or (contrast.log and min(reported) <= 0):
        return None
    return replace(contrast, log=contrast.log and not printed).of(reported)


def estimate_contrast(contrast: Contrast, table: Table) -> ContrastEstimate | None:
    """Estimate a contrast over the finished replicas; None where an experiment has no replica with all of its metrics.

    Exact numbers have no error. If all experiments have folds, these are paired. Of their own variance and the family's
    the one with more degrees of freedom counts. Otherwise experiments are independent samples, each with its
    moderated variance.
    """
    parts, runs = contrast.group_by_experiment(), table.runs
    samples = {name: runs[name].combine(terms, contrast.log) for name, terms in parts.items()}
    if not all(samples.values()):
        return None
    if all(runs[name].counted(quantity for _, quantity in terms) for name, terms in parts.items()):
        value = sum(next(iter(sample.values())) for sample in samples.values()) + contrast.offset
        return ContrastEstimate(Estimate(value, 0.0, 1), dict.fromkeys(samples, 1), method="exact")
    if all(runs[name].by_fold for name in parts):
        return _estimate_over_folds(contrast, table, samples)
    return _estimate_over_seeds(contrast, table, samples)


def _intersect_folds(samples: list[dict]) -> list:
    """Return the folds that all samples share."""
    return [fold for fold in samples[0] if all(fold in sample for sample in samples)]


def _estimate_over_folds(contrast: Contrast, table: Table, samples: dict[str, dict]) -> ContrastEstimate | None:
    common = _intersect_folds(list(samples.values()))
    if not common:
        return None
    values = [sum(sample[fold] for sample in samples.values()) + contrast.offset for fold in common]
    counts, fold_ratio = dict.fromkeys(samples, len(common)), max(table.runs[name].fold_ratio for name in samples)
    given = ContrastEstimate(Estimate(mean(values)), counts, fold_ratio=fold_ratio, method="folds")
    family, bartlett_p = _pool_fold_variance(contrast, common, table) or (None, None)
    own = estimate_variance(values)
    if own is None and family is None:
        return replace(given, without_sd=tuple(samples))
    # The family of one experiment has the degrees of freedom of a member, though it pools all folds: it wins a tie.
    lent = own is None or (family is not None and (family.df, len(samples) == 1) > (own.df, False))
    variance = family if lent else own
    estimate = estimate_over_folds(mean(values), len(common), fold_ratio, variance)
    given = replace(given, estimate=estimate, variances=(variance.variance,))
    return replace(given, borrowed=tuple(samples), bartlett_p=bartlett_p) if lent else given


def _estimate_over_seeds(contrast: Contrast, table: Table, samples: dict[str, dict]) -> ContrastEstimate:
    value = sum(mean(sample.values()) for sample in samples.values()) + contrast.offset
    counts = {name: len(sample) for name, sample in samples.items()}
    known, priors = {}, {}
    for name, terms in contrast.group_by_experiment().items():
        # A count has no replica that could differ.
        of = table.runs[name]
        if not terms or of.counted(quantity for _, quantity in terms):
            continue
        # Weights are divided by a common scale, so that one prior serves all members of a family.
        scale = terms[0][0]
        key = of.family, tuple((weight / scale, quantity) for weight, quantity in terms)
        if key not in priors:
            work_out = partial(_fit_family_prior, table, *key, contrast.log)
            priors[key] = table.remember((*key, contrast.log), work_out) if table.moderated else None
        own = estimate_variance([x / scale for x in samples[name].values()])
        known[name] = key, scale**2, priors[key].moderate(own) if priors[key] else own
    if without_sd := tuple(name for name, (*_, variance) in known.items() if variance is None):
        return ContrastEstimate(Estimate(value), counts, without_sd=without_sd)
    variances = tuple(square * variance.variance for _, square, variance in known.values())
    # Where no experiment has two replicas, the family's variance allows a forecast, but no test.
    if known and all(counts[name] == 1 for name in known):
        return ContrastEstimate(Estimate(value), counts, tuple(known), variances, without_sd=tuple(known))
    # Members of a family share its prior, so their degrees of freedom add up to at most those of all its replicas.
    sources = []
    for key, family in priors.items():
        members = [(square / counts[name], variance) for name, (of, square, variance) in known.items() if of == key]
        together, most = combine_variances(0.0, members), family.pooled_df if family else math.inf
        sources.append((1.0, VarianceEstimate(together.error**2, min(together.df, max(most, members[0][1].df)))))
    return ContrastEstimate(
        combine_variances(value, sources) if sources else Estimate(value, 0.0, 1),
        counts,
        borrowed=tuple(name for name in known if counts[name] == 1),
        variances=variances,
    )


def _fit_family_prior(
    table: Table, family: tuple[str, ...] | None, terms: Collection[tuple[float, Quantity]], log: bool
) -> Prior | None:
    """Return the prior for the variance of a weighted sum of metrics, or of their logarithms, from a family."""
    samples = (runs.combine(terms, log) for runs in table.members({family} - {None}))
    return fit_prior(tuple(one for sample in samples if (one := estimate_variance([*sample.values()]))))


def _pool_fold_variance(
    contrast: Contrast, folds: Collection[int | str], table: Table
) -> tuple[VarianceEstimate, float | None] | None:
    """Return the variance of a contrast from fold to fold, pooled over its families, and the p of Bartlett's test.

    The experiments have `folds` in common, over which their means are taken. Members are all experiments of the
    families with at least two folds. A contrast of several experiments and one metric takes the residual variance, each
    task its own. In a contrast within one experiment fold effects do not cancel. It takes the variance around each
    member's mean, with the degrees of freedom of one member, since all share their folds. Return None for other
    contrasts, for a family without such members, and where a number is not positive.
    """
    weights = {term: weight for term, weight in contrast.merge_terms().items() if weight}
    names = dict.fromkeys(term.experiment for term in weights)
    quantities = list(dict.fromkeys(term.quantity for term in weights))
    if not names or contrast.log or len(names) > 1 < len(quantities):
        return None
    families = {table.runs[name].family for name in names}
    losses = [(1.0, quantity) for quantity in quantities]
    key = frozenset(families), tuple(losses)
    fold_logs = table.remember(
        key, lambda: [(r, logs) for r in table.members(families) if len(logs := _collect_logs_by_fold(r, losses)) > 1]
    )
    members = [member for member, _ in fold_logs]
    if None in families or {r.family for r in members} != families:
        return None
    shares = {}
    for term, weight in weights.items():
        numbers = table.runs[term.experiment].combine([(1.0, term.quantity)])
        shares[term] = weight * mean(numbers[fold] for fold in folds)
    if len(names) == 1:
        part = [(share, term.quantity) for term, share in shares.items()]
        series = [list(_collect_logs_by_fold(member, part).values()) for member in members]
        df = max(map(len, series)) - 1
        own = [estimate_variance(values) for values in series]
        return VarianceEstimate(pool_variances(own).variance, df), bartlett_test(own)
    spreads = table.remember(
        (*key, "residuals"), lambda: estimate_residual_variances([numbers for _, numbers in fold_logs])
    )
    fitted = list(zip(members, spreads, strict=True))
    parts, doubts = [], []
    for task in dict.fromkeys(_task(table.runs[name]) for name in names):
        own = [residual for member, residual in fitted if residual and _task(member) == task]
        if not own:
            return None
        square = sum(share**2 for term, share in shares.items() if _task(table.runs[term.experiment]) == task)
        parts.append((square, pool_variances(own)))
        doubts.append(bartlett_test(own))
    combined = combine_variances(0.0, parts)
    return VarianceEstimate(combined.error**2, combined.df), min((p for p in doubts if p is not None), default=None)


def _task(runs: Runs) -> tuple[str, ...]:
    """Return text, task and reading of an experiment, without its model."""
    return runs.family[1:]


def _collect_logs_by_fold(runs: Runs, terms: Sequence[tuple[float, Quantity]]) -> dict[int | str, float]:
    """Return the sum of weight * log metric of every fold with all of the metrics, each above zero."""
    return {
        r.fold: sum(weight * math.log(r.metrics[quantity]) for weight, quantity in terms)
        for r in runs.finished
        if r.fold is not None and all(r.metrics.get(quantity, 0.0) > 0 for _, quantity in terms)
    }
