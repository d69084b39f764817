"""The model's equations, on numbers worked out by hand or by a library."""

import torch
from PACKAGE.model import SCRN


def test_without_context_units_it_is_torchs_elman_network():
    torch.manual_seed(0)
    model = SCRN(vocabulary=7, hidden_size=5, context_size=0)
    x, (s, h) = torch.randint(7, (4, 2)), model.initial_state(2)
    for word in x:
        h = torch.sigmoid(model.A(word) + h @ model.R.weight.T)
    logits, (_, last) = model(x, (s, torch.zeros(2, 5)))
    torch.testing.assert_close(last, h)
    torch.testing.assert_close(logits[-1], h @ model.U.weight.T + model.U.bias)


def test_context_units_are_a_running_mean():
    model = SCRN(vocabulary=3, hidden_size=2, context_size=1, alpha=0.5)
    with torch.no_grad():
        model.B.weight.copy_(torch.tensor([[1.0], [0.0], [4.0]]))
        _, (s, _) = model(torch.tensor([[0], [1], [2]]), model.initial_state(1))
    assert s.item() == 0.5 * 4 + 0.25 * 0 + 0.125 * 1
