"""The models of document 002, held to torch's own, and the laws of their initial weights."""

import pytest
import torch
from torch import nn

from reprise.models.elman import Elman
from reprise.models.initialisation import draw_truncated_normal, initialise_by_fan_in
from reprise.models.lstm import LSTM

D, N, K, T, B = 4, 7, 3, 11, 5


def random_model(kind):
    model = kind(D, N, K).double()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(generator=generator)
    return model, torch.randint(D, (T, B), generator=generator)


# torch stacks the gates i, f, g, o; ours are g, i, f, o.
@pytest.mark.parametrize(
    ("kind", "library", "names", "gates"),
    [
        (Elman, nn.RNN, ("W_hx", "W_hh", "b_h", "W_oh", "b_o"), [0]),
        (LSTM, nn.LSTM, ("W_x", "W_h", "b", "W_out", "b_out"), [1, 2, 0, 3]),
    ],
)
def test_they_are_those_of_torch(kind, library, names, gates):
    model, x = random_model(kind)
    theirs = library(D, N).double()
    order = torch.cat([torch.arange(N) + N * gate for gate in gates])
    W, U, b, W_out, b_out = (model.get_parameter(name) for name in names)
    with torch.no_grad():
        for parameter, name in ((W, "weight_ih_l0"), (U, "weight_hh_l0"), (b, "bias_ih_l0")):
            getattr(theirs, name).copy_(parameter[order])
        theirs.bias_hh_l0.zero_()
        states, _ = theirs(nn.functional.one_hot(x, D).double())
        torch.testing.assert_close(model(x), states[-1] @ W_out.t() + b_out)


@pytest.mark.parametrize(("kind", "count"), [(Elman, 19_082), (LSTM, 72_458)])
def test_parameter_counts_at_the_papers_sizes(kind, count):
    assert sum(p.numel() for p in kind(10, 128, 10).parameters()) == count


def test_truncated_normal_law():
    numbers = draw_truncated_normal(torch.Size([200_000]), torch.Generator().manual_seed(0))
    assert numbers.abs().max() < 2
    assert numbers.std().item() == pytest.approx(0.8796, abs=0.005)


@pytest.mark.parametrize(("law", "expected"), [("", 0.8796), ("x-corrected", 1.0)])
def test_initial_weights_scale_with_fan_in(law, expected):
    model = LSTM(10, 400, 10, weight_law=law)
    initialise_by_fan_in(model, torch.Generator().manual_seed(0))
    assert model.W_h.std().item() * 410**0.5 == pytest.approx(expected, abs=0.01)
    assert model.W_out.std().item() * 400**0.5 == pytest.approx(expected, abs=0.05)
    assert model.b.std().item() * 400**0.5 == pytest.approx(expected, abs=0.05)
    assert not model.b_out.any()
