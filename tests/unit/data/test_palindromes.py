"""Palindromes: mirrored, uniform, reproducible."""

from __future__ import annotations

import pytest
import torch

from reprise.data.synthetic.palindromes import palindromes


def generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("length", [2, 3, 10, 11, 50])
def test_palindromes_read_the_same_backwards(length: int) -> None:
    inputs, targets = palindromes(length, 64, generator())
    assert inputs.shape == (length - 1, 64)
    assert targets.shape == (64,)
    assert inputs.dtype == targets.dtype == torch.int64
    whole = torch.cat([inputs, targets[None]])
    assert torch.equal(whole, whole.flip(0))
    assert torch.equal(targets, inputs[0])


def test_left_half_is_uniform_and_independent() -> None:
    inputs, _ = palindromes(5, 40_000, generator())
    left = inputs[:3]  # (3, B): two mirrored digits and the middle one
    for row in left:
        shares = torch.bincount(row, minlength=10) / 40_000
        assert len(shares) == 10
        assert (shares - 0.1).abs().max() < 0.0075
    for a, b in ((0, 1), (0, 2), (1, 2)):
        agree = (left[a] == left[b]).double().mean()
        assert abs(agree - 0.1) < 0.0075


def test_batches_follow_the_generator() -> None:
    source = generator(7)
    first, second = palindromes(10, 8, source), palindromes(10, 8, source)
    assert not torch.equal(first[0], second[0])
    assert torch.equal(first[0], palindromes(10, 8, generator(7))[0])
    assert not torch.equal(first[0], palindromes(10, 8, generator(8))[0])


@pytest.mark.parametrize(("length", "batch"), [(1, 4), (0, 4), (10, 0)])
def test_sizes_that_make_no_sense(length: int, batch: int) -> None:
    with pytest.raises(ValueError, match="length >= 2"):
        palindromes(length, batch, generator())
