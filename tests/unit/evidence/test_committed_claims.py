"""The committed papers: which claims an alternative reaches once its variants are trained; text8's vocabulary."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from reprise.catalogue.datasets import PREPARATIONS
from reprise.config.claims import Claim
from reprise.config.project import Project, load_project
from reprise.config.resolve import resolve_tier
from reprise.config.schema import Paper
from reprise.evidence.contrasts import terms_of
from reprise.evidence.runs import Runs, Table, load_runs
from reprise.evidence.verdicts.alternatives import readings
from reprise.evidence.verdicts.decide import decide
from reprise.evidence.words.reductions import COUNTED, changes

ROOT = Path(__file__).parents[3]
S_RNN = ("loss-reduction=mean", "weight-deviation=deviation", "bias-law=zero", "initial-state=one", "schedule=rnnlm")


@cache
def project() -> Project:
    return load_project(ROOT)


@cache
def there(paper: str, tier: str) -> tuple[Paper, dict[str, Runs]]:
    """The paper and its experiments, as if none had been trained."""
    elsewhere = replace(project(), root=ROOT / "no such folder")
    return project().papers[paper], load_runs(elsewhere, resolve_tier(project(), tier))[paper]


def parts(paper: str, tier: str, key: str) -> dict[str, list[int]]:
    """Of a claim under each alternative, how many parts it is judged on, and of how many."""
    given, runs = there(paper, tier)
    claim: Claim = given.claims[key]
    table = Table(runs)
    found = readings(claim, given, table, decide(claim, table))
    return {reading.name: [reading.looked_at, reading.parts] for reading in found}


@pytest.mark.parametrize(("claim", "looked_at"), {"R1": [1, 1], "R9": [5, 5], "R20": [1, 2]}.items())
def test_claims_on_the_calibrated_number_are_judged_under_every_alternative(claim, looked_at):
    found = parts("rrntn", "paper", claim)
    assert {name: found.get(name) for name in S_RNN} == dict.fromkeys(S_RNN, looked_at)


@pytest.mark.parametrize("tier", ["reduced", "paper"])
@pytest.mark.parametrize(
    ("alternative", "looked_at"),
    [
        ("learning-rate=smaller", {"G1": [3, 3], "G5": [4, 8], "G5-mi-rnn": [4, 4], "G6": [1, 1], "G8": [1, 1]}),
        ("learning-rate=larger", {"G1": [3, 3], "G5": [4, 8], "G5-mi-rnn": [4, 4], "G6": [1, 1], "G8": [1, 1]}),
        ("clipping=norm-1", {"G1": [2, 3], "G2": [2, 4], "G3": [4, 8], "G4": [1, 1], "G7": [3, 4], "G8": [1, 1]}),
        ("initial-values=glorot", {"G1": [2, 3], "G3": [2, 8], "G5": [3, 8], "G8": [1, 1]}),
        ("loss-reduction=lines", {"G1": [2, 3], "G3": [2, 8], "G8": [1, 1]}),
        ("bias-start=zero", {"G8": [1, 1]}),
        ("bias-start=wide", {"G8": [1, 1]}),
        (
            "figure-1-terms=kept",
            {"G9": [2, 5], "G10": [2, 5], "G12": [1, 1], "G12-low": [1, 1], "G13": [4, 4], "G15": [2, 2],
             "G15-late": [1, 1]},
        ),
        ("average=macro", {f"G{i}": None for i in [*range(1, 14), "10-same"]}),
        ("yardstick-lines=with-valid", {"G18": [10, 10]}),
    ],
)  # fmt: skip
def test_claims_of_document_000_are_judged_under_alternatives(tier, alternative, looked_at):
    for claim, expected in looked_at.items():
        found = parts("gso", tier, claim)[alternative]
        assert found == (expected or [found[1], found[1]]), claim


def test_an_alternative_leaves_what_the_paper_fixes_and_what_it_is_not_about():
    """The identity of a recall network is section 2.4's; a mean over lines says nothing of places of a word."""
    for name in ("scale-0-8", "scale-1-2"):
        assert parts("lecture", "reduced", "C7")[f"recurrent-law={name}"] == [6, 6]
    assert not [key for key in ("G15", "G15-late") if "average=macro" in parts("gso", "reduced", key)]


@pytest.mark.parametrize("tier", ["reduced", "paper"])
def test_models_of_document_004_are_compared_within_one_accounting_of_tokens(tier):
    # The tier "reduced" states the accounting again, for its own dataset: models still rest on the assumption.
    for name in ("surface", "words"):
        found = {key: parts("llrnn", tier, key).get(f"token-accounting={name}") for key in ("L1", "L2", "L3", "L5")}
        assert found == {"L1": [2, 16], "L2": [0, 7], "L3": [0, 4], "L5": [2, 2]}


def test_every_count_that_has_words_is_reduced_somewhere():
    there_ = [
        runs for tier in ("quick", "reduced") for paper in project().papers for runs in there(paper, tier)[1].values()
    ]
    assert {option for runs in there_ for option in changes(runs.entry, runs.resolved)} >= COUNTED.keys()


@pytest.mark.parametrize("tier", ["paper", "reduced"])
def test_every_family_that_claims_compare_has_a_member_to_borrow_from(tier):
    given, runs = there("rrntn", tier)
    compared = {term.experiment for claim in given.claims.values() for term in terms_of(claim)}
    compared -= {name for name in compared if not runs[name].learns}
    used = {runs[name].family for name in compared if runs[name].resolved} - {None}
    lenders = {r.family for r in runs.values() if r.resolved and r.resolved.replicas > 1}
    assert used <= lenders
    assert {model for model, *_ in used} == {"r-rntn", "gru-lm", "lstm-lm", "m-rnn"}


def test_the_vocabulary_of_text8_is_asked_under_every_rule():
    given, runs = there("rrntn", "paper")
    rules = PREPARATIONS["text8"].options["vocabulary_rule"]
    there_ = [r.resolved.config["data"]["options"] for name, r in runs.items() if name.startswith("text8-corpus")]
    assert sorted(options["vocabulary_rule"] for options in there_) == sorted(rules)
    assert parts("rrntn", "paper", "R24") == {
        f"text8-vocabulary={name}": [1, 1] for name in given.assumptions["text8-vocabulary"].alternatives
    }
    assert given.claims["R24"].level.equals == runs["text8-corpus"].reported(("vocabulary", "all")) == 37751


@pytest.mark.parametrize("paper", list(project().papers))
def test_every_claim_has_a_label_and_a_set_afterwards_mark_where_its_criterion_says_so(paper):
    for key, claim in project().papers[paper].claims.items():
        assert 0 < len(claim.label) <= 60, key
        said = (claim.criterion or "") + (claim.margin.origin if claim.margin else "")
        if "when the number was known" in said or "when the numbers were known" in said:
            assert claim.afterwards, key
