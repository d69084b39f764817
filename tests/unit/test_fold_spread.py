"""Few folds borrow the deviation of their family: by hand, and how often they err where the truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from claims_helpers import below, claim, decide, margin, runs

from reprise.evidence import decide as decisions
from reprise.evidence.verdicts import DIRECTION, INCONCLUSIVE, NOT, REPRODUCED

RATIO = 0.2 / 0.72
A_BELOW_B = claim("superiority", compare=below("a", "b"))
LATE = ("late", "test")
EARLY_ABOVE_LATE = claim("superiority", compare=below({"experiment": "a", "metric": "late"}, "a"))


def folds(name: str, values, **more):
    return runs(name, values, folds=True, **more)


def test_the_deviation_is_that_of_paired_differences_as_a_share_of_the_loss():
    # log L: fold effects 0, 1, 2; differences 0.2, -0.2, 0, of variance 0.04, which is twice that of the residuals.
    logs = np.array([[0.1, 0.9, 2.0], [-0.1, 1.1, 2.0]])
    family = [folds(name, np.exp(row)) for name, row in zip("cd", logs, strict=True)]
    found = decide(A_BELOW_B, folds("a", [2.0]), folds("b", [3.0]), *family, folds("e", [1, 9], family="other"))
    (part,) = found.parts
    assert part["error"] == pytest.approx(math.sqrt((1 + RATIO) * 0.04 / 2 * (2**2 + 3**2)))
    # (2 - 1) (3 - 1) degrees of freedom, not those of every pair of members.
    assert (part["interval"][1] - 1.0) / part["error"] == pytest.approx(4.302653, rel=1e-6)
    assert set(part["borrowed"]) == {"a", "b"}
    assert "1 fold, deviation pooled over the family" in found.sentence


def test_what_all_folds_have_in_common_is_no_deviation():
    """Members that differ by a factor have none between them, in whatever unit their tokens are."""
    base = np.array([1.0, 5.0, 9.0])
    (part,) = decide(A_BELOW_B, folds("a", [2.0]), folds("b", [3.0]), folds("c", base), folds("d", 1.6 * base)).parts
    assert part["error"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "family",
    [
        [],
        [folds("c", [1.0, 2.0, 3.0])],  # one member alone has no differences
        [folds("c", [1.0]), folds("d", [2.0])],
        [folds("c", [1.0, 2.0], family="other"), folds("d", [1.0, 3.0], family="other")],
        [folds("c", [-1.0, 2.0]), folds("d", [-1.0, 3.0])],
    ],
)
def test_without_a_family_of_several_folds_nothing_is_known(family):
    found = decide(A_BELOW_B, folds("a", [2.0]), folds("b", [3.0]), *family)
    assert found.parts[0]["error"] is None
    assert "no interval, since no deviation is known; 1 fold)" in found.sentence


def test_every_family_of_a_comparison_has_to_have_a_member():
    one, other = [folds("c", [1.0, 2.1, 3.0])], [folds("d", [1.0, 2.0, 3.1], family="other")]
    lone = folds("a", [2.0]), folds("b", [3.0], family="other")
    assert decide(A_BELOW_B, *lone, *one).parts[0]["error"] is None
    (part,) = decide(A_BELOW_B, *lone, *one, *other).parts
    logs = np.log([[1.0, 2.1, 3.0], [1.0, 2.0, 3.1]])
    assert part["error"] ** 2 == pytest.approx((1 + RATIO) * np.var(logs[1] - logs[0], ddof=1) / 2 * (2**2 + 3**2))


def test_two_metrics_of_one_experiment_keep_what_their_folds_do():
    # log early - log late: 1.0, 1.2, 0.8 and 2.0, 2.2, 1.8, of variance 0.04 around each member's mean.
    late = np.ones(3)
    early = [np.exp([1.0, 1.2, 0.8]), np.exp([2.0, 2.2, 1.8])]
    family = [folds(name, values, more={LATE: late}) for name, values in zip("cd", early, strict=True)]
    far = [folds(name, values**10, more={LATE: late}) for name, values in zip("cd", early, strict=True)]
    lone = folds("a", [3.0], more={LATE: [1.0]})
    (part,) = decide(EARLY_ABOVE_LATE, lone, *family).parts
    # Weights are the terms themselves, 3 log early - 1 log late; the latter never differs here.
    assert part["error"] == pytest.approx(3 * math.sqrt((1 + RATIO) * 0.04))
    # Both members share their folds: 2 degrees of freedom, not 4.
    assert (part["interval"][1] - 2.0) / part["error"] == pytest.approx(4.302653, rel=1e-6)
    assert decide(EARLY_ABOVE_LATE, lone, *family).verdict != REPRODUCED
    assert decide(EARLY_ABOVE_LATE, lone, *far).parts[0]["error"] > part["error"]


def test_folds_of_another_reading_lend_nothing():
    a, b = folds("a", [1.0, 2.0, 3.0]), folds("b", [2.0, 3.1, 3.9])
    everyone = {"a": a, "b": b, "a@x=y": folds("a@x=y", [1.5]), "c@x=z": folds("c@x=z", [1.0, 2.0, 3.0])}
    found = decisions.decide(A_BELOW_B, {**everyone, "a": everyone["a@x=y"]}, everyone)
    assert found.parts[0]["error"] is None
    everyone["c@x=y"] = folds("c@x=y", [1.0, 2.1, 3.0])
    found = decisions.decide(A_BELOW_B, {**everyone, "a": everyone["a@x=y"]}, everyone)
    assert found.parts[0]["error"] > 0


def test_two_folds_borrow_where_the_family_has_more_freedom():
    logs = np.array([[0.1, 0.9, 2.0], [-0.1, 1.1, 2.0]])
    family = [folds(name, np.exp(row)) for name, row in zip("cd", logs, strict=True)]
    a, b = folds("a", [2.0, 2.0]), folds("b", [3.0, 2.9])
    # Their own differences, 1 and 0.9, have one degree of freedom, as have the residuals of two models on two folds.
    found = decide(A_BELOW_B, a, b)
    assert found.parts[0]["error"] == pytest.approx(math.sqrt((1 / 2 + RATIO) * 0.005))
    assert found.parts[0]["borrowed"] == []
    found = decide(A_BELOW_B, a, b, *family)
    part = found.parts[0]
    assert set(part["borrowed"]) == {"a", "b"}
    assert "2 folds, deviation pooled over the family" in found.sentence
    # 10 numbers, of 4 models on 3 folds: 10 - (4 + 3 - 1) degrees of freedom.
    assert (part["interval"][1] - part["estimate"]) / part["error"] == pytest.approx(2.776445, rel=1e-6)


def test_what_three_folds_say_alone_is_told_where_it_is_another_verdict():
    """Differences 0.2, 1.0 and 0.3: 0.5, of a deviation of 0.436, is 1.47 errors, of which 4.30 would be needed."""
    alike = [folds(name, [10.0] * 3) for name in "cdefg"]
    a, noisy = folds("a", [10.0] * 3), folds("b", [10.2, 11.0, 10.3])
    assert decide(A_BELOW_B, a, noisy).verdict == DIRECTION
    found = decide(A_BELOW_B, a, noisy, *alike)
    assert found.verdict == REPRODUCED
    assert found.sentence.endswith("By the deviation of its own folds alone: direction only.")
    # Two folds know too little; where both say the same, nothing is added.
    for quiet in (
        decide(A_BELOW_B, folds("a", [10.0] * 2), folds("b", [10.2, 11.0]), *alike),
        decide(A_BELOW_B, a, folds("b", [10.5, 10.6, 10.4]), *alike),
    ):
        assert "pooled over the family" in quiet.sentence
        assert "own folds alone" not in quiet.sentence


def test_an_absolute_margin_of_two_models_is_lent_nothing():
    """Where the test errs, the difference is the margin, and what folds add to all losses alike stays in it."""
    logs = np.array([[0.1, 0.9, 2.0], [-0.1, 1.1, 2.0]])
    family = [folds(name, np.exp(row)) for name, row in zip("cd", logs, strict=True)]
    within = claim("non-inferiority", compare=below("a", "b"), margin=margin(5.0, "absolute"))
    found = decide(within, folds("a", [2.0]), folds("b", [3.0]), *family)
    assert (found.verdict, found.parts[0]["p"]) == (INCONCLUSIVE, 1.0)
    # Two folds of their own say how far the difference varies; the bound of one model alone keeps fold effects.
    assert decide(within, folds("a", [2.0, 2.0]), folds("b", [3.0, 2.9]), *family).parts[0]["p"] < 0.025
    low = claim("threshold", level={"experiments": ["a"], "at_most": 5.0})
    assert decide(low, folds("a", [2.0]), *family).parts[0]["p"] < 1.0


TRIALS = 250
NOISE = 3 * math.sqrt(0.025 / TRIALS)


def losses(draw: np.random.Generator, models: int, k: int) -> np.ndarray:
    """(TRIALS, models, k) losses of 1: what folds add to all, and 1 % of each model's own, a part of it common to its
    folds because their training sets overlap (Nadeau and Bengio).
    """
    correlation = RATIO / (1 + RATIO)
    own, common = draw.normal(size=(TRIALS, models, k)), draw.normal(size=(TRIALS, models, 1))
    hard = 0.05 * draw.normal(size=(TRIALS, 1, k))
    return np.exp(hard + 0.01 * (math.sqrt(1 - correlation) * own + math.sqrt(correlation) * common))


def rates(given, tables: np.ndarray, scale: float = 1.0, known: int = 1) -> tuple[float, float]:
    """Shares reproduced and reversed of "a is below b", of which the first folds are known, the others lending."""
    found = []
    for a, b, *family in tables:
        members = [folds(f"m{i}", values) for i, values in enumerate(family)]
        found.append(decide(given, folds("a", a[:known]), folds("b", scale * b[:known]), *members).verdict)
    return found.count(REPRODUCED) / len(tables), found.count(NOT) / len(tables)


@pytest.mark.parametrize(("members", "k"), [(2, 3), (4, 3)])
def test_equal_models_are_told_apart_no_more_often_than_said(members, k):
    for rate in rates(A_BELOW_B, losses(np.random.default_rng(1), 2 + members, k)):
        assert abs(rate - 0.025) < NOISE


def test_equal_models_of_two_folds_are_told_apart_no_more_often_than_said():
    for rate in rates(A_BELOW_B, losses(np.random.default_rng(7), 5, 3), known=2):
        assert abs(rate - 0.025) < NOISE


def test_a_further_fold_makes_no_claim_weaker():
    """Two of eight models differ by 3 %, of which one fold tells a part: every further fold tells no less of them."""
    tables = losses(np.random.default_rng(8), 8, 5)[:60]
    tables[:, 1] *= 1.03
    told = [rates(A_BELOW_B, tables, known=k)[0] for k in (1, 2, 3, 4, 5)]
    assert told == sorted(told)
    assert told[0] < told[-1]


def test_models_at_a_relative_margin_are_within_it_no_more_often_than_said():
    within = claim("non-inferiority", compare=below("a", "b"), margin=margin(0.25))
    reproduced, _ = rates(within, losses(np.random.default_rng(2), 6, 3), scale=0.8)
    assert abs(reproduced - 0.025) < NOISE


def test_members_of_several_folds_that_are_compared_themselves_err_no_more_often():
    """The lone fold of one and the same fold of the other, which has more: its residual is among those that lend."""
    tables = losses(np.random.default_rng(3), 4, 3)
    found = [decide(A_BELOW_B, *(folds(n, v) for n, v in zip("abcd", [t[0][:1], *t[1:]], strict=True))) for t in tables]
    assert sum(f.verdict == REPRODUCED for f in found) / TRIALS < 0.025 + NOISE


def test_two_metrics_of_equal_mean_are_told_apart_no_more_often_than_said():
    """Fold effects of the two metrics are drawn apart, so that they stay in the difference."""
    one, other = (losses(np.random.default_rng(seed), 4, 3) for seed in (4, 5))
    verdicts = []
    for early, late in zip(one, other, strict=True):
        members = [folds(f"m{i}", early[i], more={LATE: late[i]}) for i in (1, 2, 3)]
        verdicts.append(decide(EARLY_ABOVE_LATE, folds("a", early[0][:1], more={LATE: late[0][:1]}), *members).verdict)
    assert verdicts.count(REPRODUCED) / TRIALS < 0.025 + NOISE


def test_gaps_of_tokens_of_different_length_err_no_more_often_than_said():
    """Four models, two of them with losses 1.6 times as high: both gaps are zero."""
    gaps = claim("superiority", gaps=[below("a", "b"), below("c", "d")])
    tables = losses(np.random.default_rng(6), 8, 3)
    found = []
    for values in tables:
        four = [folds(n, (1.6 if n in "ab" else 1.0) * v[:1]) for n, v in zip("abcd", values[:4], strict=True)]
        members = [folds(f"m{i}", v) for i, v in enumerate(values[4:])]
        found.append(decide(gaps, *four, *members).verdict)
    assert abs(found.count(REPRODUCED) / TRIALS - 0.025) < NOISE


def test_gaps_with_an_experiment_in_both_differences_err_no_more_often_than_said():
    gaps = claim("superiority", gaps=[below("a", "b"), below("b", "c")])
    verdicts = []
    for values in losses(np.random.default_rng(9), 6, 3):
        three = [folds(n, v[:1]) for n, v in zip("abc", values[:3], strict=True)]
        verdicts.append(decide(gaps, *three, *(folds(f"m{i}", v) for i, v in enumerate(values[3:]))).verdict)
    for verdict in (REPRODUCED, NOT):
        assert abs(verdicts.count(verdict) / TRIALS - 0.025) < NOISE
