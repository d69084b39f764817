"""Lines packed, and the engine on packed rows against the readable models of document 000 in float64."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler
from packed_helpers import lines
from torch.nn import functional

from reprise.engines.gso.native import FusedEngine
from reprise.engines.gso.packing import REDUCTIONS, PackedBatch, pack
from reprise.engines.gso.reference import ReferenceEngine
from reprise.models.gso import GSO, FirstOrder, MultiplicativeIntegration, SymbolModel

# (vocabulary n, hidden H, second order M, activation) -> model
FAMILIES = {
    "gso": lambda n, H, M, act: GSO(n, H, M, True, True, act),
    "gso without E": lambda n, H, M, act: GSO(n, H, M, True, False, act),
    "gso without D": lambda n, H, M, act: GSO(n, H, M, False, True, act),
    "gso without D, E": lambda n, H, M, act: GSO(n, H, M, False, False, act),
    "first-order": lambda n, H, M, act: FirstOrder(n, H, act),
    "mi-rnn simple": lambda n, H, M, act: MultiplicativeIntegration(n, H, act, "simple"),
    "mi-rnn general": lambda n, H, M, act: MultiplicativeIntegration(n, H, act, "general"),
}


def drawn(family: str, n: int, H: int, M: int, activation: str, seed: int = 0) -> SymbolModel:
    """Normal weights under which states neither vanish nor explode over a hundred steps."""
    model = FAMILIES[family](n, H, M, activation)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            between_states = name in ("A", "C", "E", "W")
            std = 0.6 / p.shape[1] ** 0.5 if between_states else 0.4
            p.copy_(std * torch.randn(p.shape, generator=generator))
    return model


# (n, H, M): on both sides of whole vectors (4, 8, 16), of panels (2 and 3 of them) and of blocks of rows (5, 8).
SIZES = [(27, 37, 50), (703, 20, 33), (5, 1, 1), (27, 130, 16), (27, 48, 96), (40, 65, 7)]
PREDICTED = [5, 1, 9, 2, 2, 7, 1, 30, 4, 6, 3]
LENGTHS = [23, 1, 2, 9, 9, 40, 3, 17, 5, 31, 2, 12, 8]


@pytest.mark.parametrize("activation", ["tanh", "identity"])
@pytest.mark.parametrize("family", FAMILIES)
@needs_compiler
def test_losses_and_gradients_are_those_of_the_readable_model_in_float64(family, activation):
    for n, H, M in SIZES:
        model, split = drawn(family, n, H, M, activation), lines(n, LENGTHS)
        batches = pack(split, np.random.default_rng(2).permutation(len(LENGTHS)), 7)
        for batch, reduction in zip(batches, REDUCTIONS, strict=True):
            assert error(model, batch, reduction) < 1e-5, (n, H, M)


def error(model: SymbolModel, batch: PackedBatch, reduction: str) -> float:
    """The largest relative error of loss, losses of rows and gradients against the readable model in float64."""
    exact, fast = copy.deepcopy(model).double(), copy.deepcopy(model)
    reference = ReferenceEngine(exact)
    ours = FusedEngine(fast)
    rows, best = reference.evaluate(batch)
    found, symbols = ours.evaluate(batch)
    assert symbols.dtype == np.int32
    assert np.array_equal(symbols, best)
    loss, true = ours.train(batch, reduction), reference.train(batch, reduction)
    errors = [abs(loss - true) / true, np.abs(found - rows).max() / rows.max()]
    for (name, p), q in zip(fast.named_parameters(), exact.parameters(), strict=True):
        assert p.grad.shape == q.shape, name
        size = q.grad.norm()
        difference = (p.grad.double() - q.grad).norm()
        # a batch of one step has no gradient of the matrices between states
        errors.append((difference / size).item() if size else difference.item())
    return max(errors)


@pytest.mark.parametrize("lengths", [[2], [2, 2, 2], [7], [9, 2, 2, 2], [150]], ids=str)
@pytest.mark.parametrize("family", ["gso", "gso without D, E", "mi-rnn general"])
@needs_compiler
def test_batches_of_one_step_and_of_one_line(family, lengths):
    (batch,) = pack(lines(6, lengths), np.arange(len(lengths)), 64)
    for reduction in REDUCTIONS:
        assert error(drawn(family, 6, 19, 21, "tanh"), batch, reduction) < 1e-5


def test_the_reference_is_the_loss_of_every_line_by_itself():
    model, split = drawn("gso", 9, 12, 10, "tanh").double(), lines(9, LENGTHS)
    (batch,) = pack(split, np.arange(len(LENGTHS)), 64)
    engine = ReferenceEngine(model)
    nats, best = engine.evaluate(batch)
    total, parameters = 0.0, list(model.parameters())
    for first, last in zip(split.offsets[:-1], split.offsets[1:], strict=True):
        if last - first < 2:
            continue
        tokens = torch.from_numpy(split.tokens[first:last]).long()
        logits = model(tokens[:-1, None])[:, 0]
        losses = functional.cross_entropy(logits, tokens[1:], reduction="none")
        total = total + losses.mean()
        inside = (batch.places > first) & (batch.places < last)
        assert nats[inside] == pytest.approx(losses.detach().numpy())
        assert best[inside].tolist() == logits.argmax(1).tolist()
    expected = torch.autograd.grad(total / batch.active[0], parameters)
    loss = engine.train(batch, "mean-lines")
    assert loss == pytest.approx(nats.sum())
    for parameter, gradient in zip(parameters, expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient)


@needs_compiler
@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_batch_gives_the_same_bits_whatever_was_computed_before(family):
    split = lines(11, [40, 3, 9, 60, 2, 8, 17, 5])
    small, large = (pack(split, np.arange(count), 64)[0] for count in (3, 8))
    found = []
    for earlier in ([], [large, small], [small, small, large]):
        model = drawn(family, 11, 37, 29, "tanh")
        kernel = FusedEngine(model)
        for batch in earlier:
            kernel.train(batch, "mean-lines")
            kernel.evaluate(batch)
        loss = kernel.train(small, "mean-tokens")
        found.append((loss, [p.grad for p in model.parameters()]))
    for loss, gradients in found[1:]:
        assert loss == found[0][0]
        assert all(torch.equal(a, b) for a, b in zip(gradients, found[0][1], strict=True))


@needs_compiler
@pytest.mark.parametrize("family", ["gso", "first-order"])
def test_an_exploding_network_has_a_loss_that_is_not_finite_and_other_symbols_are_refused(family):
    model = drawn(family, 6, 8, 9, "identity")
    with torch.no_grad():
        (model.E if family == "gso" else model.W).mul_(1e6)
    (batch,) = pack(lines(6, [60, 60]), np.arange(2), 64)
    kernel = FusedEngine(model)
    assert not np.isfinite(kernel.train(batch, "mean-tokens"))
    assert not np.isfinite(kernel.evaluate(batch)[0].mean())
    (batch,) = pack(lines(8, LENGTHS), np.arange(len(LENGTHS)), 64)
    with pytest.raises(ValueError, match=r"0 \.\. 5"):
        kernel.train(batch, "mean-tokens")


def by_loops(split, order, size):
    """The same packing, written as it is described."""
    chosen = [i for i in order if split.offsets[i + 1] - split.offsets[i] > 1]
    batches = []
    for start in range(0, len(chosen), size):
        batch = sorted(chosen[start : start + size], key=lambda i: split.offsets[i] - split.offsets[i + 1])
        predictions = [split.offsets[i + 1] - split.offsets[i] - 1 for i in batch]
        places = [split.offsets[i] + t + 1 for t in range(max(predictions)) for i in batch if _goes_on(split, i, t)]
        active = [sum(p > t for p in predictions) for t in range(max(predictions))]
        batches.append((places, active, predictions))
    return batches


def _goes_on(split, i, t):
    return t < split.offsets[i + 1] - split.offsets[i] - 1


@pytest.mark.parametrize("size", [1, 3, 4, 64])
def test_packed_rows_are_those_of_the_description(size):
    split = lines(50, PREDICTED)
    order = np.random.default_rng(1).permutation(len(PREDICTED))
    packed, expected = pack(split, order, size), by_loops(split, order.tolist(), size)
    assert len(packed) == len(expected)
    for batch, (places, active, lengths) in zip(packed, expected, strict=True):
        assert batch.places.tolist() == places
        assert batch.active.tolist() == active
        assert batch.lengths.tolist() == lengths
        assert np.array_equal(batch.targets, split.tokens[batch.places])
        assert np.array_equal(batch.inputs, split.tokens[batch.places - 1])
        assert batch.starts.tolist() == [0, *np.cumsum(active)]
        assert len(batch) == batch.starts[-1] == sum(lengths)


def test_shares_make_a_mean_over_tokens_or_over_lines():
    split = lines(9, PREDICTED)
    (batch,) = pack(split, np.arange(len(PREDICTED)), 64)
    value = np.random.default_rng(0).random(len(batch))
    line = np.arange(len(batch)) - np.repeat(batch.starts[:-1], batch.active)
    by_line = [value[line == i].mean() for i in range(batch.active[0])]
    for reduction, mean in zip(REDUCTIONS, (value.mean(), np.mean(by_line)), strict=True):
        assert (value * batch.shares(reduction)[line]).sum() == pytest.approx(mean)
    with pytest.raises(ValueError, match="mean-tokens"):
        batch.shares("sum")
