"""Estimate contrasts from run records: folds are paired, seeds are independent samples with moderated variances.

A family is all experiments with one model, text and task under one choice of every assumption. Different choices never
share a variance, since a choice may change it: under another schedule the m-RNN becomes unstable. `seeds` and `folds`
say how a family lends its variance.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from reprise.evidence.contrasts import Contrast, Hypothesis, Term
from reprise.evidence.folds import FoldVariance, pool_fold_variance
from reprise.evidence.runs import Table
from reprise.evidence.seeds import combine_seed_variances, estimate_seed_variances
from reprise.evidence.statistics import Estimate, VarianceEstimate, compute_mean, estimate_over_folds, estimate_variance
from reprise.sums import add_in_order
from reprise.units import is_ratio_scale

_ROUNDING_ERROR = 1e-12
"""A difference of the paper's numbers below this share of the largest is 0."""


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
        return max(self.tests, key=lambda test: (test.estimate.compute_p_above(), -test.estimate.value))


def estimate_hypothesis(hypothesis: Hypothesis, table: Table) -> HypothesisEstimate | None:
    """Estimate a comparison; None where an experiment has no number for it."""
    effect = estimate_contrast(hypothesis.effect, table)
    tests = tuple(estimate_contrast(test, table) for test in hypothesis.tests)
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
        tuple(compute_mean(values.values(), hypothesis.effect.log) for values in numbers),
        tests,
        _evaluate_at_paper(hypothesis.effect, table, printed=True),
        _evaluate_at_paper(hypothesis.effect, table),
        tuple(_evaluate_at_paper(test, table) for test in hypothesis.tests),
        _bound_paper_effect(hypothesis.effect, table),
    )


def _bound_paper_effect(contrast: Contrast, table: Table) -> tuple[float, float] | None:
    """Return the range of the paper's contrast by the rounding of its numbers; None as of `_evaluate_at_paper`."""
    # A number in both differences of a gap is rounded once.
    merged = replace(contrast, weights=tuple((weight, term) for term, weight in contrast.merge_terms().items()))
    bands = [table.runs[term.experiment].get_reported_band(term.quantity) for _, term in merged.weights]
    if None in bands or (merged.log and min(low for low, _ in bands) <= 0):
        return None
    ends = [band if weight > 0 else band[::-1] for band, (weight, _) in zip(bands, merged.weights, strict=True)]
    low, high = (_round_to_zero(merged.evaluate(end), end) for end in zip(*ends, strict=True))
    return low, high


def _evaluate_at_paper(contrast: Contrast, table: Table, printed: bool = False) -> float | None:
    """Return the contrast of the paper's numbers, in our unit, or as printed and without logarithms.

    None where a number is missing or has no logarithm.
    """
    terms = [(table.runs[term.experiment], term.quantity) for _, term in contrast.weights]
    reported = [
        runs.get_reported(quantity) if printed else runs.get_reported_in_our_unit(quantity) for runs, quantity in terms
    ]
    if None in reported or (contrast.log and min(reported) <= 0):
        return None
    return _round_to_zero(replace(contrast, log=contrast.log and not printed).evaluate(reported), reported)


def _round_to_zero(value: float, numbers: Iterable[float]) -> float:
    """Return 0 for a difference of the paper's numbers that is a rounding error: (1.14 - 1.12) - (1.16 - 1.14)."""
    return 0.0 if abs(value) < _ROUNDING_ERROR * max(map(abs, numbers)) else value


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
    if all(runs[name].is_exact(quantity for _, quantity in terms) for name, terms in parts.items()):
        value = add_in_order(next(iter(sample.values())) for sample in samples.values()) + contrast.offset
        return ContrastEstimate(Estimate(value, 0.0, 1), dict.fromkeys(samples, 1), method="exact")
    if all(runs[name].by_fold for name in parts):
        return _estimate_over_folds(contrast, table, samples)
    return _estimate_over_seeds(contrast, table, samples)


def estimate_replica_sd(term: Term, table: Table) -> tuple[float, float] | None:
    """Return the SD of one replica and its degrees of freedom; of perplexities the SD of the logarithm.

    None where no SD is known, or all replicas are equal.
    """
    measured = estimate_contrast(Contrast(((1.0, term),), log=is_ratio_scale(term.quantity[0])), table)
    if measured is None or measured.estimate.error is None or not measured.variances or not measured.variances[0]:
        return None
    return math.sqrt(measured.variances[0]), measured.estimate.df


def _intersect_folds(samples: list[dict]) -> list:
    """Return the folds that all samples share."""
    return [fold for fold in samples[0] if all(fold in sample for sample in samples)]


def _estimate_over_folds(contrast: Contrast, table: Table, samples: dict[str, dict]) -> ContrastEstimate | None:
    """Estimate a contrast over the folds that all experiments share; None where they share none."""
    common = _intersect_folds(list(samples.values()))
    if not common:
        return None
    values = [add_in_order(sample[fold] for sample in samples.values()) + contrast.offset for fold in common]
    fold_ratio = max(table.runs[name].fold_ratio for name in samples)
    counts = dict.fromkeys(samples, len(common))
    unknown = ContrastEstimate(Estimate(compute_mean(values)), counts, fold_ratio=fold_ratio, method="folds")
    own = estimate_variance(values)
    family = pool_fold_variance(contrast, common, table) if table.lends_sds else None
    if _is_family_better_known(family, own, has_one_experiment=len(samples) == 1):
        variance, borrowed, bartlett_p = family.variance, tuple(samples), family.bartlett_p
    elif own is not None:
        variance, borrowed, bartlett_p = own, (), None
    else:
        return replace(unknown, without_sd=tuple(samples))
    return replace(
        unknown,
        estimate=estimate_over_folds(compute_mean(values), len(common), fold_ratio, variance),
        borrowed=borrowed,
        variances=(variance.variance,),
        bartlett_p=bartlett_p,
    )


def _is_family_better_known(
    family: FoldVariance | None, own: VarianceEstimate | None, has_one_experiment: bool
) -> bool:
    """Return whether the family's variance has more degrees of freedom than the contrast's own."""
    if family is None or own is None:
        return family is not None
    # The family of one experiment has the degrees of freedom of a member, though it pools all folds: it wins a tie.
    return family.variance.df > own.df or (has_one_experiment and family.variance.df == own.df)


def _estimate_over_seeds(contrast: Contrast, table: Table, samples: dict[str, dict]) -> ContrastEstimate:
    """Estimate a contrast over independent samples, without an error where a variance is unknown."""
    value = add_in_order(compute_mean(sample.values()) for sample in samples.values()) + contrast.offset
    counts = {name: len(sample) for name, sample in samples.items()}
    known = estimate_seed_variances(contrast, table, samples)
    if without_sd := tuple(name for name, one in known.items() if one.variance is None):
        return ContrastEstimate(Estimate(value), counts, without_sd=without_sd)
    variances = tuple(one.square * one.variance.variance for one in known.values())
    # Where no experiment has two replicas, the family's variance allows a forecast, but no test.
    if known and all(counts[name] == 1 for name in known):
        return ContrastEstimate(Estimate(value), counts, tuple(known), variances, without_sd=tuple(known))
    return ContrastEstimate(
        combine_seed_variances(value, known, counts),
        counts,
        borrowed=tuple(name for name in known if counts[name] == 1),
        variances=variances,
    )
