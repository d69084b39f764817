"""The checks: which hold, which formulas of the papers do not as they are printed, and that every check can fail."""

import math

import pytest
import torch
from config_helpers import project

from reprise.catalogue.checks import run_check
from reprise.checks import (
    Finding,
    compute_excess,
    gso,
    lecture,
    lecture_jacobians,
    lecture_layers,
    lecture_networks,
    loglinear,
    rntn,
)
from reprise.checks import loglinear_numerals as numerals
from reprise.models import gso_sizes
from reprise.models.gso import GSO
from reprise.models.loglinear import LogLinearRNN
from reprise.models.recall_networks import GRU, RNN
from reprise.models.second_order import FullTensor, MultiplicativeRNN

CHECKS = {
    entry.check.name: entry.check.tolerance
    for paper in ("palindromes", "books", "gso", "lecture", "llrnn")
    for entry in project().papers[paper].experiments.values()
    if entry.check
}
DO_NOT_HOLD = {
    "omega-recursion-printed": 0.1,
    "temperature-raises-entropy": 0.1,
    "first-order-jacobian-printed": 0.1,
    "window-printed": 0.05,
    "perplexity-printed": 0.5,
    "notes-jacobian-printed": 0.5,
    "lower-layer-own": 0.99,
    "matrix-by-layers": 2.99,
    "memory-over-corpus": 6.99,
}
"""Checks all of whose errors are above this one."""
PARTLY = {"second-order-jacobian-printed", "bigram-mass-printed"}


def errors(name: str) -> dict[str, float]:
    return {finding.name: finding.error for finding in run_check(name)}


def test_an_error_that_is_no_number_is_not_passed_over():
    assert Finding.from_errors("all", [1e-16, 2e-16]).error == 2e-16
    assert math.isnan(Finding.from_errors("all", [1e-16, math.nan, 0.0]).error)
    assert [compute_excess(value, 1.0) for value in (0.5, 1.0, 1.5)] == [0.0, 0.0, 0.5]
    assert math.isnan(compute_excess(math.nan, 1.0))


@pytest.mark.parametrize("name", [name for name in CHECKS if name not in {*DO_NOT_HOLD, *PARTLY}])
def test_holds_within_the_tolerance_of_its_paper(name):
    findings = run_check(name)
    assert findings
    assert all(finding.n >= 1 and 0 <= finding.error <= CHECKS[name] for finding in findings), findings


@pytest.mark.parametrize("name", DO_NOT_HOLD)
def test_what_is_printed_does_not_hold(name):
    assert min(errors(name).values()) > DO_NOT_HOLD[name]


def test_what_is_printed_holds_in_part():
    # Equation 13 of document 000 holds for one step alone.
    first, *others = errors("second-order-jacobian-printed").values()
    assert first < 1e-13
    assert min(others) > 0.1
    text = lecture._make_text()
    expected = {"the text's last word": pytest.approx(1 / text.count(text[-1])), "every other word": 0.0}
    assert errors("bigram-mass-printed") == expected


def shifted(transition):
    return lambda self, h, *terms: transition(self, h, *terms) + 1e-6


def of_another_state(transition):
    return lambda self, h, *terms: transition(self, 1.001 * h, *terms)


def component_by_component(clip):
    def clipped(parameters, threshold):
        for parameter in parameters:
            parameter.grad.clamp_(-threshold / 20, threshold / 20)

    return clipped


def exchanged(step):
    """As in documents 000 and 001, or with the roles of z and 1 - z exchanged."""

    def other(self, Wx, state):
        (h,), (U_z, U_r, U), (W_z_x, W_r_x, W_x) = state, self.W_h, Wx
        z, r = torch.sigmoid(W_z_x + h @ U_z.T), torch.sigmoid(W_r_x + h @ U_r.T)
        return (z * torch.tanh(r * (h @ U.T) + W_x) + (1 - z) * h,)

    return other


def a_matrix_every_step(step):
    return lambda self, Wx, state: (torch.tanh(state[0] @ torch.nn.Parameter(self.W_h[0].detach().clone()).T + Wx[0]),)


def the_other_way_round(reduce):
    return lambda f, factors, *start: reduce(f, factors[::-1] if f is torch.matmul else factors, *start)


def without_b(log_p):
    return lambda self, a: torch.log_softmax(torch.sparse.mm(self.phi, a.t()).t(), 1)


