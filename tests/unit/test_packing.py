"""Packing: every prediction of every line once, in its batch, in the order that the engines rely on."""

from __future__ import annotations

import numpy as np
import pytest
from packed_helpers import lines

from reprise.engines.gso.packing import REDUCTIONS, by_length, pack

LENGTHS = [5, 1, 9, 2, 2, 7, 1, 30, 4, 6, 3]


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
    split = lines(50, LENGTHS)
    order = np.random.default_rng(1).permutation(len(LENGTHS))
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
    assert packed.tokens == sum(n - 1 for n in LENGTHS)
    assert packed.lines == sum(n > 1 for n in LENGTHS)
    with pytest.raises(IndexError):
        packed[len(packed)]


def test_each_row_goes_on_from_the_row_of_its_line_in_the_step_before():
    split = lines(50, LENGTHS)
    for batch in pack(split, np.arange(len(LENGTHS)), 5):
        for t in range(1, len(batch.active)):
            now = batch.places[batch.starts[t] : batch.starts[t + 1]]
            before = batch.places[batch.starts[t - 1] : batch.starts[t]][: len(now)]
            assert np.array_equal(now, before + 1)


def test_lines_of_equal_length_keep_their_order():
    split = lines(9, [4, 4, 4, 4])
    (batch,) = pack(split, np.array([2, 0, 3, 1]), 4)
    assert (batch.places[:4] // 4).tolist() == [2, 0, 3, 1]


def test_shares_make_a_mean_over_tokens_or_over_lines():
    split = lines(9, LENGTHS)
    (batch,) = pack(split, np.arange(len(LENGTHS)), 64)
    value = np.random.default_rng(0).random(len(batch))
    line = np.arange(len(batch)) - np.repeat(batch.starts[:-1], batch.active)
    by_line = [value[line == i].mean() for i in range(batch.active[0])]
    for reduction, mean in zip(REDUCTIONS, (value.mean(), np.mean(by_line)), strict=True):
        assert (value * batch.shares(reduction)[line]).sum() == pytest.approx(mean)
    with pytest.raises(ValueError, match="mean-tokens"):
        batch.shares("sum")


def test_longest_lines_come_first_by_length():
    split = lines(9, LENGTHS)
    order = by_length(split, np.array([0, 2, 3, 4, 7]))
    assert order.tolist() == [7, 2, 0, 3, 4]


def test_nothing_to_predict_makes_no_batches():
    packed = pack(lines(9, [1, 1]), np.arange(2), 4)
    assert (len(packed), packed.tokens, packed.lines) == (0, 0, 0)
    with pytest.raises(ValueError, match="batch_size"):
        pack(lines(9, [2]), np.arange(1), 0)
