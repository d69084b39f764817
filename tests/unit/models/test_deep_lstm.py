"""The stacked LSTM of document 002: its equations, sizes and first weights."""

import math

import numpy as np
import pytest
import torch

from reprise.models.deep_lstm import DeepLSTM, initialise


@pytest.mark.parametrize(("V", "parameters"), [(72, 243784), (87, 253399)])
def test_the_books_networks_have_the_documents_size(V, parameters):
    model = DeepLSTM(V, 128, 2, "relu", 1.0)
    assert sum(p.numel() for p in model.parameters()) == parameters


@pytest.mark.parametrize(("activation", "phi"), [("relu", lambda a: np.maximum(a, 0)), ("tanh", np.tanh)])
def test_it_follows_its_equations_gate_by_gate(activation, phi):
    model, generator = DeepLSTM(4, 3, 2, activation, 1.0).double(), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(0.0, 0.4, generator=generator)
    x, parts = torch.randint(4, (6, 2), generator=generator), torch.randn(2, 2, 2, 3, generator=generator).double()
    state = tuple(tuple(pair) for pair in parts)
    logits, _ = model(x, state)

    def sigma(a):
        return 1 / (1 + np.exp(-a))

    for stream in range(2):
        h = [pair[0][stream].numpy() for pair in state]
        c = [pair[1][stream].numpy() for pair in state]
        for t in range(6):
            z = np.eye(4)[x[t, stream]]
            for number in range(2):
                W, U, b = (part.detach().numpy().reshape(4, 3, -1) for part in model.get_layer(number + 1))
                i, f, o, g = (W[k] @ z + U[k] @ h[number] + b[k, :, 0] for k in range(4))
                c[number] = sigma(f + 1) * c[number] + sigma(i) * phi(g)
                z = h[number] = sigma(o) * phi(c[number])
            expected = model.W_out.detach().numpy() @ z + model.b_out.detach().numpy()
            np.testing.assert_allclose(logits[t, stream].detach().numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("law", ["glorot-uniform", "fan-in-truncated-normal"])
def test_initial_weights_follow_their_laws(law):
    model = DeepLSTM(72, 128, 2, "relu", 1.0, law, "fan-in-truncated-normal")
    initialise(model, torch.Generator().manual_seed(5))
    for number, inputs in ((1, 72), (2, 128)):
        W, U, b = model.get_layer(number)
        weights = torch.cat([W.flatten(), U.flatten()]).detach()
        glorot = math.sqrt(6 / (inputs + 128 + 512))
        bound = glorot if law == "glorot-uniform" else 2 / math.sqrt(inputs + 128)
        deviation = glorot / math.sqrt(3) if law == "glorot-uniform" else 0.8796 / math.sqrt(inputs + 128)
        assert 0.98 * bound < weights.abs().max() <= bound
        assert weights.std().item() == pytest.approx(deviation, rel=0.01)
        assert b.count_nonzero() == 0
    assert model.W_out.detach().std().item() == pytest.approx(0.8796 / math.sqrt(128), rel=0.02)
    assert model.b_out.count_nonzero() == 0
