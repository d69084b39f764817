"""Palindromes: mirrored, uniform, reproducible."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch

from reprise.data.synthetic.palindromes import palindromes


def generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("length", [2, 3, 10, 11, 50])
def test_palindromes_read_the_same_backwards(length):
    inputs, targets = palindromes(length, 64, generator())
    assert (inputs.shape, targets.shape) == ((length - 1, 64), (64,))
    assert inputs.dtype == targets.dtype == torch.int64
    whole = torch.cat([inputs, targets[None]])
    assert torch.equal(whole, whole.flip(0))


def test_left_half_is_uniform_and_independent():
    left = palindromes(5, 40_000, generator())[0][:3]  # (3, B): two mirrored digits and the middle one
    for row in left:
        shares = torch.bincount(row, minlength=10) / 40_000
        assert len(shares) == 10
        assert (shares - 0.1).abs().max() < 0.0075
    for a, b in combinations(left, 2):
        assert abs((a == b).double().mean() - 0.1) < 0.0075


def test_batches_follow_the_generator():
    source = generator(7)
    first, second = palindromes(10, 8, source)[0], palindromes(10, 8, source)[0]
    assert not torch.equal(first, second)
    assert torch.equal(first, palindromes(10, 8, generator(7))[0])
    assert not torch.equal(first, palindromes(10, 8, generator(8))[0])
