"""The engine of the gated language models against the readable model in float64."""

from __future__ import annotations

import copy

import pytest
import torch
from engine_helpers import export_and_load_are_exact_copies, same_bits, worst_error

from reprise.engines import gemm
from reprise.engines.gated import GroupedEngine, ReferenceEngine
from reprise.models.gated import GRU, LSTM, initialise

MODELS = {
    "gru": lambda: GRU(130, 31, 17),
    "lstm": lambda: LSTM(130, 31, 17),
    "r-gru": lambda: GRU(137, 20, 33, 7),
    "r-lstm": lambda: LSTM(137, 20, 33, 7),
    "r-gru f_mod": lambda: GRU(64, 9, 16, 5, "f_mod"),
    "r-lstm f_mod": lambda: LSTM(64, 9, 16, 5, "f_mod"),
    "a matrix a word": lambda: GRU(40, 12, 15, 40),
    "two words, one unit": lambda: LSTM(2, 1, 1, 2),
    "many words": lambda: GRU(9_001, 40, 24, 30),
}
# T and B: full windows, a ragged last one, a single step, a single stream, few streams.
WINDOWS = [(12, 20), (5, 20), (1, 20), (9, 1), (1, 1), (7, 3)]
EACH = pytest.mark.parametrize("name", MODELS)


def small(model, seed=0):
    initialise(model, min(0.4, 4 / model.hidden), torch.Generator().manual_seed(seed))
    return model


def window(model, T, B, seed=0, dropout=True):
    random = torch.Generator().manual_seed(seed)
    x, y = (torch.randint(model.vocabulary, (T, B), generator=random) for _ in range(2))
    sizes = (model.embedding, model.hidden)
    masks = tuple((torch.rand(T, B, size, generator=random) > 0.4) / 0.6 for size in sizes)
    return x, y, masks if dropout else None


def train(engine, model, T, B, seed=0, rate=1.0, reduction="sum-steps", clip=5.0, dropout=True):
    dtype = next(iter(engine.export().values())).dtype
    x, y, masks = window(model, T, B, seed, dropout)
    if masks:
        masks = tuple(mask.to(dtype) for mask in masks)
    return engine.train(x, y, masks, learning_rate=rate, reduction=reduction, clip_norm=clip)


def pair(model, batch):
    """The engine and the readable model in float64, with the same parameters and the same state, which is not zero."""
    engines = GroupedEngine(model), ReferenceEngine(copy.deepcopy(model).double())
    for engine in engines:
        engine.reset(batch)
        engine.state = tuple(torch.linspace(-0.7, 0.9, s.numel()).view(s.shape).to(s) for s in engine.state)
    return engines


@EACH
@pytest.mark.parametrize(("reduction", "clip", "dropout"), [("sum-steps", 1e-2, True), ("mean-steps", 1e9, False)])
def test_gradients_are_those_of_the_readable_model_in_float64(name, reduction, clip, dropout):
    # One step, so large that the update buries the weights: what is left is the gradient's own error.
    for T, B in WINDOWS:
        model = small(MODELS[name](), seed=T)
        engines = pair(model, B)
        losses = [train(e, model, T, B, T, 1e6, reduction, clip, dropout) for e in engines]
        assert losses[0] == pytest.approx(losses[1], rel=1e-6)
        assert worst_error(*engines, model.state_dict()) < 1e-5, (T, B)