def without_the_last_feature(log_p):
    return lambda self, a: torch.log_softmax(
        self.log_b + torch.sparse.mm(self.phi, a.t()).t() - a[:, -1:] * self.phi.to_dense()[:, -1], 1
    )


def with_a_second_bias(init):
    def changed(self, *arguments, **options):
        init(self, *arguments, **options)
        self.second = torch.nn.Parameter(torch.zeros(4 * self.H))

    return changed


NOTICED = [
    ("mrnn-is-the-case-without-e", MultiplicativeRNN, "transition", shifted, 1e-8),
    ("full-tensor-by-sufficient-rank", FullTensor, "transition", shifted, 1e-8),
    ("second-order-jacobian-corrected", GSO, "transition", of_another_state, 1e-4),
    (
        "first-order-term-keeps-the-gradient",
        gso,
        "_replace_parameters",
        lambda change: lambda model, **values: model,
        0.99,
    ),
    ("norm-clipping", lecture, "clip_gradients", component_by_component, 0.01),
    ("norm-clipping", lecture, "clip_gradients", lambda clip: lambda parameters, threshold: None, 1),
    ("gate-limits", GRU, "step", exchanged, 0.1),
    ("jacobian-bound", lecture_jacobians, "SLOPES", lambda slopes: {**slopes, "sigmoid": 0.05}, 1),
    ("parameters-over-length", RNN, "step", a_matrix_every_step, 98 * 36 - 1),
    ("notes-jacobian-corrected", lecture_jacobians, "reduce", the_other_way_round, 0.1),
    ("decoder-inputs", lecture_layers, "_draw_readings", lambda of: lambda: [(a.tanh(), b) for a, b in of()], 0.1),
    (
        "memory-over-length",
        lecture_networks,
        "_measure_waiting_bytes",
        lambda of: lambda _, texts: sum(map(len, texts)) ** 2,
        6,
    ),
    ("background-alone", LogLinearRNN, "compute_log_p", without_b, 0.1),
    # 37 then has its share of a mass that was never given to it.
    ("unseen-numerals", LogLinearRNN, "compute_log_p", without_b, 0.5),
    ("unseen-numerals", numerals, "STEPS", lambda steps: 0, 0.5),
    ("expected-minus-observed", LogLinearRNN, "compute_log_p", without_the_last_feature, 1e-3),
    ("softmax-is-log-linear", LogLinearRNN, "compute_log_p", without_the_last_feature, 1e-3),
    ("log-linear-parameters", loglinear.LogLinearRNN, "__init__", with_a_second_bias, 1023),
]


@pytest.mark.parametrize(("name", "owner", "attribute", "change", "least"), NOTICED)
def test_a_mistake_is_noticed(monkeypatch, name, owner, attribute, change, least):
    monkeypatch.setattr(owner, attribute, change(getattr(owner, attribute)))
    assert max(errors(name).values()) > least


def test_the_paper_s_constraints_are_all_needed(monkeypatch):
    """Without one of B = U, C = W, f = b, which the paper omits, the MI-RNN is no case of the general model."""
    with_all = gso._replace_parameters
    for left_out in ("A", "B", "C", "D", "E", "f"):

        def without(model, skip=left_out, **values):
            return with_all(model, **{key: value for key, value in values.items() if key != skip})

        monkeypatch.setattr(gso, "_replace_parameters", without)
        assert run_check("integration-is-the-constrained-case")[0].error > 0.01, left_out


def test_sizes_of_the_budget(monkeypatch):
    assert {finding.name: finding.n for finding in run_check("sizes-of-the-budget")}["module against formula"] == 22
    # sizes are solved for 500,000 and held to 499,000: the first-order RNN has 499,827
    find_largest = gso_sizes.find_largest_size
    monkeypatch.setattr(gso_sizes, "find_largest_size", lambda count: find_largest(lambda h: count(h) - 1000))
    monkeypatch.setattr(gso_sizes, "BUDGET", 499_000)
    parameters = gso_sizes.count_first_order_parameters
    monkeypatch.setattr(gso_sizes, "count_first_order_parameters", lambda h, symbols: parameters(h, symbols) + 2)
    expected = {"module against formula": 2.0, "over the budget": 827.0, "a larger one within the budget": 0.0}
    assert errors("sizes-of-the-budget") == expected


