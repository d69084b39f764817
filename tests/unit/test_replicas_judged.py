"""What verdicts make of seeds, folds, lone and diverged replicas, and how often they err where the truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from claims_helpers import QUANTITY, below, claim, curves, decide, margin, runs

from reprise.data.text.character_lines import TEST, TRAIN, assign_folds
from reprise.evidence import decide as decisions
from reprise.evidence.verdicts import DIRECTION, INCONCLUSIVE, NOT, REPRODUCED

RATIO = 0.2 / 0.72  # of five folds: one is tested, nine tenths of the others are trained on
LOW, HIGH = [10.0, 10.2, 9.8], [12.0, 12.2, 11.8]
A_BELOW_B = claim("superiority", compare=below("a", "b"))


# Deviations of 9, 11 and of 20, 20, 23, pooled with 3 degrees of freedom: of a loss in its unit, of a perplexity as a
# share of the means 10 and 21, of which a lone replica at 10 and one at 20 take theirs.
LENT = {"loss": 2 * (2 + 6) / 3, "perplexity": (10**2 + 20**2) * (2 / 10**2 + 6 / 21**2) / 3}


@pytest.mark.parametrize("metric", LENT)
def test_a_lone_replica_borrows_the_deviation_of_its_family_and_says_so(metric):
    def of(name, values, **more):
        return runs(name, values, more={("loss", "test"): values}, **more)

    terms = [{"experiment": name, "metric": metric, "split": "test"} for name in "ab"]
    family = [of("c", [9.0, 11.0]), of("d", [20.0, 20.0, 23.0])]
    strangers = of("e", [1.0, 1000.0], family="other")
    a_below_b = claim("superiority", compare=below(*terms))
    found = decide(a_below_b, of("a", [10.0]), of("b", [20.0]), *family, strangers)
    (part,) = found.parts
    assert part["error"] == pytest.approx(math.sqrt(LENT[metric]))
    assert set(part["borrowed"]) == {"a", "b"}
    assert "deviation pooled over the family" in found.sentence
    low, high = part["interval"]
    assert (low + high) / 2 == pytest.approx(10.0)
    assert high - 10.0 == pytest.approx(3.182446 * part["error"], rel=1e-6)
    assert found.verdict == REPRODUCED


@pytest.mark.parametrize(
    ("other", "words"),
    [([18.0, 20.0, 22.5], "over the family)"), ([10.0, 20.0, 32.0], "own differ (Bartlett's test: p = 0.013))")],
)
def test_a_family_whose_members_deviations_differ_is_said_to_be_so(other, words):
    # p by scipy.stats.bartlett of the shares of the means: 0.21 and 0.013.
    family = [runs("c", [19.0, 20.0, 20.5]), runs("d", other), runs("e", [20.0])]
    found = decide(A_BELOW_B, runs("a", [10.0]), runs("b", [20.0]), *family)
    assert words in found.sentence


def test_two_that_borrow_from_one_family_count_its_freedom_once():
    # Were the two taken for independent, the error would have 6 degrees of freedom: 2.447 errors, not 3.182.
    family = [runs("c", [19.0, 21.0]), runs("d", [19.0, 20.0, 21.0])]
    (part,) = decide(A_BELOW_B, runs("a", [10.0]), runs("b", [20.0]), *family).parts
    assert (part["interval"][1] - 10.0) / part["error"] == pytest.approx(3.182446, rel=1e-6)


def test_two_metrics_of_one_experiment_are_paired_by_replica():
    train, test = ("loss", "train"), ("loss", "test")
    terms = [{"experiment": "a", "metric": "loss", "split": split} for split in ("train", "test")]
    wide = {train: [1.0, 5.0, 9.0], test: [2.0, 6.1, 9.9]}
    found = decide(claim("superiority", compare=below(*terms)), runs("a", [0.0] * 3, more=wide))
    # Differences 1, 1.1, 0.9 whatever the losses do.
    assert found.verdict == REPRODUCED
    assert found.parts[0]["error"] == pytest.approx(0.1 / math.sqrt(3))


def test_diverged_replicas_have_no_number_and_lower_the_verdict():
    found = decide(A_BELOW_B, runs("a", LOW), runs("b", HIGH, diverged=2))
    assert found.verdict == DIRECTION
    assert "Diverged, without a number: 2 of 5 of B." in found.sentence
    same = claim("equivalence", equal=[["a", "b"]], margin=margin(0.5))
    assert decide(same, runs("a", LOW), runs("b", LOW, diverged=1)).verdict == INCONCLUSIVE
    nothing = decide(A_BELOW_B, runs("a", LOW), runs("b", [], diverged=2))
    assert nothing.verdict == INCONCLUSIVE
    assert "nothing to compare" in nothing.sentence


def test_shares_count_what_a_diverged_replica_reached_before():
    reach = {"metric": "accuracy", "split": "train"}
    most = claim("threshold", share={"experiments": ["a"], "reaches": 1.0, "at_least": 0.5}, **reach)
    none = claim("threshold", share={"experiments": ["a"], "reaches": 1.0, "at_most": 0.5}, **reach)
    all_of_ten = curves("a", [1.0] * 8, diverged=[1.0, 1.0])
    assert decide(most, all_of_ten).verdict == REPRODUCED
    assert decide(none, all_of_ten).verdict == NOT
    said = "Reached by 10 of 10 (A) replicas, 95 % interval 69.2 % to 100 %; fewer than 50 % asked. "
    assert decide(none, all_of_ten).sentence == f"{said}Diverged, counted by what they reached before: 2 of 10 of A."
    half = decide(most, curves("a", [1.0] * 6 + [0.9] * 4))
    assert half.verdict == INCONCLUSIVE
    assert half.replicas == 199
    assert "Reached by 6 of 10 (A) replicas, 95 % interval 26.2 % to 87.8 %" in half.sentence
    assert decide(most, curves("a", [1.0] * 7 + [0.9] * 3)).verdict == DIRECTION


def test_folds_are_paired_and_corrected():
    # The folds differ by far more than the models; paired they tell them apart.
    easy = [1.0, 5.0, 9.0, 3.0, 7.0]
    a, b = runs("a", easy, folds=True), runs("b", [x + d for x, d in zip(easy, [1, 1.1, 0.9, 1, 1], strict=True)])
    b = runs("b", [r.metrics[QUANTITY] for r in b.replicas], folds=True)
    found = decide(A_BELOW_B, a, b)
    assert found.verdict == REPRODUCED
    assert found.method == "paired by fold, variance after Nadeau and Bengio with n_test / n_train = 0.278"
    assert found.parts[0]["error"] == pytest.approx(math.sqrt((1 / 5 + RATIO) * 0.005))
    assert "5 folds" in found.sentence


def test_the_ratio_is_that_of_the_lines_of_a_fold():
    part = assign_folds(lines=49199, folds=5, seed=0)[0]
    tested, trained = (part == TEST).sum(), (part == TRAIN).sum()
    assert runs("a", [1.0] * 5, folds=True).fold_ratio == pytest.approx(tested / trained, rel=1e-3)


def test_only_folds_that_both_have_are_compared():
    found = decide(A_BELOW_B, runs("a", [1.0, 2.0, 3.0], folds=True), runs("b", [2.0, 3.1], folds=True))
    assert found.parts[0]["n"] == {"b": 2, "a": 2}
    assert found.parts[0]["estimate"] == pytest.approx(1.05)


def test_a_reading_lends_to_its_own_variants_alone():
    quiet, wild = [100.0, 100.1, 99.9], [100.0, 160.0, 60.0]
    chosen = [runs("a", [110.0]), runs("b", [130.0]), runs("c", quiet)]
    variants = [runs("a@x=y", [111.0]), runs("b@x=y", [131.0])]
    under = {r.name: r for r in (*chosen, *variants)}
    under |= {"a": under["a@x=y"], "b": under["b@x=y"]}

    def errors(*more):
        everyone = {r.name: r for r in (*chosen, *variants, *more)}
        read = {**everyone, "a": everyone["a@x=y"], "b": everyone["b@x=y"]}
        found = decisions.decide(A_BELOW_B, everyone, everyone), decisions.decide(A_BELOW_B, read, everyone)
        return [decision.parts[0]["error"] for decision in found]

    alone, unknown = errors()
    assert (alone, unknown) == (pytest.approx(0.001 * math.hypot(110.0, 130.0)), None)
    # Replicas of a variant lend to variants of the same reading, and to nobody else.
    same = errors(runs("d@x=y", wild))
    assert same[0] == alone
    assert same[1] > 10
    assert errors(runs("d@x=z", wild), runs("e@w=y", quiet)) == [alone, None]


def test_what_is_counted_needs_no_second_replica():
    text = runs("a", [0.41], protocol="corpus-facts")
    found = decide(claim("threshold", level={"experiments": ["a"], "at_least": 0.4}), text)
    assert (found.verdict, found.parts[0]["interval"]) == (REPRODUCED, (0.41 - 0.4, 0.41 - 0.4))
    assert "counted, without chance" in found.sentence


TRIALS = 1000


def rates(verdicts: list[str]) -> tuple[float, float]:
    return sum(v == REPRODUCED for v in verdicts) / len(verdicts), sum(v == NOT for v in verdicts) / len(verdicts)


def test_seeds_without_a_difference_are_told_apart_no_more_often_than_said():
    draw = np.random.default_rng(3).normal(100, 1, (TRIALS, 2, 4))
    reproduced, reversed_ = rates([decide(A_BELOW_B, runs("a", a), runs("b", b)).verdict for a, b in draw])
    assert reproduced < 0.025 + 3 * math.sqrt(0.025 / TRIALS)
    assert reversed_ < 0.025 + 3 * math.sqrt(0.025 / TRIALS)


def test_folds_without_a_difference_are_told_apart_no_more_often_than_said():
    draw = np.random.default_rng(4)
    correlation = RATIO / (1 + RATIO)
    own, common = draw.normal(size=(TRIALS, 5)), draw.normal(size=(TRIALS, 1))
    differences = math.sqrt(1 - correlation) * own + math.sqrt(correlation) * common
    base = [3.0, 1.0, 4.0, 1.0, 5.0]
    found = [
        decide(A_BELOW_B, runs("a", base, folds=True), runs("b", list(base + d), folds=True)).verdict
        for d in differences
    ]
    for rate in rates(found):
        assert abs(rate - 0.025) < 3 * math.sqrt(0.025 / TRIALS)


def test_models_at_the_margin_are_called_equivalent_no_more_often_than_said():
    same = claim("equivalence", equal=[["a", "b"]], margin=margin(3.0, "absolute"))
    draw = np.random.default_rng(5).normal(0, 1, (TRIALS, 2, 5)) + np.array([[0.0], [3.0]])
    reproduced, _ = rates([decide(same, runs("a", a), runs("b", b)).verdict for a, b in draw])
    assert reproduced < 0.05 + 3 * math.sqrt(0.05 / TRIALS)
