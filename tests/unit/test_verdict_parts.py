"""Claims of several parts and of few replicas: which part decides, what is borrowed, what is said."""

from __future__ import annotations

import math
from dataclasses import replace

from claims_helpers import below, claim, decide, margin, runs, with_unit
from scipy import stats

from reprise.evidence import identities
from reprise.evidence.runs import Replica, Runs
from reprise.evidence.statistics import replicas_needed
from reprise.evidence.verdicts import DIRECTION, INCONCLUSIVE, NOT, REPRODUCED, Part, judge
from reprise.records.resolved import Resolved

LOW, HIGH = [10.0, 10.2, 9.8], [12.0, 12.2, 11.8]
A_BELOW_B = claim("superiority", compare=below("a", "b"))


def test_all_parts_together_are_tested_after_holm():
    # Each alone is below 0.025; of two, Holm asks 0.0125 of the smaller.
    assert judge("ordering", [Part(2.0, 1.0, 0.02, 0.98)]) == REPRODUCED
    assert judge("ordering", [Part(2.0, 1.0, 0.02, 0.98)] * 2) == DIRECTION
    assert judge("ordering", [Part(2.0, 1.0, 0.012, 0.98), Part(2.0, 1.0, 0.02, 0.98)]) == REPRODUCED


def test_a_claim_that_fails_shows_the_part_on_which_it_does():
    order = claim("ordering", order=["a", "b", "c"])
    a, b, c = ([x, x + 0.1, x - 0.1] for x in (1.0, 3.0, 2.0))
    found = decide(order, runs("a", a), runs("b", b), runs("c", c))
    assert found.verdict == NOT
    assert found.sentence.startswith("1 of 2 comparisons are established, 1 lies on the other side; it fails on: ")
    assert "it fails on: Test perplexity 3.000 (B) against 2.000 (C)" in found.sentence
    # Of two that are next to nothing beside the paper's, the one that is so surely.
    near = [runs("a", [1.0, 1.3, 0.7], paper=1.0), runs("b", [1.1, 1.11, 1.09], paper=2.0)]
    found = decide(order, *near, runs("c", [1.1, 1.11, 1.09], paper=9.0))
    assert found.verdict == NOT
    assert "it fails on: Test perplexity 1.10" in found.sentence
    assert found.sentence.endswith(" At 95 % that is less than a tenth of the paper's difference.")


def test_next_to_nothing_is_measured_in_the_unit_that_the_paper_states():
    """The paper's difference is 1: a tenth of it 0.1 nats, but of bits 0.069. Ours is at most something between."""
    order = claim("ordering", order=["a", "b"])
    a, b = [2.0, 2.03, 1.97], [2.01] * 3
    wide = [runs(name, v, paper=p, unit="nats/token") for name, v, p in (("a", a, 1.0), ("b", b, 2.0))]
    interval = decide(order, *wide).parts[0]["interval"]
    assert 0.1 * math.log(2) < interval[1] < 0.1
    for unit, verdict in (("nats/token", NOT), ("bits/token", INCONCLUSIVE), ("bits/character", INCONCLUSIVE)):
        assert decide(order, *(replace(r, entry=with_unit(r.entry, unit)) for r in wide)).verdict == verdict


def test_a_difference_that_is_established_is_there_however_small_beside_others_too():
    small = Part(1.0, 0.1, 1e-4, 1.0, negligible=True)
    undecided, gone = Part(0.5, 0.6, 0.2, 0.8), Part(0.5, 0.6, 0.2, 0.8, negligible=True)
    assert judge("ordering", [small]) == REPRODUCED
    assert judge("ordering", [small, undecided]) == INCONCLUSIVE
    assert judge("ordering", [small, gone]) == NOT


def test_parts_say_the_units_of_both_numbers():
    given = [runs("a", LOW, paper=1.0, unit="nats/token"), runs("b", HIGH, paper=2.0, unit="nats/token")]
    (same,) = decide(A_BELOW_B, *given).parts
    assert (same["unit"], same["paper"], same["paper_unit"], same["paper_here"]) == ("nats/token", 1.0, None, 1.0)
    (bits,) = decide(A_BELOW_B, *(replace(r, entry=with_unit(r.entry, "bits/token")) for r in given)).parts
    assert (bits["paper"], bits["paper_unit"]) == (1.0, "bits/token")
    assert math.isclose(bits["paper_here"], math.log(2))


def test_a_second_replica_of_each_weakens_no_claim():
    family = [runs(n, [x, x + 0.5, x - 0.5]) for n, x in (("c", 20.0), ("d", 21.0), ("e", 22.0))]
    one = decide(A_BELOW_B, runs("a", [10.0]), runs("b", [13.0]), *family)
    two = decide(A_BELOW_B, runs("a", [10.0, 10.4]), runs("b", [13.0, 13.1]), *family)
    assert (one.verdict, two.verdict) == (REPRODUCED, REPRODUCED)
    assert two.parts[0]["borrowed"] == ["b", "a"]
    assert "2 replicas each, deviation pooled over the family" in two.sentence
    # Three have a deviation of their own, and so have two of a family that knows no more than they do.
    assert decide(A_BELOW_B, runs("a", LOW), runs("b", HIGH), *family).parts[0]["borrowed"] == []
    alone = decide(A_BELOW_B, runs("a", [10.0, 10.4], family="x"), runs("b", [13.0, 13.1], family="y"))
    assert alone.parts[0]["borrowed"] == []


