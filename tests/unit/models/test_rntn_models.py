"""s-RNN, RNTN, r-RNTN and m-RNN: the paper's equations and parameter counts."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN, initialise

PTB, TEXT8 = 10_000, 37_751


# Document 001, Table 1: 2M, 3M, 103M, 3M, 5.3M; 7.6M, 11.4M, 388M, 11.4M, 19.8M (388M and 19.8M are cut).
@pytest.mark.parametrize(
    ("vocabulary", "hidden", "matrices", "parameters"),
    [
        (PTB, 100, 1, 2_020_100),
        (PTB, 100, 100, 3_020_000),
        (PTB, 100, PTB, 103_010_000),
        (PTB, 150, 1, 3_032_650),
        (PTB, 150, 100, 5_275_000),
        (TEXT8, 100, 1, 7_598_051),
        (TEXT8, 100, 376, 11_385_551),
        (TEXT8, 100, TEXT8, 388_873_051),
        (TEXT8, 150, 1, 11_385_701),
        (TEXT8, 150, 376, 19_879_451),
    ],
)
def test_parameters_of_table_1(vocabulary, hidden, matrices, parameters):
    with torch.device("meta"):
        model = RNTN(vocabulary, hidden, matrices)
    assert sum(p.numel() for p in model.parameters()) == parameters


@pytest.mark.parametrize(("vocabulary", "parameters"), [(PTB, 3_030_100), (TEXT8, 11_383_151)])
def test_parameters_of_the_m_rnn_of_table_1(vocabulary, parameters):
    with torch.device("meta"):
        model = MRNN(vocabulary, 100, 100)
    assert sum(p.numel() for p in model.parameters()) == parameters


def test_one_bias_for_all_matrices_gives_the_count_of_equation_3():
    with torch.device("meta"):
        model = RNTN(PTB, 100, PTB, bias="shared")
    assert sum(p.numel() for p in model.parameters()) == 102_010_100


def test_maps_of_equations_5_and_16():
    ids = torch.arange(10)  # ranks 1 .. 10
    assert (RNTN(10, 2, 4, "f").matrix_index(ids) + 1).tolist() == [1, 2, 3, 4, 4, 4, 4, 4, 4, 4]
    assert RNTN(10, 2, 4, "f_mod").matrix_index(ids).tolist() == [1, 2, 3, 0, 1, 2, 3, 0, 1, 2]


def _random(model: nn.Module, seed: int = 0) -> nn.Module:
    initialise(model, 0.5, torch.Generator().manual_seed(seed))
    return model.double()


def test_s_rnn_is_an_elman_network_with_a_logistic_function():
    model = _random(RNTN(11, 5))
    x, h = torch.tensor([3, 0, 3, 10]), torch.rand(5, dtype=torch.float64)
    logits, last = model(x, h)
    for t, word in enumerate(x):
        one_hot = nn.functional.one_hot(word, 11).double()
        z = model.W_h.T @ one_hot + model.U_h[0] @ h + model.b_h[0]
        h = 1 / (1 + torch.exp(-z))
        torch.testing.assert_close(logits[t], model.W_o @ h + model.b_o)
    torch.testing.assert_close(last, h)


@pytest.mark.parametrize("bias", ["matrix", "shared"])
def test_every_word_uses_its_own_matrix_and_bias(bias):
    model = _random(RNTN(9, 4, 3, "f", bias))
    x, h = torch.tensor([0, 1, 2, 8]), torch.rand(4, dtype=torch.float64)
    _, last = model(x, h)
    for word, k in zip(x.tolist(), [0, 1, 2, 2], strict=True):
        b = model.b_h[k if bias == "matrix" else 0]
        h = torch.sigmoid(model.W_h[word] + model.U_h[k] @ h + b)
    torch.testing.assert_close(last, h)


def test_m_rnn_is_the_rntn_of_its_factored_matrices():
    factored = _random(MRNN(7, 4, 3))
    full = RNTN(7, 4, 7, bias="shared").double()
    matrices = torch.stack([factored.U_l @ torch.diag(v) @ factored.U_r for v in factored.v])
    named = {"W_h": factored.W_h, "b_h": factored.b_h[None], "W_o": factored.W_o, "b_o": factored.b_o}
    full.load_state_dict({"U_h": matrices, **named})
    x, h = torch.tensor([6, 2, 2, 0, 5]), torch.rand(4, dtype=torch.float64)
    for ours, theirs in zip(factored(x, h), full(x, h), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_the_mask_touches_the_softmax_input_and_not_the_recurrence():
    model = _random(RNTN(9, 4, 3))
    x, h = torch.tensor([0, 5, 1]), model.initial_state()
    mask = torch.tensor([[0.0, 2.0, 0.0, 2.0], [2.0, 2.0, 0.0, 0.0], [0.0] * 4], dtype=torch.float64)
    logits, last = model(x, h, mask)
    _, unmasked_last = model(x, h)
    torch.testing.assert_close(last, unmasked_last)
    torch.testing.assert_close(logits[2], model.b_o)
    torch.testing.assert_close(model(x[:1], h)[1], model(x[:1], h, mask[:1])[1])
    state = model(x[:1], h)[1]
    torch.testing.assert_close(logits[0], model.W_o @ (mask[0] * state) + model.b_o)


def test_initial_state_is_the_stated_number():
    assert RNTN(3, 2, h_0=1.0).initial_state().tolist() == [1.0, 1.0]
    assert MRNN(3, 2, 2).initial_state().tolist() == [0.0, 0.0]


def test_initialisation_has_the_stated_deviation_and_repeats():
    model = RNTN(500, 40, 20)
    initialise(model, 0.03, torch.Generator().manual_seed(5))
    assert model.U_h.std().item() == pytest.approx(0.03, rel=0.03)
    assert model.W_o.mean().abs().item() < 5 * 0.03 / model.W_o.numel() ** 0.5
    assert model.b_o.std().item() == pytest.approx(0.03, rel=0.2)
    again = RNTN(500, 40, 20)
    initialise(again, 0.03, torch.Generator().manual_seed(5))
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))


def test_initialisation_options():
    model = MRNN(5, 3, 2)
    initialise(model, 1.0, torch.Generator().manual_seed(0), biases="zero", constants={"v": 1.0})
    assert model.b_h.abs().sum() == 0
    assert model.b_o.abs().sum() == 0
    assert torch.equal(model.v, torch.ones(5, 2))
    assert model.U_l.abs().min() > 0


@pytest.mark.parametrize(
    "wrong",
    [{"matrices": 0}, {"matrices": 6}, {"mapping": "g"}, {"bias": "none"}],
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        RNTN(5, 2, **wrong)


@pytest.mark.parametrize("wrong", [{"biases": "one"}, {"constants": {"w": 1.0}}])
def test_wrong_initialisation_is_refused(wrong):
    with pytest.raises(ValueError, match="must be|no parameter"):
        initialise(RNTN(5, 2), 1.0, torch.Generator(), **wrong)
