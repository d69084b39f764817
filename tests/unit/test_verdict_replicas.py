"""What comparisons rest on: replicas that are alike or lack the metric, counted models, and what stands twice."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from claims_helpers import below, claim, decide, margin, runs, welch

from reprise.evidence.runs import Runs
from reprise.evidence.verdicts import DIRECTION, INCONCLUSIVE, REPRODUCED


@pytest.mark.parametrize("n", [3, 6, 7])
def test_replicas_that_are_all_at_the_bound_are_above_and_below_it_no_more_than_chance_says(n):
    at = decide(claim("threshold", level={"experiments": ["a"], "at_least": 0.7}), runs("a", [0.7] * n))
    assert at.verdict == INCONCLUSIVE


def lacking(of: Runs, *numbers: int) -> Runs:
    """The same, of which these replicas finished without the metric."""
    kept = [replace(r, metrics={}) if r.number in numbers else r for r in of.replicas]
    return replace(of, replicas=kept)


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (claim("superiority", compare=below("a", "b")), DIRECTION),
        (claim("non-inferiority", compare=below("a", "b"), margin=margin(0.1)), INCONCLUSIVE),
    ],
)
def test_a_replica_that_finished_without_the_metric_is_missed_as_one_that_diverged(given, verdict):
    a, b = runs("a", [1.0, 1.01, 0.99, 1.02]), runs("b", [2.0, 2.01, 1.99])
    assert decide(given, a, b).verdict == REPRODUCED
    found = decide(given, lacking(a, 3), b)
    assert found.verdict == verdict
    assert found.sentence.endswith(" Finished without the metric: 1 of 4 of A.")
    assert "3 replicas each" in found.sentence


def test_a_counted_model_beside_trained_ones_adds_no_doubt():
    counted = runs("a", [141.0], family="kneser-ney", protocol="word-ngram")
    found = decide(claim("superiority", compare=below("b", "a")), counted, runs("b", [119.0, 120.0, 121.0]))
    assert found.verdict == REPRODUCED
    ((part,), alone) = found.parts, welch([(1.0, [119.0, 120.0, 121.0])])
    assert (part["estimate"], part["error"]) == (21.0, pytest.approx(alone.error))


def test_an_experiment_in_both_differences_of_a_gap_counts_twice_in_it():
    """b - a against c - b: the variance of 2 b is four times that of b."""
    values = {"a": [1.0, 1.1, 0.9], "b": [3.0, 3.2, 2.8], "c": [4.0, 4.3, 3.7]}
    gaps = claim("superiority", gaps=[below("a", "b"), below("b", "c")])
    ((part,), by_hand) = (
        decide(gaps, *(runs(n, v, family=n) for n, v in values.items())).parts,
        welch([(-1.0, values["a"]), (2.0, values["b"]), (-1.0, values["c"])]),
    )
    assert part["estimate"] == pytest.approx(1.0)
    assert part["error"] == pytest.approx(by_hand.error)
    # A lone one borrows its family's deviation, of a perplexity as a share of it, and twice.
    lone = runs("b", [12.0], family="net")
    family = runs("m", [120.0, 126.0, 132.0], family="net")
    ((borrowed,), share) = decide(gaps, *(runs(n, values[n], family=n) for n in "ac"), lone, family).parts, 6.0 / 126.0
    others = welch([(-1.0, values["a"]), (-1.0, values["c"]), (0.0, values["c"])]).error
    assert borrowed["error"] == pytest.approx(math.hypot(others, 2 * 12.0 * share))


def test_what_stands_in_both_differences_of_a_gap_with_one_sign_drops_out():
    gaps = claim("superiority", gaps=[below("a", "c"), below("b", "c")])
    a, b = [1.0, 1.1, 0.9], [3.0, 3.2, 2.8]
    found = decide(gaps, runs("a", a, family="a"), runs("b", b, family="b"), runs("c", [9.0]))
    assert found.verdict == REPRODUCED
    assert found.parts[0]["error"] == pytest.approx(welch([(-1.0, a), (1.0, b)]).error)
    assert "(95 % interval" in found.sentence
