"""GRU, LSTM, r-GRU and r-LSTM: the paper's equations, its parameter counts."""

import pytest
import torch

from reprise.models.gated import GRU, LSTM, initialise

BOTH = pytest.mark.parametrize("model_class", [GRU, LSTM])


def random_model(model_class, *sizes, seed=0):
    model = model_class(*sizes)
    initialise(model, 0.7, torch.Generator().manual_seed(seed))
    return model.double()


def random_state(model, batch):
    return tuple(torch.rand(batch, model.hidden, dtype=torch.float64) for _ in range(model.states))


def sigma(a):
    return 1 / (1 + torch.exp(-a))


def gru_step(m, word, k, h):
    """Equations (6)-(9) for one word and one state (H,)."""
    x = m.E[word]
    r = sigma(m.W_hr @ x + m.U_hr @ h + m.b_hr)
    z = sigma(m.W_hz @ x + m.U_hz @ h + m.b_hz)
    new = torch.tanh(m.W_hh @ x + m.U_hh[k] @ (r * h) + m.b_hh[k])
    return (z * h + (1 - z) * new,)


def lstm_step(m, word, k, h, c):
    """Equations (10)-(15) for one word and one state (H,)."""
    x = m.E[word]
    f = sigma(m.W_hf @ x + m.U_hf @ h + m.b_hf)
    i = sigma(m.W_hi @ x + m.U_hi @ h + m.b_hi)
    o = sigma(m.W_ho @ x + m.U_ho @ h + m.b_ho)
    c = i * torch.tanh(m.W_hc @ x + m.U_hc[k] @ h + m.b_hc[k]) + f * c
    return o * torch.tanh(c), c


@pytest.mark.parametrize(("model_class", "step"), [(GRU, gru_step), (LSTM, lstm_step)])
@pytest.mark.parametrize(
    ("matrices", "mapping", "index"),
    [(1, "f", [0] * 11), (4, "f", [0, 1, 2, *[3] * 8]), (4, "f_mod", [1, 2, 3, 0] * 3)],
)
def test_equations_word_by_word(model_class, step, matrices, mapping, index):
    model = random_model(model_class, 11, 5, 6, matrices, mapping)
    words = torch.tensor([[3, 0, 10], [1, 2, 2], [0, 9, 4], [7, 3, 8]])  # (T, B)
    state = random_state(model, 3)
    logits, last = model(words, state)
    for b in range(3):
        single = tuple(s[b] for s in state)
        for t, word in enumerate(words[:, b].tolist()):
            single = step(model, word, index[word], *single)
            torch.testing.assert_close(logits[t, b], model.W_o @ single[0] + model.b_o)
        for ours, theirs in zip(last, single, strict=True):
            torch.testing.assert_close(ours[b], theirs)


@BOTH
def test_masks_touch_embeddings_and_softmax_input_and_not_the_recurrence(model_class):
    model = random_model(model_class, 9, 4, 5, 3)
    words, state = torch.tensor([[1, 8], [0, 3]]), random_state(model, 2)
    embeddings, softmax_input = torch.rand(2, 2, 4).double(), torch.rand(2, 2, 5).double()
    ones = torch.ones_like(embeddings), torch.ones_like(softmax_input)
    plain, last = model(words, state)
    torch.testing.assert_close(model(words, state, ones)[0], plain)
    masked, last_masked = model(words, state, (ones[0], softmax_input))
    torch.testing.assert_close(last_masked, last)
    h = (plain - model.b_o) @ torch.linalg.pinv(model.W_o).T
    torch.testing.assert_close(masked, (h * softmax_input) @ model.W_o.T + model.b_o)
    # A mask on the embeddings is another embedding: of words 0 .. 3, which occur in this order.
    other = random_model(model_class, 9, 4, 5, 3)
    with torch.no_grad():
        for (t, b), word in {(0, 0): 1, (0, 1): 8, (1, 0): 0, (1, 1): 3}.items():
            other.E[word] *= embeddings[t, b]
    torch.testing.assert_close(model(words, state, (embeddings, ones[1])), other(words, state))


@BOTH
def test_initialisation_is_uniform_over_all_parameters_and_repeats(model_class):
    with pytest.raises(ValueError, match="matrices"):
        model_class(5, 2, 2, 6)
    model, second = (model_class(400, 30, 20, 10) for _ in range(2))
    for one in (model, second):
        initialise(one, 0.05, torch.Generator().manual_seed(5))
    for name, parameter in model.named_parameters():
        assert 0.04 < parameter.abs().max() <= 0.05, name
        assert parameter.unique().numel() > 0.9 * parameter.numel(), name
    assert model.E.std().item() == pytest.approx(0.05 / 3**0.5, rel=0.03)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), second.parameters(), strict=True))
