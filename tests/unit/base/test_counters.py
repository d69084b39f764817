"""The counter-based random numbers: published values, twins, independence of slicing."""

import math

import numpy as np
import pytest
import torch

from reprise import counters

KEYS = (0, 1, counters.compute_key(7, 3), 2**64 - 1)


def test_stream_of_key_zero_is_splitmix64_with_seed_zero():
    # First outputs of splitmix64 seeded with 0, as public implementations list them; the upper halves count.
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    np.testing.assert_array_equal(counters.draw_uniform32(0, 0, 4), [word >> 32 for word in published])


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("start", [0, 5, 2**33 + 1])
def test_torch_twin_gives_the_same_numbers(key, start):
    ours, twin = counters.draw_uniform32(key, start, 1000), counters.draw_uniform32_torch(key, start, 1000)
    np.testing.assert_array_equal(twin.numpy(), ours.astype(np.int64))


def test_keys_depend_on_every_integer_and_on_their_order():
    keys = {counters.compute_key(*stream) for stream in [(1,), (2,), (1, 2), (2, 1), (1, 2, 0), (-1,), (1, 0)]}
    assert len(keys) == 7
    assert all(0 <= key < 2**64 for key in keys)


def test_numbers_are_uniform_and_uncorrelated():
    x = counters.draw_uniform32(counters.compute_key(11), 0, 200_000) / 2.0**32
    y = counters.draw_uniform32(counters.compute_key(12), 0, 200_000) / 2.0**32
    assert abs(x.mean() - 0.5) < 5 / math.sqrt(12 * len(x))
    assert abs(np.corrcoef(x, y)[0, 1]) < 5 / math.sqrt(len(x))
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 5 / math.sqrt(len(x))
    counts = np.histogram(x, bins=64, range=(0, 1))[0]
    expected = len(x) / 64
    assert ((counts - expected) ** 2 / expected).sum() < 130  # chi-squared, 63 degrees: above with p < 1e-6


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.75])
def test_dropout_mask_keeps_the_stated_share_and_scales_it(p):
    mask = counters.draw_dropout_mask(3, 0, 400, 100, p)
    nonzero = mask != 0
    assert set(np.unique(mask)) <= {np.float32(0), np.float32(1 / (1 - p))}
    assert abs(nonzero.mean() - (1 - p)) <= 5 * math.sqrt(p * (1 - p) / mask.size)


def test_dropout_mask_does_not_depend_on_the_cut_of_the_epoch():
    tokens, hidden = 7000, 7  # more numbers than are drawn at once
    mask = counters.draw_dropout_mask(9, 0, tokens, hidden, 0.5)
    np.testing.assert_array_equal(counters.draw_dropout_mask(9, 10, 5, hidden, 0.5), mask[10:15])
    numbers = counters.draw_uniform32(9, 0, tokens * hidden).reshape(tokens, hidden)
    np.testing.assert_array_equal(mask, np.where(numbers >= counters.compute_dropout_threshold(0.5), 2, 0))


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_torch_draws_the_same_dropout_masks(p, dtype):
    mask = torch.from_numpy(counters.draw_dropout_mask(9, 10, 5, 7, p)).to(dtype)
    assert torch.equal(counters.draw_dropout_mask_torch(9, 10, 5, 7, p, dtype=dtype), mask)
    assert torch.equal(counters._draw_mask_by_torch(9, 10, 5, 7, p, "cpu", dtype), mask)  # as on a GPU


@pytest.mark.parametrize("p", [-0.1, 1.0])
def test_dropout_outside_its_range_is_refused(p):
    with pytest.raises(ValueError, match="dropout"):
        counters.draw_dropout_mask(0, 0, 1, 1, p)
