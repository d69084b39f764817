"""Whether sweeps are best at the same place, held to tables whose answer is known."""

from __future__ import annotations

import numpy as np
from claims_helpers import claim, decide, margin, runs

from reprise.evidence.verdicts import INCONCLUSIVE, NOT, NOT_RUN, REPRODUCED

SAME = claim(
    "equivalence",
    optimum=[["a", "b", "c"], ["d", "e", "f"]],
    margin=margin(0.1, "absolute"),
)


def sweeps(*means, spread=0.01):
    """One experiment a mean, of three replicas that lie so far apart."""
    names = "abcdef"[: len(means)]
    return [runs(name, [mean - spread, mean, mean + spread]) for name, mean in zip(names, means, strict=True)]


def test_one_place_serves_all_sweeps():
    found = decide(SAME, *sweeps(2.0, 1.0, 2.0, 9.0, 5.0, 6.0))
    assert found.verdict == REPRODUCED
    assert found.sentence.startswith("Lowest in every sweep: B and E. 4 of 4 comparisons are established")
    assert {term["experiment"] for part in found.parts for term in part["terms"]} == set("abcdef")


def test_a_place_that_is_a_little_higher_than_another_serves_as_well():
    # B is 0.05 above A, E 0.05 above F: nothing else is within the margin in both.
    found = decide(SAME, *sweeps(1.0, 1.05, 2.0, 9.0, 5.05, 5.0))
    assert found.verdict == REPRODUCED
    assert found.sentence.startswith("No place is the lowest in every sweep; together the best: B and E.")


def test_optima_apart_are_not_the_same():
    found = decide(SAME, *sweeps(1.0, 2.0, 2.0, 6.0, 6.0, 5.0))
    assert found.verdict == NOT


def test_noise_decides_nothing():
    assert decide(SAME, *sweeps(1.0, 1.0, 1.1, 5.0, 5.0, 5.1, spread=0.5)).verdict == INCONCLUSIVE
    # Lone replicas of which no deviation is known: the best place is named all the same.
    lone = [runs(name, [mean]) for name, mean in zip("abcdef", (2.0, 1.0, 2.0, 9.0, 5.0, 6.0), strict=True)]
    found = decide(SAME, *lone)
    assert found.verdict == INCONCLUSIVE
    assert found.sentence.startswith("Lowest in every sweep: B and E. 0 of 4 comparisons are established")


def test_a_place_chosen_for_its_numbers_is_held_to_a_stricter_level():
    found = [decide(SAME, *sweeps(2.0, 1.0, 2.0, 9.0, 5.0, 5.05, spread=spread)) for spread in (0.01, 0.05, 0.5)]
    assert [decision.verdict for decision in found] == [REPRODUCED, INCONCLUSIVE, INCONCLUSIVE]
    assert "3 of 4 comparisons are established" in found[1].sentence
    assert found[1].sentence.endswith(" Chosen among 3 for its numbers, the place would have to be so at 0.833 %.")


def test_the_replicas_that_are_asked_for_find_the_place_at_the_stricter_level():
    """Normal numbers of the means and deviations that were found, so many of each as the sentence says."""
    given = claim("equivalence", optimum=[["a", "b"], ["c", "d"]], margin=margin(0.5, "absolute"))
    asked = decide(given, *(runs(n, [m - 0.3, m, m + 0.3]) for n, m in zip("abcd", (5.0, 5.0, 5.0, 5.0), strict=True)))
    assert asked.verdict == INCONCLUSIVE
    rng, found = np.random.default_rng(4), 0
    for _ in range(200):
        drawn = rng.normal(5.0, 0.3, (4, asked.replicas))
        found += decide(given, *(runs(n, list(v)) for n, v in zip("abcd", drawn, strict=True))).verdict == REPRODUCED
    # Each of the two comparisons is found in 80 % of cases, at least one of the two places by so many.
    assert found >= 200 * 0.8 - 3 * (200 * 0.8 * 0.2) ** 0.5


def test_where_nothing_is_left_to_compare_no_place_is_called_the_lowest():
    found = decide(SAME, *sweeps(2.0, 1.0, 2.0, 9.0, 5.0), runs("f", [], diverged=2))
    assert found.verdict == INCONCLUSIVE
    assert found.sentence == "There is nothing to compare. Diverged, without a number: 2 of 2 of F."


def test_a_sweep_that_is_not_whole_is_not_run():
    absent = runs("f", [])
    found = decide(SAME, *sweeps(2.0, 1.0, 2.0, 9.0, 5.0), absent)
    assert (found.verdict, found.sentence) == (NOT_RUN, "Not trained yet: F.")


def test_no_place_is_found_more_often_than_the_level_says():
    """In each sweep the best place of the other is worse by just the margin, so that no place serves both."""
    given = claim("equivalence", optimum=[["a", "b"], ["c", "d"]], margin=margin(0.5, "absolute"))
    rng, found = np.random.default_rng(3), 0
    for _ in range(400):
        drawn = rng.normal([[0.0], [0.5], [0.5], [0.0]], 0.2, (4, 4)) + 5
        there = [runs(name, list(values)) for name, values in zip("abcd", drawn, strict=True)]
        found += decide(given, *there).verdict == REPRODUCED
    # Two places, each held to half of 2.5 %.
    assert found <= 400 * 0.025 + 3 * (400 * 0.025) ** 0.5
