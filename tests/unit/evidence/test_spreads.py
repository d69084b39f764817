"""How far replicas differ: moderated variances of seeds, paired folds, and readings that never share either."""

import math

import numpy as np
import pytest
from claims_helpers import QUANTITY, add_metric, below, claim, decide, estimate, margin, runs, table

from reprise.data.text.character_lines import TEST, TRAIN, assign_folds
from reprise.evidence.contrasts import Contrast, Term
from reprise.evidence.estimation import estimate_contrast
from reprise.evidence.moderated import fit_prior
from reprise.evidence.statistics import estimate_variance
from reprise.evidence.verdicts import AGREES, COUNTED, DISAGREES
from reprise.evidence.verdicts.decide import classify_evidence

A_BELOW_B = claim("superiority", compare=below("a", "b"))
RATIO = 0.2 / 0.72
LATE = ("late", "test")
DIFFERENCE = [(1.0, "b"), (-1.0, "a")]


def test_seeds_of_one_family_moderate_each_other():
    values = {"a": [1.0, 1.4, 0.8], "b": [1.9, 1.5, 2.6], "c": [5.0, 5.5, 5.1], "d": [3.0]}
    experiments = [runs(n, v) for n, v in values.items()]
    known = fit_prior(tuple(estimate_variance(v) for v in values.values() if len(v) > 1))
    contrast = estimate(DIFFERENCE, *experiments)
    variances = [known.moderate(estimate_variance(values[n])).variance for n in "ba"]
    assert contrast.variances == pytest.approx(variances)
    assert contrast.estimate.error == pytest.approx(math.sqrt(sum(variances) / 3))
    assert contrast.estimate.df <= 6
    # A lone replica has its family's variance alone.
    lone = estimate([(1.0, "d")], *experiments)
    assert lone.variances == pytest.approx([known.moderate(None).variance])
    assert lone.borrowed == lone.without_sd == ("d",)
    # It is good for a forecast, and tests nothing, unless something beside it has two replicas.
    assert lone.estimate.error is None
    beside = estimate([(1.0, "b"), (-1.0, "d")], *experiments)
    assert beside.estimate.error == pytest.approx(math.sqrt(variances[0] / 3 + lone.variances[0]))
    assert estimate([(1.0, "d")], experiments[3]).without_sd == ("d",)


def test_a_reading_lends_to_its_own_variants_alone():
    quiet, wild = [100.0, 100.1, 99.9], [100.0, 160.0, 60.0]
    chosen = [runs("a", [110.0]), runs("b", [130.0, 130.2]), runs("c", quiet)]
    variants = [runs("a@x=y", [111.0]), runs("b@x=y", [131.0])]

    def variances(*more):
        all_runs = [*chosen, *variants, *more]
        as_chosen = table(*all_runs)
        under = as_chosen.replace_by_variants({"a": variants[0], "b": variants[1]})
        a = Contrast(((1.0, Term("a", QUANTITY)),), log=True)
        return [estimate_contrast(a, one).variances for one in (as_chosen, under)]

    pooled = fit_prior(tuple(estimate_variance(np.log(v)) for v in ([130.0, 130.2], quiet))).moderate(None).variance
    alone, unknown = variances()
    assert (alone, unknown) == (pytest.approx((pooled,)), ())
    # Replicas of a variant lend to variants of the same reading, and to nobody else.
    same = variances(runs("d@x=y", wild))
    assert same == [alone, pytest.approx((np.var(np.log(wild), ddof=1),))]
    assert variances(runs("d@x=z", wild), runs("e@w=y", quiet)) == [alone, ()]