def test_memory_of_a_corpus_is_that_of_a_sentence(monkeypatch):
    """Not where one sentence is all of it, nor where every sentence waits for the backward pass."""
    with monkeypatch.context() as patch:
        patch.setattr(lecture_networks, "_SENTENCE", 400)
        assert max(errors("memory-over-corpus").values()) < 0.05
    waiting = []

    def keep(loss):
        waiting.append(loss)

    monkeypatch.setattr(torch.Tensor, "backward", keep)
    assert max(errors("memory-over-corpus").values()) < 0.05


def test_the_note_tells_how_little_the_background_gives_an_unseen_numeral():
    log_b, _ = numerals._make_finite_background()
    city = math.exp(log_b[numerals.TYPES.index(numerals.CITY)])
    share = numerals.SHRINK ** len(numerals.NUMERAL) / city
    note = project().papers["llrnn"].experiments["l13-numerals"].note
    assert f" {100 * share:.0f} % of what it gives {numerals.CITY}" in note


def test_a_mass_that_is_cut_off_fails(monkeypatch):
    monkeypatch.setattr(numerals, "SHRINK", 0.099)  # so slow that 60 digits are not all there is
    monkeypatch.setattr(numerals, "STEPS", 1)
    (mass,) = (f for f in numerals.check_unseen_numerals() if f.name.startswith("mass"))
    assert mass.error > 0.1


def test_features_are_counted_for_a_number_of_tags_that_is_said(monkeypatch):
    from_sizes = loglinear.Lexicon.from_sizes
    monkeypatch.setattr(loglinear, "PARAMETERS", {10: 0})
    monkeypatch.setattr(loglinear.Lexicon, "from_sizes", lambda types, tags: from_sizes(types, tags=tags + 1))
    assert errors("log-linear-parameters")["M + 1 + tags features, given 52 tags"] == 1.0


def test_rows_of_table_1_have_the_parameters_that_are_printed_but_two_that_are_cut():
    exact = {"s-RNN 100, PTB": 2_020_100, "RNTN 100, PTB": 103_010_000, "m-RNN 100, PTB": 3_030_100}
    exact |= {"r-RNTN 150, PTB": 5_275_000, "r-RNTN 150, text8": 19_879_451, "r-GRU 244, PTB": 15_523_360}
    exact |= {"LSTM 650, PTB": 16_392_600, "RNTN 100, text8": 388_873_051}
    assert {row: rntn.count_row_parameters(row) for row in exact} == exact
    reported = project().papers["rrntn"].experiments["text8-rntn-100"].reported
    assert [r.value for r in reported if r.metric == "parameters"] == [exact["RNTN 100, text8"]]
    errors_by_row = errors("table-1-printed-parameters")
    cut = {
        name.partition(":")[0]: pytest.approx(error, abs=1e-3) for name, error in errors_by_row.items() if error > 0.5
    }
    assert (len(errors_by_row), cut) == (18, {"RNTN 100, text8": 0.873, "r-RNTN 150, text8": 0.795})
    equal = errors("table-1-equal-parameters").values()
    assert (max(equal), min(equal)) == pytest.approx((1 - 3_020_000 / 3_032_650, 150 / 11_385_701))


def test_operations_depend_on_the_state_and_not_on_the_number_of_matrices(monkeypatch):
    monkeypatch.setattr(rntn, "PTB", 150)
    assert [f.error for f in run_check("operations-independent-of-matrices")] == [0.0] * 4
    # 20 words: a product with U_h and one with W_o each
    assert rntn._count_operations(30, 7) == 20 * (2 * 30 * 30 + 2 * 30 * 150)


def test_seconds_of_the_engine_that_trains_are_compared_with_those_of_one_matrix(monkeypatch):
    engine = rntn.rntn.choose_engine("reference", rntn.RNTN(rntn.PTB, 4))
    assert 0 < rntn._measure_cpu_seconds(engine, rntn._draw_zipf_text(40)) < 60
    monkeypatch.setattr(rntn, "PTB", 300)
    seconds = {(100, 1): 1.0, (100, 100): 1.25, (100, 300): 0.5, (150, 1): 2.0}
    monkeypatch.setattr(rntn.rntn, "choose_engine", lambda name, model: (model.hidden, model.matrices))
    monkeypatch.setattr(rntn, "_measure_cpu_seconds", lambda engine, data: seconds[engine])
    assert list(errors("seconds-independent-of-matrices").values()) == [0.25, 0.0, 0.0]
