"""The engines on packed rows, against the readable models of document 000 in float64 on padded batches."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from compiler_helpers import chosen_without_compiler, needs_compiler, use_compiler_without_native
from packed_helpers import ENGINES, FAMILIES, drawn, error, lines
from torch import nn
from torch.nn import functional

from reprise.engines.gso.choose import choose_packed_engine
from reprise.engines.gso.packing import REDUCTIONS, pack
from reprise.engines.gso.reference import PaddedEngine
from reprise.errors import UserError

BOTH = [pytest.param("fused", marks=needs_compiler)]
# (n, H, M): on both sides of whole vectors (4, 8, 16), of panels (2 and 3 of them) and of blocks of rows (5, 8).
SIZES = [(27, 37, 50), (703, 20, 33), (5, 1, 1), (27, 130, 16), (27, 48, 96), (40, 65, 7)]
LENGTHS = [23, 1, 2, 9, 9, 40, 3, 17, 5, 31, 2, 12, 8]


@pytest.mark.parametrize("activation", ["tanh", "identity"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("engine", BOTH)
def test_losses_and_gradients_are_those_of_the_readable_model_in_float64(engine, family, activation):
    for n, H, M in SIZES:
        model, split = drawn(family, n, H, M, activation), lines(n, LENGTHS)
        batches = pack(split, np.random.default_rng(2).permutation(len(LENGTHS)), 7)
        for batch, reduction in zip(batches, REDUCTIONS, strict=True):
            assert error(ENGINES[engine], model, batch, reduction) < 1e-5, (n, H, M)


@pytest.mark.parametrize("engine", BOTH)
def test_random_sizes_and_many_lines(engine):
    random = np.random.default_rng(11)
    for seed, family in enumerate(FAMILIES):
        n, H, M, count = random.integers(2, (80, 150, 150, 80)).tolist()
        split = lines(n, random.integers(2, 60, count).tolist(), seed)
        (batch,) = pack(split, np.arange(count), count)
        assert error(ENGINES[engine], drawn(family, n, H, M, "tanh", seed), batch, "mean-tokens") < 1e-5, (n, H, M)


@pytest.mark.parametrize("lengths", [[2], [2, 2, 2], [7], [9, 2, 2, 2], [150]], ids=str)
@pytest.mark.parametrize("family", ["gso", "gso without D, E", "mi-rnn general"])
@pytest.mark.parametrize("engine", BOTH)
def test_batches_of_one_step_and_of_one_line(engine, family, lengths):
    (batch,) = pack(lines(6, lengths), np.arange(len(lengths)), 64)
    for reduction in REDUCTIONS:
        assert error(ENGINES[engine], drawn(family, 6, 19, 21, "tanh"), batch, reduction) < 1e-5


def test_the_reference_is_the_loss_of_every_line_by_itself():
    model, split = drawn("gso", 9, 12, 10, "tanh").double(), lines(9, LENGTHS)
    (batch,) = pack(split, np.arange(len(LENGTHS)), 64)
    engine = PaddedEngine(model)
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


@pytest.mark.parametrize("engine", BOTH)
def test_most_probable_symbols(engine):
    model = drawn("gso", 27, 30, 30, "tanh")
    (batch,) = pack(lines(27, LENGTHS), np.arange(len(LENGTHS)), 64)
    _, best = ENGINES[engine](model).evaluate(batch)
    _, expected = PaddedEngine(copy.deepcopy(model).double()).evaluate(batch)
    assert best.dtype == np.int32
    assert np.array_equal(best, expected)


@pytest.mark.parametrize("engine", BOTH)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_batch_gives_the_same_bits_whatever_was_computed_before(engine, family):
    split = lines(11, [40, 3, 9, 60, 2, 8, 17, 5])
    small, large = (pack(split, np.arange(count), 64)[0] for count in (3, 8))
    found = []
    for earlier in ([], [large, small], [small, small, large]):
        model = drawn(family, 11, 37, 29, "tanh")
        kernel = ENGINES[engine](model)
        for batch in earlier:
            kernel.train(batch, "mean-lines")
            kernel.evaluate(batch)
        loss = kernel.train(small, "mean-tokens")
        found.append((loss, [p.grad for p in model.parameters()]))
    for loss, gradients in found[1:]:
        assert loss == found[0][0]
        assert all(torch.equal(a, b) for a, b in zip(gradients, found[0][1], strict=True))


@pytest.mark.parametrize("engine", BOTH)
def test_the_parameters_of_the_moment_are_used(engine):
    model = drawn("gso", 6, 8, 9, "tanh")
    (batch,) = pack(lines(6, LENGTHS), np.arange(len(LENGTHS)), 64)
    kernel = ENGINES[engine](model)
    before = kernel.train(batch, "mean-tokens")
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.5 * p.grad
    after = kernel.train(batch, "mean-tokens")
    assert after < before
    assert after == pytest.approx(PaddedEngine(copy.deepcopy(model)).train(batch, "mean-tokens"), rel=1e-5)


@pytest.mark.parametrize("engine", BOTH)
@pytest.mark.parametrize("family", ["gso", "first-order"])
def test_an_exploding_network_has_a_loss_that_is_not_finite(engine, family):
    model = drawn(family, 6, 8, 9, "identity")
    with torch.no_grad():
        (model.E if family == "gso" else model.W).mul_(1e6)
    (batch,) = pack(lines(6, [60, 60]), np.arange(2), 64)
    kernel = ENGINES[engine](model)
    assert not np.isfinite(kernel.train(batch, "mean-tokens"))
    assert not np.isfinite(kernel.evaluate(batch)[0].mean())


@needs_compiler
def test_logits_far_apart():
    model = drawn("gso", 27, 16, 16, "tanh")
    with torch.no_grad():
        model.V.mul_(300)
    (batch,) = pack(lines(27, LENGTHS), np.arange(len(LENGTHS)), 64)
    found, _ = ENGINES["fused"](model).evaluate(batch)
    expected, _ = PaddedEngine(copy.deepcopy(model).double()).evaluate(batch)
    assert expected.max() > 500
    assert np.abs(found - expected).max() < 1e-5 * expected.max()


@needs_compiler
def test_symbols_of_another_model_are_refused():
    kernel = ENGINES["fused"](drawn("gso", 6, 8, 9, "tanh"))
    (batch,) = pack(lines(8, LENGTHS), np.arange(len(LENGTHS)), 64)
    with pytest.raises(ValueError, match=r"0 \.\. 5"):
        kernel.train(batch, "mean-tokens")


@needs_compiler
def test_names_of_engines():
    model = drawn("gso", 6, 8, 9, "tanh")
    names = ("auto", "fused", "reference")
    assert [choose_packed_engine(n, model).name for n in names] == ["fused", "fused", "reference"]
    with pytest.raises(UserError, match="hand is none of auto, reference, fused"):
        choose_packed_engine("hand", model)
    double = drawn("gso", 6, 8, 9, "tanh").double()
    assert choose_packed_engine("auto", double).name == "reference"
    with pytest.raises(UserError, match="float32 only; choose engine: reference"):
        choose_packed_engine("fused", double)
    for engine in ENGINES.values():
        with pytest.raises(TypeError, match="not Linear"):
            engine(nn.Linear(2, 2))


def test_without_a_compiler_auto_is_torch(fresh_build, monkeypatch, capsys):
    model = drawn("gso", 6, 8, 9, "tanh")
    chosen = chosen_without_compiler(lambda name: choose_packed_engine(name, model), monkeypatch, capsys)
    assert chosen.name == "reference"


@needs_compiler
def test_a_compiler_without_native_makes_a_correct_library_for_the_plainest_cpu(fresh_build, monkeypatch):
    use_compiler_without_native(fresh_build, monkeypatch)
    (batch,) = pack(lines(27, LENGTHS), np.arange(len(LENGTHS)), 64)
    for family in FAMILIES:
        assert error(ENGINES["fused"], drawn(family, 27, 21, 34, "tanh"), batch, "mean-tokens") < 1e-5