@EACH
def test_a_run_is_that_of_the_readable_model_in_float64(name):
    model = small(MODELS[name]())
    fast, reference = pair(model, 20)
    for seed, T in enumerate((12, 12, 12, 5)):
        losses = [train(e, model, T, 20, seed) for e in (fast, reference)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    # Steps of an ordinary size: each leaves the weights rounded to float32, which is no error of the gradient.
    start, ours = model.state_dict(), fast.export()
    for name, exact in reference.export().items():
        error, update = (ours[name] - exact).norm(), (exact - start[name]).norm()
        assert error < 1e-5 * update + 4 * 2**-24 * exact.norm(), name
    for ours, exact in zip(fast.state, reference.state, strict=True):
        torch.testing.assert_close(ours.double(), exact, rtol=1e-5, atol=1e-6)
    for engine in (fast, reference):
        engine.reset(1)
    for seed in (4, 5):  # the state goes from one to the next
        x, y, _ = window(model, 40, 1, seed)
        assert fast.evaluate(x, y) == pytest.approx(reference.evaluate(x, y), rel=1e-6)


@pytest.mark.parametrize("engine", [ReferenceEngine, GroupedEngine])
@pytest.mark.parametrize(("reduction", "share"), [("sum-steps", 1 / 3), ("mean-steps", 1 / 6)])
@pytest.mark.parametrize("clip", [0.1, 1e9])
def test_the_step_is_that_of_the_stated_loss(engine, reduction, share, clip):
    model = small(GRU(12, 3, 4, 3)).double()
    fast = engine(model)
    fast.reset(3)
    loss = train(fast, model, 2, 3, rate=0.5, reduction=reduction, clip=clip, dropout=False)
    x, y, _ = window(model, 2, 3)
    with pytest.raises(ValueError, match="sum-steps"):
        train(fast, model, 2, 3, reduction="sum")
    log_p = torch.log_softmax(model(x, model.initial_state(3))[0], 2)
    expected = -sum(log_p[t, b, y[t, b]] for t in range(2) for b in range(3))
    assert loss == pytest.approx(expected.item())
    parameters = list(model.parameters())
    gradients = torch.autograd.grad(expected * share, parameters)
    norm = torch.cat([g.flatten() for g in gradients]).norm().item()
    assert norm > 0.1
    rate = 0.5 * min(1.0, clip / norm)
    stepped = [(p - rate * g).detach() for p, g in zip(parameters, gradients, strict=True)]
    for ours, exact in zip(fast.export().values(), stepped, strict=True):
        torch.testing.assert_close(ours, exact)


@EACH
@pytest.mark.parametrize("engine", [ReferenceEngine, GroupedEngine])
def test_export_and_load_are_exact_copies(engine, name):
    model = small(MODELS[name]())
    fast = engine(model)
    fast.reset(4)
    other = small(MODELS[name](), seed=1)
    export_and_load_are_exact_copies(fast, model, other, lambda: train(fast, model, 6, 4))


@EACH
@pytest.mark.parametrize("engine", [ReferenceEngine, GroupedEngine])
def test_what_was_exported_goes_on_to_the_same_bits(engine, name):
    model = small(MODELS[name]())
    whole = engine(model)
    whole.reset(20)
    train(whole, model, 12, 20)
    again = engine(model)
    again.load(whole.export())
    again.state = tuple(s.clone() for s in whole.state)
    for e in (whole, again):
        train(e, model, 5, 20, seed=1)
    assert same_bits(whole.export(), again.export())
    assert all(torch.equal(*states) for states in zip(whole.state, again.state, strict=True))


@pytest.mark.parametrize("n", [1, 7, 8, 33])
def test_products_of_every_layout(n):
    random = torch.Generator().manual_seed(n)
    x, w, bias = (torch.randn(size, generator=random) for size in ((n, 19), (37, 19), (37,)))
    linear = gemm.linear_for(x)
    exact = x.double() @ w.T.double() + bias.double()
    for weights in (w, w.T.contiguous().T):
        torch.testing.assert_close(linear(x, weights, bias).double(), exact, rtol=1e-5, atol=1e-5)
    wide = torch.randn(n, 40, generator=random)[:, 3:22]
    torch.testing.assert_close(linear(wide, w, None), wide @ w.T, rtol=1e-5, atol=1e-5)
    assert gemm.linear_for(x.double()) is torch.nn.functional.linear


def test_without_onednn_torch_multiplies(monkeypatch):
    def missing(*_):
        raise AttributeError("no such operation")

    model = small(MODELS["r-lstm"]())
    gemm._onednn_works.cache_clear()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(gemm, "_onednn", missing)
            assert gemm.linear_for(torch.ones(1)) is torch.nn.functional.linear
            engines = pair(model, 20)
            for engine in engines:
                train(engine, model, 12, 20, rate=1e5, clip=1.0)
            assert worst_error(*engines, model.state_dict()) < 1e-5
    finally:
        gemm._onednn_works.cache_clear()
