"""The committed papers: which claims an alternative reaches once its variants are trained; text8's vocabulary."""

import re
from dataclasses import replace
from functools import cache
from typing import get_args

import pytest
from config_helpers import ROOT, experiments, project

from reprise.catalogue.options.texts import Text8
from reprise.config.schema import Paper
from reprise.evidence.contrasts import list_terms
from reprise.evidence.decisions import read_claims
from reprise.evidence.load import load_runs
from reprise.evidence.runs import Runs, Table
from reprise.evidence.verdicts.alternatives import list_readings
from reprise.evidence.verdicts.decide import decide
from reprise.report.parts.names import name_metric


@cache
def load_untrained(paper: str, tier: str) -> tuple[Paper, dict[str, Runs]]:
    """The paper and its experiments, as if none had been trained."""
    untrained = replace(project(), root=ROOT / "no such folder")
    return project().papers[paper], load_runs(untrained, experiments(tier))[paper]


@pytest.mark.parametrize("tier", ["reduced", "paper"])
@pytest.mark.parametrize("paper", list(project().papers))
def test_what_an_alternative_reaches_hangs_on_the_tier_and_not_on_what_was_trained(paper, tier):
    """Of a claim under each alternative, how many parts it is judged on, and of how many."""
    committed = read_claims(ROOT, tier)[paper]
    definition, table = load_untrained(paper, tier)[0], Table(load_untrained(paper, tier)[1])
    for key, entry in committed.items():
        claim = definition.claims[key]
        coverage = {
            r.name: [r.comparisons_judged, r.parts]
            for r in list_readings(claim, definition, table, decide(claim, table))
        }
        assert coverage == {name: [under.comparisons_judged, under.of] for name, under in entry.alternatives.items()}, (
            key
        )


@pytest.mark.parametrize("tier", ["paper", "reduced"])
def test_every_family_that_claims_compare_has_a_member_to_borrow_from(tier):
    definition, runs = load_untrained("rrntn", tier)
    compared = {term.experiment for claim in definition.claims.values() for term in list_terms(claim)}
    compared -= {name for name in compared if not runs[name].learns}
    used = {runs[name].family for name in compared if runs[name].resolved} - {None}
    lenders = {r.family for r in runs.values() if r.resolved and r.resolved.replicas > 1}
    assert used <= lenders
    assert {model for model, *_ in used} == {"r-rntn", "gru-lm", "lstm-lm", "m-rnn"}


def test_the_vocabulary_of_text8_is_asked_under_every_rule():
    definition, runs = load_untrained("rrntn", "paper")
    rules = get_args(Text8.model_fields["vocabulary_rule"].annotation)
    data_options = [r.resolved.config["data"]["options"] for name, r in runs.items() if name.startswith("text8-corpus")]
    assert sorted(options["vocabulary_rule"] for options in data_options) == sorted(rules)
    assert definition.claims["R24"].level.equals == runs["text8-corpus"].get_reported(("vocabulary", "all")) == 37751


def test_every_claim_has_a_label_and_a_set_afterwards_mark_where_its_criterion_says_so():
    for key, claim in ((key, claim) for paper in project().papers.values() for key, claim in paper.claims.items()):
        assert 0 < len(claim.label) <= 60, key
        criterion = (claim.criterion or "") + (claim.margin.origin if claim.margin else "")
        assert claim.afterwards or not re.search(r"when the numbers? (was|were) known", criterion), key


def test_no_claim_is_about_a_key():
    claims = [claim for paper in project().papers.values() for claim in paper.claims.values()]
    names = {name_metric(term.metric, term.split) for claim in claims for _, term in claim.list_sides()}
    keys = re.compile(r"_|/all|\bmark \d|\border \d|halved|\b(all|train|tests|phrases|bird|hamlet|start) ")
    assert len(names) > 50
    assert not [words for words in names if keys.search(words.replace("before training", ""))]
