"""Lines packed, the loss of document 000's reference engine, and what the fast one makes of networks that explode."""

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler
from torch.nn import functional

from reprise.data.corpus import Split
from reprise.engines.gso.native import FusedEngine
from reprise.engines.gso.packing import REDUCTIONS, pack
from reprise.engines.gso.reference import ReferenceEngine
from reprise.models.gso import GSO

PREDICTED = [5, 1, 9, 2, 2, 7, 1, 30, 4, 6, 3]
LENGTHS = [23, 1, 2, 9, 9, 40, 3, 17, 5, 31, 2, 12, 8]


def lines(n: int, lengths: list[int]) -> Split:
    """Lines of random symbols with so many tokens each."""
    tokens = np.random.default_rng(0).integers(0, n, sum(lengths), dtype=np.int32)
    return Split(tokens, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def drawn(n: int, H: int, M: int, activation: str) -> GSO:
    model, generator = GSO(n, H, M, True, True, activation), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(0.0, 0.2, generator=generator)
    return model


def test_the_reference_is_the_loss_of_every_line_by_itself():
    model, split = drawn(9, 12, 10, "tanh").double(), lines(9, LENGTHS)
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
def test_an_exploding_network_has_a_loss_that_is_not_finite():
    model = drawn(6, 8, 9, "identity")
    with torch.no_grad():
        model.E.mul_(1e6)
    (batch,) = pack(lines(6, [60, 60]), np.arange(2), 64)
    kernel = FusedEngine(model)
    assert not np.isfinite(kernel.train(batch, "mean-tokens"))
    assert not np.isfinite(kernel.evaluate(batch)[0].mean())


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