def test_counted_numbers_have_no_doubt_and_a_term_in_both_differences_varies_once_by_twice_that():
    counted = runs("a", [1.0], family="count", protocol="corpus-facts")
    seeds = [1.9, 1.5, 2.6]
    error = estimate(DIFFERENCE, counted, runs("b", seeds)).estimate.error
    assert error == pytest.approx(math.sqrt(np.var(seeds, ddof=1) / 3))
    assert classify_evidence(claim("threshold", level={"experiments": ["a"], "at_least": 1}), table(counted)) == COUNTED
    exact = estimate([(1.0, "a")], counted)
    assert (exact.method, exact.estimate.error) == ("exact", 0.0)
    values = {"a": [1.0, 1.1, 0.9], "b": [3.0, 3.2, 2.8], "c": [4.0, 4.3, 3.7]}
    experiments = (runs(n, v, family=n) for n, v in values.items())
    contrast = estimate([(1.0, "b"), (-1.0, "a"), (-1.0, "c"), (1.0, "b")], *experiments)
    by_hand = sum(w**2 * np.var(values[n], ddof=1) / 3 for n, w in (("a", 1), ("b", 2), ("c", 1)))
    assert contrast.estimate.error == pytest.approx(math.sqrt(by_hand))


def test_folds_are_paired_and_corrected():
    # The folds differ by far more than the models; paired they tell them apart.
    easy = [1.0, 5.0, 9.0, 3.0, 7.0]
    a = runs("a", easy, folds=True)
    b = runs("b", [x + d for x, d in zip(easy, [1, 1.1, 0.9, 1, 1], strict=True)], folds=True)
    contrast = estimate(DIFFERENCE, a, b)
    assert (contrast.method, contrast.estimate.error) == ("folds", pytest.approx(math.sqrt((1 / 5 + RATIO) * 0.005)))
    # Only the folds that both have are compared.
    assert estimate(DIFFERENCE, a, runs("b", [2.0, 6.2], folds=True)).counts == {"b": 2, "a": 2}
    part = assign_folds(lines=49199, folds=5, seed=0)[0]
    assert a.fold_ratio == pytest.approx((part == TEST).sum() / (part == TRAIN).sum(), rel=1e-3)


def test_few_folds_have_the_residual_of_their_family():
    logs = np.array([[0.1, 0.9, 2.0], [-0.1, 1.1, 2.0]])
    family = [runs(n, np.exp(row), folds=True) for n, row in zip("cd", logs, strict=True)]
    lone = runs("a", [2.0], folds=True), runs("b", [3.0], folds=True)
    contrast = estimate(DIFFERENCE, *lone, *family)
    residual = np.var(logs[0] - logs[1], ddof=1) / 2
    # Models of one fold add no residual: two of three have two degrees of freedom.
    assert contrast.estimate.error == pytest.approx(math.sqrt((1 + RATIO) * residual * (2**2 + 3**2)))
    assert contrast.estimate.df == pytest.approx(2)
    assert set(contrast.borrowed) == {"a", "b"}
    assert estimate(DIFFERENCE, *lone).without_sd == ("b", "a")
    # An absolute margin is a constant: the test errs as the difference that is shown does.
    assert estimate(DIFFERENCE, *lone, *family, offset=0.5).estimate.error == contrast.estimate.error
    # Those of another reading lend nothing.
    others = [runs(f"{r.name}@x=y", [v.metrics[QUANTITY] for v in r.finished], folds=True) for r in family]
    assert estimate(DIFFERENCE, *lone, *others).without_sd == ("b", "a")


def test_two_folds_that_happen_to_be_alike_do_not_make_a_model_certain():
    family = runs("c", [2.0, 2.2], folds=True), runs("d", [3.0, 3.3], folds=True)
    assert estimate([(1.0, "a")], runs("a", [2.0, 2.0001], folds=True), *family).estimate.error > 0.05


