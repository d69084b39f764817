"""Verdicts from made-up runs: every kind of claim, every verdict, and how often they err on tables of known truth."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from claims_helpers import below, claim, decide, margin, runs, with_unit
from scipy import stats

from reprise.evidence.verdicts import DIRECTION, INCONCLUSIVE, NOT, NOT_RUN, NOT_TESTED, REPRODUCED

LOW, HIGH = [10.0, 10.2, 9.8], [12.0, 12.2, 11.8]
A_BELOW_B = claim("superiority", compare=below("a", "b"))


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (LOW, HIGH, REPRODUCED),
        (HIGH, LOW, NOT),
        ([10.0, 12.0, 11.0], [11.5, 13.5, 11.0], DIRECTION),
        ([10.0, 12.0, 11.0], [10.1, 12.1, 11.0], INCONCLUSIVE),
        ([10.0, 12.0, 11.0], [9.0, 12.0, 11.0], INCONCLUSIVE),
        ([10.0], [12.0], DIRECTION),
        ([12.0], [10.0], INCONCLUSIVE),
        ([], HIGH, NOT_RUN),
    ],
    ids=["apart", "reversed", "more than an error", "less than an error", "other way", "lone", "lone reversed", "none"],
)
def test_superiority(a, b, verdict):
    assert decide(A_BELOW_B, runs("a", a), runs("b", b)).verdict == verdict


def test_the_sentence_has_our_numbers_the_interval_and_the_papers():
    found = decide(A_BELOW_B, runs("a", LOW, paper=131.2), runs("b", HIGH, paper=146.7))
    low, high = stats.ttest_ind(HIGH, LOW, equal_var=False).confidence_interval()
    assert found.sentence == (
        f"Test perplexity 10.00 (A) against 12.00 (B): 2.00 lower (95 % interval {low:.2f} to {high:.2f}; "
        "3 replicas each). In the paper 15.5 lower."
    )
    (part,) = found.parts
    assert part["estimate"] == pytest.approx(2.0)
    assert part["interval"] == pytest.approx((low, high))
    assert part["n"] == {"b": 3, "a": 3}
    assert part["paper"] == pytest.approx(15.5)
    assert found.replicas is None


def test_a_reversed_difference_reads_as_higher():
    sentence = decide(A_BELOW_B, runs("a", HIGH), runs("b", LOW)).sentence
    assert "Test perplexity 12.00 (A) against 10.00 (B): 2.00 higher (95 % interval 1." in sentence


def test_what_is_not_decided_says_how_many_replicas_would_do():
    found = decide(A_BELOW_B, runs("a", [10.0, 12.0, 11.0]), runs("b", [11.5, 13.5, 11.0]))
    # Variances 1 and 1.75: the power of n replicas of each, by the noncentral law.
    n, freedom = found.replicas, 2.75**2 / (1 + 1.75**2)
    power = [
        stats.nct.sf(stats.t.isf(0.025, freedom * (m - 1)), freedom * (m - 1), math.sqrt(m / 2.75)) for m in (n - 1, n)
    ]
    assert power[0] < 0.8 <= power[1]
    assert f"About {n} replicas of each would decide it" in found.sentence
    alike = decide(A_BELOW_B, runs("a", [10.0, 12.0, 11.0]), runs("b", [10.01, 12.0, 11.0]))
    assert alike.replicas is None
    assert "More than 1,000 replicas of each would be needed." in alike.sentence


def test_a_difference_next_to_nothing_beside_the_papers_is_not_reproduced():
    a, b = [10.0, 10.1, 9.9, 10.0], [10.0, 10.1, 9.95, 10.0]
    assert decide(A_BELOW_B, runs("a", a, paper=130.0), runs("b", b, paper=140.0)).verdict == NOT
    assert decide(A_BELOW_B, runs("a", a, paper=130.0), runs("b", b, paper=130.5)).verdict == INCONCLUSIVE


def test_non_inferiority_allows_a_relative_margin_of_the_reference():
    within = claim("non-inferiority", compare=below("a", "b"), margin=margin(0.02))
    reference = [100.0, 100.1, 99.9]
    assert decide(within, runs("a", [101.0, 101.1, 100.9]), runs("b", reference)).verdict == REPRODUCED
    assert decide(within, runs("a", [103.0, 103.1, 102.9]), runs("b", reference)).verdict == NOT
    wide = decide(within, runs("a", [100.0, 104.0, 98.0]), runs("b", reference))
    assert wide.verdict == INCONCLUSIVE
    assert "up to 2 % higher allowed" in wide.sentence


def test_the_relative_margin_counts_the_deviation_of_the_reference():
    # (1 + m) * b - a: with b alone varying, its deviation is stretched by the margin.
    given = claim("non-inferiority", compare=below("a", "b"), margin=margin(0.5))
    (part,) = decide(given, runs("a", [10.0, 10.0, 10.0]), runs("b", [9.0, 10.0, 11.0])).parts
    # As a does not vary, Welch's test is that of 1.5 * b against a number.
    expected = stats.ttest_1samp([13.5, 15.0, 16.5], 10.0, alternative="greater")
    assert part["p"] == pytest.approx(expected.pvalue)


def test_superiority_by_a_margin_is_direction_only_where_it_is_smaller():
    half = claim("superiority", compare=below("a", "b"), margin=margin(0.5))
    assert decide(half, runs("a", [4.0, 4.1, 3.9]), runs("b", [10.0, 10.1, 9.9])).verdict == REPRODUCED
    found = decide(half, runs("a", [8.0, 8.1, 7.9]), runs("b", [10.0, 10.1, 9.9]))
    assert found.verdict == DIRECTION
    assert "at least 50 % lower asked" in found.sentence


def test_equivalence_is_two_one_sided_tests():
    same = claim("equivalence", equal=[["a", "b"]], margin=margin(0.3, "absolute"))
    close = decide(same, runs("a", [10.0, 10.1, 9.9]), runs("b", [10.05, 10.15, 9.95]))
    assert close.verdict == REPRODUCED
    assert close.parts[0]["level"] == 0.9
    assert -0.3 < close.parts[0]["interval"][0] < close.parts[0]["interval"][1] < 0.3
    assert decide(same, runs("a", LOW), runs("b", HIGH)).verdict == NOT
    assert decide(same, runs("a", HIGH), runs("b", LOW)).verdict == NOT
    assert decide(same, runs("a", [10.0, 11.0, 9.0]), runs("b", [10.0, 11.0, 9.1])).verdict == INCONCLUSIVE
    assert decide(same, runs("a", [10.0]), runs("b", [10.0])).verdict == INCONCLUSIVE


def test_relative_equivalence_is_symmetric_about_the_second():
    same = claim("equivalence", equal=[["a", "b"]], margin=margin(0.05))
    b = [100.0, 100.1, 99.9]
    for a, verdict in ((104.0, REPRODUCED), (96.0, REPRODUCED), (106.0, NOT), (94.0, NOT)):
        assert decide(same, runs("a", [a, a + 0.1, a - 0.1]), runs("b", b)).verdict == verdict


def test_an_ordering_holds_if_every_step_does():
    order = claim("ordering", order=["a", "b", "c"])
    a, b, c = ([x, x + 0.1, x - 0.1] for x in (1.0, 2.0, 3.0))
    assert decide(order, runs("a", a), runs("b", b), runs("c", c)).verdict == REPRODUCED
    assert decide(order, runs("a", a), runs("b", c), runs("c", b)).verdict == NOT
    close = decide(order, runs("a", a), runs("b", b), runs("c", [2.1, 2.3, 2.0]))
    assert close.verdict == DIRECTION
    assert close.sentence.startswith("1 of 2 comparisons are established; the least sure: Test perplexity 2.00 (B)")


def test_members_of_a_group_are_not_compared_with_each_other():
    order = claim("ordering", order=[["a", "b"], "c"])
    a, b, c = ([x, x + 0.1, x - 0.1] for x in (1.0, 1.0, 3.0))
    found = decide(order, runs("a", a), runs("b", b), runs("c", c))
    assert (found.verdict, len(found.parts)) == (REPRODUCED, 2)


def test_a_weak_ordering_may_be_flat_but_not_throughout():
    order = claim("ordering", order=["a", "b", "c"], margin=margin(0.05))
    near = [[x, x + 0.01, x - 0.01] for x in (1.0, 1.0, 2.0)]
    assert decide(order, *(runs(n, v) for n, v in zip("abc", near, strict=True))).verdict == REPRODUCED
    flat = [[1.0, 1.01, 0.99]] * 3
    assert decide(order, *(runs(n, v) for n, v in zip("abc", flat, strict=True))).verdict == INCONCLUSIVE


def test_gaps_are_differences_of_differences():
    gaps = claim("ordering", gaps=[below("a", "b"), below("c", "d")])
    a, b, c, d = ([x, x + 0.1, x - 0.1] for x in (10.0, 15.0, 20.0, 21.0))
    found = decide(gaps, runs("a", a), runs("b", b), runs("c", c), runs("d", d))
    assert found.verdict == REPRODUCED
    assert found.parts[0]["estimate"] == pytest.approx(4.0)
    assert "5.00 between A and B against 1.00 between C and D, 4.00 more" in found.sentence
    swapped = decide(gaps, runs("a", c), runs("b", d), runs("c", a), runs("d", b))
    assert swapped.verdict == NOT
    assert "1.00 between A and B against 5.00 between C and D, 4.00 less (95 % interval 3.7" in swapped.sentence


def test_a_level_is_held_to_a_bound():
    a = runs("a", [0.8, 0.81, 0.79])
    for bound, verdict in ((0.5, REPRODUCED), (0.9, NOT)):
        found = decide(claim("threshold", level={"experiments": ["a"], "at_least": bound}), a)
        assert found.verdict == verdict
        assert f"at least {bound} asked" in found.sentence
    assert decide(claim("threshold", level={"experiments": ["a"], "at_most": 0.9}), a).verdict == REPRODUCED


def test_a_level_is_asked_of_several_metrics_of_one_experiment():
    high, low = [0.8, 0.81, 0.79], [0.2, 0.21, 0.19]
    sides = [{"experiment": "a", "split": split} for split in ("one", "other")]
    asked = claim("threshold", level={"experiments": sides, "at_least": 0.5})
    for other, verdict, begins in ((high, REPRODUCED, "2 of 2"), (low, NOT, "1 of 2")):
        a = runs("a", high, more={("perplexity", "one"): high, ("perplexity", "other"): other})
        found = decide(asked, a)
        assert found.verdict == verdict
        assert found.sentence.startswith(f"{begins} comparisons are established")


def test_a_bound_below_0_is_named_with_its_sign():
    for bound, word in (("at_least", "at least"), ("at_most", "at most")):
        found = decide(claim("threshold", level={"experiments": ["a"], bound: -0.5}), runs("a", [-0.1, -0.2, -0.3]))
        assert f"{word} −0.5 asked" in found.sentence


def test_a_count_is_equal_or_it_is_not():
    given = claim("threshold", level={"experiments": ["a"], "equals": 37751})
    for count, verdict in ((37751, REPRODUCED), (37750, NOT), (37752, NOT)):
        found = decide(given, runs("a", [count], protocol="corpus-facts", paper=37751))
        assert found.verdict == verdict
        assert found.sentence == (
            f"Test perplexity {count:,} (A; counted, without chance), exactly 37,751 asked. In the paper 37,751."
        )


def test_a_difference_of_shares_is_at_most_one():
    low, high = runs("a", [0.1, 0.3, 0.8], unit="share"), runs("b", [1.0, 1.0, 1.0], unit="share")
    assert "95 % interval −0.30 to 1.00" in decide(A_BELOW_B, low, high).sentence
    plain = (runs("a", [0.1, 0.3, 0.8]), runs("b", [1.0, 1.0, 1.0]))
    assert "95 % interval −0.30 to 1.50" in decide(A_BELOW_B, *plain).sentence


def test_the_logarithm_of_a_probability_is_at_most_zero():
    quantity = ("expected_log_probability", "hansel")
    level = {"experiments": ["a"], "at_least": -0.7}
    given = claim("threshold", level=level, metric=quantity[0], split=quantity[1])
    there = runs("a", [1.0] * 3, unit="nats", more={quantity: [-0.02, -0.1, -0.2]})
    assert "(A; 95 % interval −0.331 to 0.000; 3 replicas)" in decide(given, there).sentence


def test_a_name_that_ends_in_a_number_and_the_number_are_told_apart():
    quantity = ("words_in_book@250", "sample")
    level = {"experiments": ["a"], "at_least": 0.1}
    given = claim("threshold", level=level, metric=quantity[0], split=quantity[1])
    found = decide(given, runs("a", [1.0] * 3, unit="share", more={quantity: [0.2, 0.22, 0.24]}))
    assert found.sentence.startswith("Share of words that the book has in sampled texts at step 250: 0.220 (A; ")


def test_what_is_counted_has_as_many_decimals_as_its_difference_needs():
    """−39.69 against −40 were 0.3069 apart."""
    facts = (runs(name, [value], protocol="corpus-facts") for name, value in (("a", -40.00136), ("b", -39.69449)))
    sentence = decide(A_BELOW_B, *facts).sentence
    assert sentence.startswith("Test perplexity −40.0014 (A) against −39.6945 (B): 0.3069 lower (counted")


def test_a_text_that_is_to_be_counted_is_not_said_to_be_untrained():
    given = claim("threshold", level={"experiments": ["a"], "equals": 37751})
    found = decide(given, runs("a", [], protocol="corpus-facts", paper=37751))
    assert (found.verdict, found.sentence) == (NOT_RUN, "Not run yet: A.")


def test_an_entropy_has_its_unit_and_the_papers_its_own():
    a, b = runs("a", LOW, paper=1.12, unit="nats/token"), runs("b", HIGH, paper=1.14, unit="nats/token")
    stated = [replace(r, entry=with_unit(r.entry, "bits/character")) for r in (a, b)]
    sentence = decide(A_BELOW_B, *stated).sentence
    assert sentence.startswith("Test perplexity 10.00 nats per token (A) against 12.00 (B): 2.00 lower")
    assert sentence.endswith("In the paper 0.02 lower, printed as bits per character.")
    assert decide(A_BELOW_B, a, b).sentence.endswith("In the paper 0.02 lower.")
    gaps = decide(claim("ordering", gaps=[below("a", "b"), below("b", "a")]), *stated).sentence
    assert "4.00 nats per token more" in gaps
    level = decide(claim("threshold", level={"experiments": ["a"], "at_most": 11}), stated[0]).sentence
    assert level.startswith("Test perplexity 10.00 nats per token (A;")
    assert level.endswith("In the paper 1.12, printed as bits per character.")


def test_what_records_cannot_decide_says_why():
    found = decide(claim("descriptive", reason="It is a matter of taste."))
    assert (found.verdict, found.sentence) == (NOT_TESTED, "It is a matter of taste.")
