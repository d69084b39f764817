"""s-RNN, RNTN, r-RNTN and m-RNN: the paper's equations and parameter counts."""

import pytest
import torch
from torch import nn

from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN, initialise


def test_maps_of_equations_5_and_16():
    ids = torch.arange(10)  # ranks 1 .. 10
    assert (RNTN(10, 2, 4, "f").choose_matrices(ids) + 1).tolist() == [1, 2, 3, 4, 4, 4, 4, 4, 4, 4]
    assert RNTN(10, 2, 4, "f_mod").choose_matrices(ids).tolist() == [1, 2, 3, 0, 1, 2, 3, 0, 1, 2]


def _random(model: nn.Module, seed: int = 0) -> nn.Module:
    initialise(model, 0.5, torch.Generator().manual_seed(seed))
    return model.double()


@pytest.mark.parametrize("bias", ["matrix", "shared"])
@pytest.mark.parametrize("K", [1, 3])
def test_the_equations_word_by_word(K, bias):
    model = _random(RNTN(9, 4, K, "f", bias, h_0=0.5))
    x, h = torch.tensor([0, 1, 2, 8]), model.initial_state()
    assert h.tolist() == [0.5] * 4
    logits, last = model(x, h)
    for t, word in enumerate(x.tolist()):
        k = min(word, K - 1)
        z = model.W_h[word] + model.U_h[k] @ h + model.b_h[k if bias == "matrix" else 0]
        h = 1 / (1 + torch.exp(-z))
        torch.testing.assert_close(logits[t], model.W_o @ h + model.b_o)
    torch.testing.assert_close(last, h)
    with pytest.raises(ValueError, match="matrices must be in 1 .. 9"):
        RNTN(9, 4, 10)


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


def test_first_weights_have_the_stated_deviation_and_constants():
    model = RNTN(500, 40, 20)
    initialise(model, 0.03, torch.Generator().manual_seed(5))
    assert model.U_h.std().item() == pytest.approx(0.03, rel=0.03)
    assert model.b_o.std().item() == pytest.approx(0.03, rel=0.2)
    model = MRNN(5, 3, 2)
    initialise(model, 1.0, torch.Generator().manual_seed(0), biases="zero", constants={"v": 1.0})
    assert model.b_h.abs().sum() == 0
    assert model.b_o.abs().sum() == 0
    assert torch.equal(model.v, torch.ones(5, 2))
    assert model.U_l.abs().min() > 0
