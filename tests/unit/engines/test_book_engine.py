"""The stacked LSTM of document 002: its equations and sizes, and that the fast engine computes what it computes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.engines.books import LayerwiseEngine, ReferenceEngine
from reprise.models.deep_lstm import DeepLSTM, initialise


def random_model(V=7, n=5, layers=2, activation="relu", dtype=torch.float64, seed=0, forget_bias=1.0):
    model = DeepLSTM(V, n, layers, activation, forget_bias).to(dtype)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(0.4 * torch.randn(p.shape, generator=generator, dtype=torch.float64))
    return model


def random_window(model, T, B, seed=0, state=True):
    generator = torch.Generator().manual_seed(seed)
    x, y = (torch.randint(model.vocabulary, (T, B), generator=generator) for _ in range(2))
    start = model.initial_state(B)
    if state:
        start = tuple(tuple(torch.randn(part.shape, generator=generator).to(part) for part in pair) for pair in start)
    return x, y, start


@pytest.mark.parametrize(("V", "parameters"), [(72, 243784), (87, 253399)])
def test_the_books_networks_have_the_documents_size(V, parameters):
    model = DeepLSTM(V, 128, 2, "relu", 1.0)
    assert sum(p.numel() for p in model.parameters()) == parameters


@pytest.mark.parametrize(("activation", "phi"), [("relu", lambda a: np.maximum(a, 0)), ("tanh", np.tanh)])
def test_it_follows_its_equations_gate_by_gate(activation, phi):
    model = random_model(V=4, n=3, layers=2, activation=activation)
    x, _, state = random_window(model, 6, 2)
    logits, _ = model(x, state)

    def sigma(a):
        return 1 / (1 + np.exp(-a))

    for stream in range(2):
        h = [pair[0][stream].numpy() for pair in state]
        c = [pair[1][stream].numpy() for pair in state]
        for t in range(6):
            z = np.eye(4)[x[t, stream]]
            for number in range(2):
                W, U, b = (part.detach().numpy().reshape(4, 3, -1) for part in model.layer(number + 1))
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
        W, U, b = model.layer(number)
        weights = torch.cat([W.flatten(), U.flatten()]).detach()
        glorot = math.sqrt(6 / (inputs + 128 + 512))
        bound = glorot if law == "glorot-uniform" else 2 / math.sqrt(inputs + 128)
        deviation = glorot / math.sqrt(3) if law == "glorot-uniform" else 0.8796 / math.sqrt(inputs + 128)
        assert 0.98 * bound < weights.abs().max() <= bound
        assert weights.std().item() == pytest.approx(deviation, rel=0.01)
        assert b.count_nonzero() == 0
    assert model.W_out.detach().std().item() == pytest.approx(0.8796 / math.sqrt(128), rel=0.02)
    assert model.b_out.count_nonzero() == 0


def gradients(model):
    return {name: p.grad.clone() for name, p in model.named_parameters()}


def relative(found, expected):
    return ((found.double() - expected).norm() / expected.norm().clamp_min(1e-30)).item()


@settings(max_examples=25)
@given(
    st.sampled_from(["relu", "tanh"]),
    st.integers(1, 9),
    st.integers(1, 6),
    st.integers(1, 3),
    st.integers(1, 6),
    st.integers(1, 10),
)
def test_the_fast_engine_computes_the_readable_models_loss_and_gradients(activation, V, n, layers, T, B):
    model = random_model(V, n, layers, activation, seed=V + 10 * n)
    x, y, state = random_window(model, T, B, seed=T + 10 * B)
    kept = [part.clone() for pair in state for part in pair]
    loss, after = ReferenceEngine(model).loss_and_gradients(x, y, state)
    expected = gradients(model)
    found, there = LayerwiseEngine(model).loss_and_gradients(x, y, state)
    assert found == pytest.approx(loss, rel=1e-12)
    for name, gradient in gradients(model).items():
        assert relative(gradient, expected[name]) < 1e-10, name
    for ours, theirs in zip(there, after, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert all(torch.equal(a, part) for a, part in zip(kept, (p for pair in state for p in pair), strict=True))


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_in_float32_it_is_as_right_as_float32_can_be(activation):
    exact = random_model(72, 128, 2, activation)
    with torch.no_grad():
        for p in exact.parameters():
            p.mul_(0.2)
    model = random_model(72, 128, 2, activation, torch.float32)
    model.load_state_dict(exact.state_dict())
    engine = LayerwiseEngine(model)
    # The size changes and comes back: buffers of an earlier window must not show.
    for T, B in ((30, 64), (7, 3), (30, 64)):
        x, y, state = random_window(model, T, B, state=False)
        loss, _ = ReferenceEngine(exact).loss_and_gradients(x, y, exact.initial_state(B))
        found, _ = engine.loss_and_gradients(x, y, state)
        assert found == pytest.approx(loss, rel=1e-6)
        for name, gradient in gradients(model).items():
            assert relative(gradient, exact.get_parameter(name).grad) < 1e-5, name


def test_symbols_of_another_model_are_refused():
    model = random_model()
    x = torch.full((2, 2), 7)
    with pytest.raises(ValueError, match="symbols"):
        LayerwiseEngine(model).loss_and_gradients(x, x, model.initial_state(2))
