"""Document 003's checks: which hold, which of its formulas do not as they are printed, and that they can fail."""

from __future__ import annotations

import pytest
import torch

from reprise.catalogue.checks import run_check
from reprise.checks import lecture, lecture_jacobians, lecture_layers, lecture_networks
from reprise.models import recurrent
from reprise.models.recurrent import GRU, RNN

EXACT = ("gate-limits", "parameters-over-length", "bidirectional-parameters", "lower-layer-both", "matrix-by-units")
CLOSE = ("bigram-mass-corrected", "window-corrected", "perplexity-corrected", "notes-jacobian-corrected")
CLOSE += ("jacobian-bound", "sigmoid-slope", "norm-clipping", "decoder-inputs")
HOLD = {"memory-over-length": 0.05, "bidirectional-parameters-and-output": 0.01}
HOLD |= {**dict.fromkeys(EXACT, 0.0), **dict.fromkeys(CLOSE, 1e-12)}


def errors(name):
    return {finding.name: finding.error for finding in run_check(name)}


@pytest.mark.parametrize("name", HOLD)
def test_holds(name):
    found = errors(name)
    assert found
    assert all(0 <= error <= HOLD[name] for error in found.values()), found


def test_the_counts_of_equation_2_lose_the_mass_of_the_last_word():
    found = errors("bigram-mass-printed")
    text = lecture._text()
    assert found == {"the text's last word": pytest.approx(1 / text.count(text[-1])), "every other word": 0.0}


@pytest.mark.parametrize(
    ("name", "least"), [("window-printed", 0.05), ("perplexity-printed", 0.5), ("notes-jacobian-printed", 0.5)]
)
def test_what_is_printed_does_not_hold(name, least):
    assert min(errors(name).values()) > least


def test_a_slope_above_the_bound_is_noticed(monkeypatch):
    monkeypatch.setitem(recurrent.SLOPES, "sigmoid", 0.05)
    assert errors("jacobian-bound")["sigmoid, beta_h = 1/4"] > 1


def test_another_way_of_clipping_is_noticed(monkeypatch):
    def component_by_component(parameters, threshold):
        for parameter in parameters:
            parameter.grad.clamp_(-threshold / 20, threshold / 20)

    monkeypatch.setattr(lecture, "clip_by_global_norm", component_by_component)
    found = errors("norm-clipping")
    assert found["1 - cosine of the angle"] > 0.01
    assert found["change below the threshold"] > 0.01
    monkeypatch.setattr(lecture, "clip_by_global_norm", lambda parameters, threshold: None)
    assert errors("norm-clipping")["norm above the threshold"] > 1


def test_gates_the_other_way_round_are_noticed(monkeypatch):
    """As in documents 000 and 001, or with the roles of z and 1 - z exchanged."""

    def exchanged(self, Wx, state):
        (h,), (U_z, U_r, U), (W_z_x, W_r_x, W_x) = state, self.W_h, Wx
        z, r = torch.sigmoid(W_z_x + h @ U_z.T), torch.sigmoid(W_r_x + h @ U_r.T)
        return (z * torch.tanh(r * (h @ U.T) + W_x) + (1 - z) * h,)

    monkeypatch.setattr(GRU, "step", exchanged)
    found = errors("gate-limits")
    assert min(found["z = 1: h_t against h_{t-1}"], found["r = 0: the new memory of two pasts"]) > 0.1


def test_parameters_of_every_step_would_be_counted(monkeypatch):
    def own_matrix(self, Wx, state):
        return (torch.tanh(state[0] @ torch.nn.Parameter(self.W_h[0].detach().clone()).T + Wx[0]),)

    monkeypatch.setattr(RNN, "step", own_matrix)
    assert errors("parameters-over-length")["RNN"] == 98 * 36
    assert lecture_networks._H == 6


def test_memory_that_does_not_grow_in_proportion_is_noticed(monkeypatch):
    # Of the corpus it is that of a sentence, however many the corpus has.
    assert set(errors("memory-over-corpus").values()) == {7.0}
    with monkeypatch.context() as patch:
        patch.setattr(lecture_networks, "_SENTENCE", 400)
        assert max(errors("memory-over-corpus").values()) < 0.05
    with monkeypatch.context() as patch:
        waiting = []
        patch.setattr(torch.Tensor, "backward", lambda loss: waiting.append(loss))
        assert max(errors("memory-over-corpus").values()) < 0.05
    monkeypatch.setattr(lecture_networks, "_waiting", lambda model, texts: sum(len(words) for words in texts) ** 2)
    assert min(errors("memory-over-length").values()) == 7


def test_products_the_other_way_round_are_noticed(monkeypatch):
    product = lecture_jacobians.reduce
    monkeypatch.setattr(
        lecture_jacobians,
        "reduce",
        lambda f, factors, *start: product(f, factors[::-1] if f is torch.matmul else factors, *start),
    )
    assert min(errors("notes-jacobian-corrected").values()) > 0.1


def test_each_direction_alone_and_a_row_a_layer_are_not_what_is_meant():
    assert set(errors("lower-layer-own").values()) == {1.0}
    assert errors("matrix-by-layers") == {"L = 1, H = 6": 5.0, "L = 2, H = 6": 4.0, "L = 3, H = 6": 3.0}


def test_inputs_that_do_not_meet_in_one_matrix_are_noticed(monkeypatch):
    readings = list(lecture_layers._readings())
    monkeypatch.setattr(lecture_layers, "_readings", lambda: [(added.tanh(), joined) for added, joined in readings])
    assert errors("decoder-inputs")["three matrices against one"] > 0.1
