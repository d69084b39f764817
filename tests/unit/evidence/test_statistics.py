"""The statistics of verdicts, held to scipy.stats, to tables of known truth, and to numbers worked out by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from reprise.evidence import statistics as ours
from reprise.evidence.moderated import Prior, fit_prior
from reprise.evidence.statistics import (
    VarianceEstimate,
    combine_variances,
    compute_bartlett_p,
    compute_curvature_weights,
    compute_slope_weights,
    count_replicas_needed,
    estimate_variance,
    pool_variances,
)

RATIO = 0.25  # of five folds: one is tested, all of the others are trained on


def folds(differences, ratio):
    """Of differences paired by fold that have a deviation of their own."""
    return ours.estimate_over_folds(
        float(np.mean(differences)), len(differences), ratio, estimate_variance(differences)
    )


@pytest.mark.parametrize("seed", range(5))
def test_independent_samples_are_welchs_test_of_scipy(seed):
    draw = np.random.default_rng(seed)
    one, other = draw.normal(1, 2, 3 + seed), draw.normal(0, 0.5, 4)
    estimate = combine_variances(
        one.mean() - other.mean(), [(1 / len(values), estimate_variance(values)) for values in (one, other)]
    )
    expected = stats.ttest_ind(one, other, equal_var=False, alternative="greater")
    assert (estimate.compute_p_above(), estimate.compute_p_below()) == pytest.approx(
        (expected.pvalue, 1 - expected.pvalue)
    )
    bounds = stats.ttest_ind(one, other, equal_var=False).confidence_interval(0.9)
    assert estimate.compute_interval(0.9) == pytest.approx((bounds.low, bounds.high))


def test_folds_are_the_paired_test_of_scipy_and_corrected_for_their_overlap():
    one, other = np.array([1.0, 2.5, 2.0, 4.0]), np.array([0.5, 2.75, 1.0, 2.0])
    expected = stats.ttest_rel(one, other, alternative="greater")
    assert folds(one - other, 0.0).compute_p_above() == pytest.approx(expected.pvalue)
    # Variance 2.5 of the differences; of their mean (1/5 + 1/4) * 2.5 = 1.125 instead of 0.5.
    estimate = folds([1.0, 2.0, 3.0, 4.0, 5.0], RATIO)
    assert (estimate.value, estimate.error**2, estimate.df) == pytest.approx((3.0, 1.125, 4.0))


def test_variances_are_pooled_or_moderated_by_hand():
    # Variances 2 and 3 with 1 and 2 degrees of freedom; a lone value adds nothing.
    estimate = pool_variances(
        [one for values in ([1.0, 3.0], [2.0, 2.0, 5.0], [9.0]) if (one := estimate_variance(values))]
    )
    assert (estimate.variance, estimate.df) == pytest.approx((8 / 3, 3))
    # Of one law.
    estimate = fit_prior((VarianceEstimate(1.0, 2), VarianceEstimate(1.2, 4), VarianceEstimate(0.9, 2)))
    assert (math.isinf(estimate.df), estimate.pooled_df) == (True, 8)
    assert estimate.variance == pytest.approx((2 * 1.0 + 4 * 1.2 + 2 * 0.9) / 8)
    assert (
        estimate.moderate(VarianceEstimate(1.2, 4)) == estimate.moderate(None) == VarianceEstimate(estimate.variance, 8)
    )
    assert fit_prior(()) is None
    assert fit_prior((VarianceEstimate(0.0, 2), VarianceEstimate(0.0, 2), VarianceEstimate(1.0, 2))) is None
    # Smyth's posterior. A family knows no more than all of its replicas.
    estimate = Prior(2.0, 3.0, 20).moderate(VarianceEstimate(8.0, 2))
    assert (estimate.variance, estimate.df) == (pytest.approx((3 * 2.0 + 2 * 8.0) / 5), 5.0)
    assert Prior(2.0, 3.0, 20).moderate(None) == VarianceEstimate(2.0, 3.0)
    assert Prior(2.0, 30.0, 6).moderate(VarianceEstimate(8.0, 2)).df == 6


def test_equal_variances_are_tested_as_by_scipy():
    samples = [[1.0, 3.0, 2.5], [2.0, 2.1, 5.0, 4.0], [9.0, 9.4]]
    assert compute_bartlett_p([estimate_variance(s) for s in samples]) == pytest.approx(stats.bartlett(*samples).pvalue)
    assert compute_bartlett_p([VarianceEstimate(1.0, 2)]) is None
    assert compute_bartlett_p([VarianceEstimate(0.0, 2), VarianceEstimate(0.0, 2)]) is None
    assert compute_bartlett_p([VarianceEstimate(0.0, 2), VarianceEstimate(1.0, 2)]) == 0.0
    # Equal ones whose distance is rounded to below 0: two models on two folds have the same residuals.
    assert compute_bartlett_p([VarianceEstimate(0.8444218515250481, 1 / 3)] * 3) == 1.0


def test_no_deviation_decides_nothing_and_none_at_all_decides_everything():
    unknown = ours.Estimate(5.0)
    assert (unknown.compute_p_above(), unknown.compute_p_below(), unknown.compute_interval()) == (1.0, 1.0, None)
    exact = combine_variances(0.5, [(1.0, VarianceEstimate(0.0, 2))])
    assert (exact.compute_p_above(), exact.compute_p_below()) == (0.0, 1.0)
    assert exact.compute_interval() == (0.5, 0.5)


@pytest.mark.parametrize("value", [0.1, 0.7, 1 / 3])
@pytest.mark.parametrize("n", [2, 3, 6, 7, 10])
def test_equal_numbers_have_their_own_mean_and_no_deviation(value, n):
    """Their sum is rounded, and its n-th part another number than theirs."""
    assert ours.compute_mean([value] * n) == value
    assert estimate_variance([value] * n) == VarianceEstimate(0.0, n - 1)


def test_members_without_variance_or_with_nothing_in_common_lend_nothing():
    some = [VarianceEstimate(v, 4) for v in (0.5, 1.0, 2.0)]
    # A member whose replicas are all alike is left out, and more of them than others leave no prior.
    assert fit_prior((*some, VarianceEstimate(0.0, 4))) == fit_prior(tuple(some))
    assert fit_prior((some[0], VarianceEstimate(0.0, 4), VarianceEstimate(0.0, 4))) is None
    assert fit_prior((VarianceEstimate(0.0, 4),)) is None
    # Variances over twenty orders of magnitude are likeliest with a d0 of 0.
    assert fit_prior(tuple(VarianceEstimate(10.0**k, 9) for k in range(-10, 11, 4))) is None


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (3, 20), (11, 20), (20, 20), (1, 1), (5, 5)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_interval_of_a_share_has_the_shares_that_the_binomial_test_does_not_refuse(successes, n, level):
    low, high = ours.compute_clopper_pearson_interval(successes, n, level)
    assert (low == 0) == (successes == 0)
    assert (high == 1) == (successes == n)
    if successes:
        assert ours.compute_binomial_p(successes, n, low)[0] == pytest.approx((1 - level) / 2)
    if successes < n:
        assert ours.compute_binomial_p(successes, n, high)[1] == pytest.approx((1 - level) / 2)
    tails = stats.binom.sf(successes - 1, n, 0.3), stats.binom.cdf(successes, n, 0.3)
    assert ours.compute_binomial_p(successes, n, 0.3) == pytest.approx(tails)


@pytest.mark.parametrize(
    ("effect", "variance", "n"),
    # Cohen's table: 17 a group find a difference of one deviation with power 0.8, two-sided at 0.05; 64 find half.
    [(1.0, 1.0, 17), (0.5, 1.0, 64), (-0.5, 1.0, None), (0.0, 1.0, None), (0.01, 1.0, None), (1e3, 1.0, 2), (1, 0, 2)],
)
def test_replicas_needed_is_the_tabled_number_and_more_folds_help_only_so_far(effect, variance, n):
    assert count_replicas_needed(effect, [variance, variance]) == n
    # The error of the mean over folds stays above sqrt(ratio) = half a deviation.
    assert count_replicas_needed(1.0, [1.0], ratio=RATIO) is None
    assert 3 <= count_replicas_needed(3.0, [1.0], ratio=RATIO) <= 8


def test_folds_with_overlapping_training_sets_err_as_often_as_they_say():
    """Differences of folds with the correlation that Nadeau and Bengio assume, n_test / (n_test + n_train)."""
    draw, trials = np.random.default_rng(8), 4000
    k, correlation = 5, RATIO / (1 + RATIO)
    own, common = draw.normal(size=(trials, k)), draw.normal(size=(trials, 1))
    differences = math.sqrt(1 - correlation) * own + math.sqrt(correlation) * common
    corrected = np.mean([folds(d, RATIO).compute_p_above() <= 0.025 for d in differences])
    naive = np.mean([folds(d, 0.0).compute_p_above() <= 0.025 for d in differences])
    # Three deviations of a rate of 0.025 over so many trials.
    assert abs(corrected - 0.025) < 3 * math.sqrt(0.025 * 0.975 / trials)
    assert naive > 0.05


def test_the_prior_is_that_of_greatest_likelihood():
    """s / s0^2 follows F(d, d0): no pair of numbers near the ones found, nor far from them, is likelier."""
    members = [VarianceEstimate(v, d) for v, d in ((0.1, 2), (0.2, 1), (1.5, 2), (40.0, 2), (0.4, 3), (3.0, 2))]
    s, d = np.array([m.variance for m in members]), np.array([m.df for m in members])

    def likelihood(scale, freedom):
        return float(np.sum(stats.f.logpdf(s / scale, d, freedom) - np.log(scale)))

    prior = fit_prior(tuple(members))
    best = likelihood(prior.variance, prior.df)
    scales, freedoms = np.geomspace(0.01, 100, 60), np.geomspace(0.5, 1000, 60)
    assert best > max(likelihood(a, b) for a in scales for b in freedoms)
    near = [likelihood(prior.variance * a, prior.df * b) for a in (0.999, 1, 1.001) for b in (0.999, 1, 1.001)]
    assert best == max(near)
    assert 0.5 < prior.df < 5


def test_ranks_are_compared_over_all_orders():
    def total(x, y):
        return stats.rankdata([*x, *y])[: len(x)].sum()

    ties = [([2.0, 6.0], [2.0, 1.0]), ([1, 1, 2, 2, 3, 3, 3], [0, 1, 1])]
    for high, low in (([4.0, 5.0], [1.0, 2.0, 3.0]), ([1.5, 6.0], [2.0, 2.0, 3.0, 1.0]), *ties):
        exact = stats.permutation_test((high, low), total, alternative="greater", n_resamples=np.inf).pvalue
        assert ours.compute_rank_sum_p(high, low) == pytest.approx(exact)
    # Diverged replicas tie: of all 286 choices of three, ten are three of the five diverged ones.
    diverged = [math.inf] * 3, [math.inf] * 2 + [float(i) for i in range(8)]
    assert ours.compute_rank_sum_p(*diverged) == pytest.approx(10 / 286)
    assert ours.compute_rank_sum_p([math.inf, math.inf, 5.0], [1.0, 2.0, 3.0]) == pytest.approx(1 / math.comb(6, 3))
    # So many that nobody could look at every order.
    high = np.arange(50, 60.0)
    assert ours.compute_rank_sum_p(high, np.arange(50.0)) == pytest.approx(1 / math.comb(60, 10))


def test_a_slope_is_that_of_least_squares():
    x, y = [0.0, 1.0, 2.5, 4.0], [3.0, 2.0, 2.5, -1.0]
    assert sum(w * v for w, v in zip(compute_slope_weights(x), y, strict=True)) == pytest.approx(
        stats.linregress(x, y).slope
    )
    assert sum(compute_slope_weights(x)) == pytest.approx(0.0)


def test_a_curvature_is_that_of_the_least_squares_parabola_and_sees_no_slope():
    x, y = [0.0, 1.0, 2.5, 4.0, 4.5], [3.0, 2.0, 2.5, -1.0, 6.0]
    weights = np.array(compute_curvature_weights(x))
    assert weights @ y == pytest.approx(np.polyfit(x, y, 2)[0])
    assert weights @ (7.0 + 3.0 * np.array(x)) == pytest.approx(0.0, abs=1e-12)


def test_the_prior_has_the_same_digits_in_whatever_order_its_members_are_added():
    """As processors do: in orders of their own."""
    members = tuple(VarianceEstimate(v, d) for v, d in ((0.1, 2), (0.2, 1), (1.5, 2), (40.0, 2), (0.4, 3), (3.0, 2)))
    prior = fit_prior(members)
    for turned in (members[::-1], members[3:] + members[:3], members[::2] + members[1::2]):
        other = fit_prior(turned)
        assert (other.variance, other.df) == pytest.approx((prior.variance, prior.df), rel=1e-13)
