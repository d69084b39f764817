"""The checks of document 004: they pass within the tolerances that the paper's file states, and can fail."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from reprise.catalogue.checks import run_check
from reprise.checks import loglinear as llrnn
from reprise.checks import loglinear_numerals as numerals
from reprise.config.project import read_paper
from reprise.models import loglinear
from reprise.models.loglinear import LogLinearRNN

PAPER = read_paper(Path(__file__).parents[3] / "config/papers/llrnn.yaml")[0]
CHECKS = {name: e.check for name, e in PAPER.experiments.items() if e.check}


@pytest.mark.parametrize("name", CHECKS)
def test_checks_hold(name):
    findings = run_check(CHECKS[name].name)
    assert findings
    for finding in findings:
        assert finding.n >= 1
        assert 0 <= finding.error <= CHECKS[name].tolerance, finding


def worst(findings):
    return max(finding.error for finding in findings)


def test_a_model_that_forgets_its_background_fails(monkeypatch):
    def without_b(self, a):
        return torch.log_softmax(torch.sparse.mm(self.phi, a.t()).t(), 1)

    monkeypatch.setattr(LogLinearRNN, "log_p", without_b)
    assert worst(llrnn.background_alone()) > 0.1
    assert worst(numerals.unseen_numerals()) > 0.5, "37 then has its share of a mass that was never given to it"
    assert worst(llrnn.softmax_is_log_linear()) < 1e-10, "the softmax has none"


def test_a_model_that_forgets_a_feature_fails(monkeypatch):
    def without_the_last(self, a):
        return torch.log_softmax(
            self.log_b + torch.sparse.mm(self.phi, a.t()).t() - a[:, -1:] * self.phi.to_dense()[:, -1], 1
        )

    monkeypatch.setattr(LogLinearRNN, "log_p", without_the_last)
    assert worst(llrnn.expected_minus_observed()) > 1e-3
    assert worst(llrnn.softmax_is_log_linear()) > 1e-3


def test_the_note_tells_how_little_the_background_gives_an_unseen_numeral():
    log_b, _ = numerals._of_finite_mass()
    city = math.exp(log_b[numerals.TYPES.index(numerals.CITY)])
    share = numerals.SHRINK ** len(numerals.NUMERAL) / city
    assert f" {100 * share:.0f} % of what it gives {numerals.CITY}" in PAPER.experiments["l13-numerals"].note


def test_numerals_are_not_told_from_cities_by_a_model_that_learns_nothing(monkeypatch):
    monkeypatch.setattr(numerals, "STEPS", 0)
    assert worst(numerals.unseen_numerals()) > 0.5


def test_a_mass_that_is_cut_off_fails(monkeypatch):
    monkeypatch.setattr(numerals, "SHRINK", 0.099)  # so slow that 60 digits are not all there is
    monkeypatch.setattr(numerals, "STEPS", 1)
    (mass,) = (f for f in numerals.unseen_numerals() if f.name.startswith("mass"))
    assert mass.error > 0.1


def test_parameters_and_features_are_counted_for_a_number_of_tags_that_is_said(monkeypatch):
    def with_bias(self, *arguments):
        original(self, *arguments)
        self.second = torch.nn.Parameter(torch.zeros(4 * self.H))

    def features():
        return next(f for f in llrnn.log_linear_parameters() if f.unit == "features")

    original, bare = loglinear.LogLinearRNN.__init__, llrnn.Lexicon.bare
    assert (features().name, features().error) == ("M + 1 + tags features, given 52 tags", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(llrnn.LogLinearRNN, "__init__", with_bias)
        assert worst(llrnn.log_linear_parameters()) == 1024
    monkeypatch.setattr(llrnn, "PARAMETERS", {10: 0})
    monkeypatch.setattr(llrnn.Lexicon, "bare", lambda types, tags: bare(types, tags=tags + 1))
    assert features().error == 1.0