def test_bartletts_test_looks_at_folds_and_a_claim_says_where_they_vary_unequally():
    draw, loss = np.random.default_rng(0), ("cross_entropy", "test")
    common, lower = draw.normal(0, 1, 9), claim("superiority", metric=loss[0], compare=below("a", "b"))

    def doubt(*deviations):
        made = {"a": [2.0], "b": [3.0]}
        made |= {name: np.exp(common + draw.normal(0, d, 9)) for name, d in zip("cdefgh", deviations, strict=False)}
        verdict = decide(lower, *(runs(name, values, folds=True, quantity=loss) for name, values in made.items()))
        return verdict.comparisons[0].bartlett_p, any(note.kind == "unequal" for note in verdict.notes)

    assert doubt(0.01, 0.01, 0.01, 0.01, 0.01, 2.0) == (pytest.approx(0, abs=0.05), True)
    assert doubt(0.1, 0.1, 0.1, 0.1, 0.1) == (pytest.approx(0.5, abs=0.45), False)


def test_two_metrics_of_one_experiment_keep_what_their_folds_do():
    # log early - log late: 1.0, 1.2, 0.8 and 2.0, 2.2, 1.8, of variance 0.04 around each member's mean.
    early = [np.exp([1.0, 1.2, 0.8]), np.exp([2.0, 2.2, 1.8])]
    family = [add_metric(runs(n, v, folds=True), 1, 1, 1, metric=LATE) for n, v in zip("cd", early, strict=True)]
    lone = add_metric(runs("a", [3.0], folds=True), 1.0, metric=LATE)
    superiority = claim("superiority", compare=below({"experiment": "a", "metric": "late"}, {"experiment": "a"}))
    (part,) = decide(superiority, lone, *family).comparisons
    # Weights are the terms themselves, 3 log early - 1 log late; the latter never differs here.
    assert part.error == pytest.approx(3 * math.sqrt((1 + RATIO) * 0.04))
    # Both members share their folds: 2 degrees of freedom, not 4.
    assert (part.interval[1] - 2.0) / part.error == pytest.approx(4.302653, rel=1e-6)


@pytest.mark.slow
def test_seeds_without_a_difference_are_told_apart_no_more_often_than_said():
    trials = 600

    def rates(draws, tested):
        answers = [decide(tested, runs("a", a), runs("b", b)).answer for a, b in draws]
        return answers.count(AGREES) / trials, answers.count(DISAGREES) / trials

    draw = np.random.default_rng(3).normal(100, 1, (trials, 2, 4))
    assert max(rates(draw, A_BELOW_B)) < 0.025 + 3 * math.sqrt(0.025 / trials)
    same = claim("equivalence", equal=[["a", "b"]], margin=margin(0.03))
    assert rates(draw * np.array([[1.0], [1.03]]), same)[0] < 0.05 + 3 * math.sqrt(0.05 / trials)


def test_another_tokenisation_is_another_task_and_lends_nothing():
    def make_runs(name, values, tokens):
        tokenised = runs(name, values, folds=True)
        tokenised.resolved.config["data"]["options"]["tokens"] = tokens
        return tokenised

    lone = [make_runs(name, [x], "characters") for name, x in (("a", 2.0), ("b", 3.0))]
    others = [make_runs(name, values, "bigrams") for name, values in (("c", [2.0, 2.3]), ("d", [4.0, 4.1]))]
    assert estimate(DIFFERENCE, *lone, *others).without_sd == ("b", "a")
    # A difference of both tasks asks each for a member.
    across = estimate([(1.0, "b"), (-1.0, "c")], *lone, *others)
    assert across.without_sd == ("b", "c")
    member = make_runs("e", [2.0, 2.2], "characters")
    contrast = estimate([(1.0, "b"), (-1.0, "c")], *lone, *others, member).estimate
    # Two folds of three models: a residual is half of a rise less the mean rise, and each has two thirds of a degree.
    rises = np.log([2.2 / 2.0, 2.3 / 2.0, 4.1 / 4.0])
    own = (rises - rises.mean()) ** 2 / 2 / (2 / 3)
    variances = np.array([3.0**2 * own[0], 2.0**2 * own[1:].mean()])
    assert contrast.error == pytest.approx(math.sqrt((1 + RATIO) * variances.sum()))
    assert contrast.df == pytest.approx(variances.sum() ** 2 / (variances**2 / [2 / 3, 4 / 3]).sum())
