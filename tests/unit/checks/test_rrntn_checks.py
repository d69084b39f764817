"""Checks of document 001: parameters as printed and as equal, and the cost of a word against K."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprise.catalogue.checks import run_check
from reprise.checks import rntn as rrntn
from reprise.config.strict_yaml import load_yaml


def test_parameters_of_rows_by_hand():
    exact = {"s-RNN 100, PTB": 2_020_100, "RNTN 100, PTB": 103_010_000, "m-RNN 100, PTB": 3_030_100}
    exact |= {"r-RNTN 150, PTB": 5_275_000, "r-RNTN 150, text8": 19_879_451, "r-GRU 244, PTB": 15_523_360}
    exact |= {"LSTM 650, PTB": 16_392_600, "RNTN 100, text8": 388_873_051}
    assert {row: rrntn.parameters(row) for row in exact} == exact
    reported = load_yaml(Path("config/papers/rrntn.yaml"))["experiments"]["text8-rntn-100"]["reported"]
    assert [r["value"] for r in reported if r["metric"] == "parameters"] == [exact["RNTN 100, text8"]]


def test_all_rows_round_to_the_printed_number_but_the_two_that_are_cut():
    findings = run_check("table-1-printed-parameters")
    assert len(findings) == 18
    beyond = {f.name.partition(":")[0]: f.error for f in findings if f.error > 0.5}
    assert beyond == {
        "RNTN 100, text8": pytest.approx(0.873, abs=1e-3),
        "r-RNTN 150, text8": pytest.approx(0.795, abs=1e-3),
    }


def test_models_of_equal_parameters_differ_by_less_than_half_a_per_cent():
    errors = {f.name: f.error for f in run_check("table-1-equal-parameters")}
    assert max(errors.values()) == pytest.approx(1 - 3_020_000 / 3_032_650)
    assert min(errors.values()) == pytest.approx(150 / 11_385_701)


def test_operations_depend_on_the_state_and_not_on_the_number_of_matrices(monkeypatch):
    monkeypatch.setattr(rrntn, "PTB", 150)
    assert [f.error for f in run_check("operations-independent-of-matrices")] == [0.0] * 4
    # 20 words: a product with U_h and one with W_o each
    assert rrntn._operations(30, 7) == 20 * (2 * 30 * 30 + 2 * 30 * 150)


def test_seconds_are_compared_with_those_of_one_matrix(monkeypatch):
    monkeypatch.setattr(rrntn, "PTB", 300)
    taken = {(100, 1): 1.0, (100, 100): 1.25, (100, 300): 0.5, (150, 1): 2.0}
    monkeypatch.setattr(rrntn.rntn, "choose", lambda name, model: (model.hidden, model.matrices))
    monkeypatch.setattr(rrntn, "_cpu_seconds", lambda engine, data: taken[engine])
    sizes = {f.name: f.error for f in rrntn.seconds_independent_of_matrices()}
    assert sizes == {
        "H = 100, K = 100 against H = 100, K = 1": 0.25,
        "H = 100, K = 300 against H = 100, K = 1": 0.0,
        "H = 100, K = 100 against H = 150, K = 1": 0.0,
    }


def test_time_is_measured_on_the_engine_that_trains():
    engine = rrntn.rntn.choose("reference", rrntn.RNTN(rrntn.PTB, 4))
    assert 0 < rrntn._cpu_seconds(engine, rrntn._zipf_text(40)) < 60