def test_a_part_against_a_claim_decides_it_before_the_harder_ones_do():
    order = claim("ordering", order=["a", "b", "c"])
    a, b, c = [1.0, 1.5, 0.5], [1.01, 1.51, 0.51], [0.5, 1.0, 0.0]
    found = decide(order, runs("a", a), runs("b", b), runs("c", c))
    assert found.verdict == INCONCLUSIVE
    # 0.01 of a deviation of 0.5 would take thousands; 0.51 against the claim is found long before.
    variance = 0.25
    bound = [stats.t.isf(0.025 / 2, 2 * (n - 1)) for n in range(2, 100)]
    power = [
        stats.nct.sf(t, 2 * (n - 1), 0.51 / math.sqrt(2 * variance / n))
        for n, t in zip(range(2, 100), bound, strict=True)
    ]
    assert found.replicas == 2 + next(i for i, p in enumerate(power) if p >= 0.8)
    assert decide(order, runs("a", a), runs("b", b), runs("c", [9.0, 9.1, 8.9])).replicas is None


def test_the_interval_of_a_share_stays_within_what_there_can_be():
    given = claim("threshold", level={"experiments": ["a"], "at_least": 0.5})
    found = decide(given, runs("a", [1.0, 0.98, 0.99], unit="share"))
    assert " to 1.0000;" in found.sentence
    assert " to 1.0" in decide(given, runs("a", [1.0, 0.98, 0.99])).sentence
    assert " to 1.0000;" not in decide(given, runs("a", [1.0, 0.98, 0.99])).sentence
    assert "(A; all alike; 3 replicas), at least 0.5 asked" in decide(given, runs("a", [1.0] * 3)).sentence


def test_what_lacks_a_second_replica_is_named():
    sentence = decide(A_BELOW_B, runs("a", [10.0], family="x"), runs("b", HIGH, family="y")).sentence
    assert sentence.endswith(" A second replica of A would show how far replicas differ.")
    # Of B, a lone one as well, the family knows how far.
    family = runs("c", [20.0, 20.5, 19.5], family="y")
    alone = decide(A_BELOW_B, runs("a", [10.0], family="x"), runs("b", [12.0], family="y"), family)
    assert alone.sentence.endswith(" A second replica of A would show how far replicas differ.")
    # Where both are of one family, what one shows serves the other.
    both = decide(A_BELOW_B, runs("a", [10.0], family="x"), runs("b", [12.0], family="x"))
    assert both.sentence.endswith(" A second replica of either would show how far replicas differ.")
    shown = decide(A_BELOW_B, runs("a", [10.0, 10.1], family="x"), runs("b", [12.0], family="x"))
    assert "A second replica" not in shown.sentence
    apart = decide(A_BELOW_B, runs("a", [10.0], family="x"), runs("b", [12.0], family="y"))
    assert apart.sentence.endswith(" A second replica of each would show how far replicas differ.")


def test_an_identity_that_holds_names_the_error_that_comes_nearest_to_its_tolerance():
    exact, timed = (
        Runs(
            name, "", Resolved("p", name, "quick", "t", 1, {"tolerance": bound}, {}, None), runs("a", LOW).entry, [one]
        )
        for name, bound, one in (
            ("exact", 0.0, Replica(0, None, True, {("max_error", "operations"): 0.0})),
            ("timed", 0.1, Replica(0, None, True, {("max_error", "K = 2"): 0.01, ("max_error", "K = 9"): 0.06})),
        )
    )
    found = identities.decide(claim("identity", checks=["exact", "timed"]), {"exact": exact, "timed": timed})
    said = "Largest error of 3 comparisons, by its tolerance: K = 9, 0.06 (tolerance 0.1)."
    assert (found.verdict, found.sentence) == (REPRODUCED, said)


def test_replicas_are_told_in_the_order_in_which_experiments_are_named():
    gaps = claim("ordering", gaps=[below("a", "b"), below("c", "d")])
    there = [
        runs(name, [x + 0.1 * i for i in range(n)])
        for name, x, n in zip("abcd", (1, 5, 2, 3), (3, 4, 5, 6), strict=True)
    ]
    sentence = decide(gaps, *there).sentence
    assert "between A and B against" in sentence
    assert "3, 4, 5 and 6 replicas" in sentence
    assert "3 and 4 replicas" in decide(A_BELOW_B, *there).sentence


def test_a_number_that_the_paper_does_not_print_is_not_called_the_papers():
    def said(*origins):
        there = [runs(name, v, paper=v[0], origin=o) for name, v, o in zip("ab", (LOW, HIGH), origins, strict=True)]
        return decide(A_BELOW_B, *there).sentence.rpartition("). ")[2]

    assert said("paper Table 1", "paper §5") == "In the paper 2 lower."
    assert said("author's log", "author's log") == "In the author's log 2 lower."
    assert said("paper Table 1", "author's log") == "In the paper and the author's log 2 lower."
    assert said(*["ours: counted in its texts"] * 2) == "Of the original, counted in its texts: 2 lower."


def test_a_mean_is_held_to_two_bounds():
    within = claim("threshold", level={"experiments": ["a"], "at_least": 0.35, "at_most": 0.45})
    for value, verdict in ((0.4, REPRODUCED), (0.3, NOT), (0.5, NOT)):
        found = decide(within, runs("a", [value, value + 0.01, value - 0.01]))
        assert (found.verdict, len(found.parts)) == (verdict, 2)


def test_the_opposite_of_an_equivalence_needs_the_replicas_of_the_level_it_is_tested_at():
    near = claim("equivalence", equal=[["a", "b"]], margin=margin(0.5, "absolute"))
    a, b = [10.0, 10.6, 9.4], [11.0, 11.6, 10.4]
    found = decide(near, runs("a", a), runs("b", b))
    assert found.verdict == INCONCLUSIVE
    # Two tests at 5 % refute it where the smaller p is at most 2.5 %.
    assert found.replicas == replicas_needed(0.5, [0.36, 0.36], tail=0.025)
