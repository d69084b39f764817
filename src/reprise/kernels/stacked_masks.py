"""Dropout masks of all replicas of a stack, on the device: the bits of `training/counters.py`, a key a replica."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from reprise import counters


class StackedMasks:
    """Masks of R replicas, each with its own rate of dropout and its own key."""

    def __init__(self, dropouts: Sequence[float], device: torch.device, dtype: torch.dtype) -> None:
        self.keys = torch.zeros(len(dropouts), dtype=torch.int64, device=device)
        self.thresholds = torch.tensor([counters.dropout_threshold(p) for p in dropouts], device=device)
        self.scales = torch.tensor([float(np.float32(1.0 / (1.0 - p))) for p in dropouts], dtype=dtype, device=device)

    def set_keys(self, keys: Sequence[int]) -> None:
        """A key a replica, 0 <= key < 2**64, from now on."""
        self.keys.copy_(torch.tensor([counters.signed(key) for key in keys]))

    def fill(self, out: Tensor, ladder: Tensor, first: Tensor | int, replicas_at: int) -> None:
        """The masks of n words of width W into `out`, (n, R, W) with `replicas_at` 1, (R, n, W) with 0.

        `ladder` is `ladder_of(n, W)`; `first` the place of the first word in the epoch.
        """
        W = ladder.shape[1]
        numbers = (ladder + first * W).mul_(counters.signed(counters.GOLDEN)).unsqueeze(replicas_at)
        shape = [1, 1, 1]
        shape[replicas_at] = -1
        kept = uniform32_of(numbers + self.keys.view(shape)) >= self.thresholds.view(shape)
        torch.mul(kept, self.scales.view(shape), out=out)


def uniform32_of(z: Tensor) -> Tensor:
    """The numbers of `counters.uniform32` from key + GOLDEN (1 + counter), int64, which is used up."""
    shifted = torch.empty_like(z)
    for bits, factor in ((30, counters.FIRST), (27, counters.SECOND)):
        z.bitwise_xor_(_shift(z, bits, shifted)).mul_(counters.signed(factor))
    z.bitwise_xor_(_shift(z, 31, shifted))
    return _shift(z, 32, shifted)


def ladder_of(words: int, width: int, device: torch.device) -> Tensor:
    """1 + i W + j for unit j of word i, (n, W) int64: the counters' part that does not depend on the place."""
    return torch.arange(1, words * width + 1, device=device).view(words, width)


def _shift(z: Tensor, bits: int, out: Tensor) -> Tensor:
    """A logical shift to the right: torch's on int64 repeats the sign bit."""
    return torch.bitwise_right_shift(z, bits, out=out).bitwise_and_((1 << (64 - bits)) - 1)
