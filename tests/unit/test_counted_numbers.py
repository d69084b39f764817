"""Numbers without chance among those with it, and points of curves, as claims read them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from claims_helpers import below, claim, decide, runs

from reprise.config.project import load_project
from reprise.errors import UserError
from reprise.evidence.claims import _check_metrics
from reprise.evidence.runs import Replica, _points, _replica
from reprise.evidence.verdicts import REPRODUCED

ROOT = Path(__file__).parents[2]
GOOD, BAD = ("good_order_2", "phrases"), ("bad_order_2", "phrases")
RECORD = {
    "replica": 1,
    "fold": None,
    "status": "finished",
    "metrics": [{"metric": "words_in_book", "split": "sample", "value": 0.9, "unit": "share", "n": 7}],
    "samples": [],
    "curves": [
        {"metric": "words_in_book", "split": split, "unit": "share", "axis": "step", "x": [0, 250.0, 750], "y": values}
        for split, values in (("sample", [0.1, 0.2, 0.6]), ("argmax", [0.3, 0.4, 0.5]))
    ],
}


def test_a_phrase_is_scored_without_chance_whatever_its_replicas():
    """Replicas of the protocol word-order differ in how sentences are shuffled alone."""
    compared = {"compare": below({"experiment": "a", "metric": BAD[0]}, {"experiment": "a", "metric": GOOD[0]})}
    more = {GOOD: [-30.3] * 3, BAD: [-34.6] * 3}
    found = decide(
        claim("superiority", split="phrases", **compared), runs("a", [1.0] * 3, protocol="word-order", more=more)
    )
    assert found.verdict == REPRODUCED
    assert "interval" not in found.sentence
    assert "(counted, without chance)" in found.sentence
    shuffled = claim("threshold", level={"experiments": ["a"], "at_least": 0.5})
    assert "95 % interval" in decide(shuffled, runs("a", [0.91, 0.92, 0.93], protocol="word-order")).sentence


def test_a_claim_reads_the_points_that_it_asks_for():
    found = _replica(RECORD, {"words_in_book@750", "words_in_book@1000"}).metrics
    assert found == {
        ("words_in_book", "sample"): 0.9,
        ("words_in_book@750", "sample"): 0.6,
        ("words_in_book@750", "argmax"): 0.5,
    }
    assert _replica(RECORD).metrics == {("words_in_book", "sample"): 0.9}


def test_the_points_are_those_of_the_papers_claims():
    paper = load_project(ROOT, {"papers": ["books"]}).papers["books"]
    assert _points(paper) == {
        "cross_entropy@0",
        "spaces@250",
        *(f"words_in_book@{step}" for step in (250, 750, 3000, 15000)),
    }


def test_a_point_that_a_tier_does_not_reach_is_told_and_an_unknown_curve_is_refused():
    there = runs("a", [1.0])
    there = replace(there, replicas=[Replica(0, None, True, {}, best={("spaces", "sample"): 0.2})])
    late = claim("threshold", metric="spaces@250", split="sample", level={"experiments": ["a"], "at_least": 0.1})
    _check_metrics(late, {"a": there}, "f: key claims.X")
    assert decide(late, there).sentence.startswith("There is nothing to compare")
    unknown = late.model_copy(update={"metric": "blanks@250"})
    with pytest.raises(UserError, match=r"claims\.X: no record has the metric blanks@250 \(sample\)"):
        _check_metrics(unknown, {"a": there}, "f: key claims.X")
