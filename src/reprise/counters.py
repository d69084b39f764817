"""Counter-based random numbers: number i of a stream is a function of (key, i) and of nothing else.

A generator with a state would tie a replica's numbers to how many were drawn before. So they would depend on the
engine, on the slicing of the data and on who trains beside it. Here every engine computes the numbers it needs, in any
order. The mixing function is the finaliser of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
generators", OOPSLA 2014). Its C++ twin is in `engines/rntn/`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # generated texts are made where torch is not installed
    import torch

GOLDEN = 0x9E3779B97F4A7C15  # 2**64 / golden ratio, odd: successive counters land far apart
FIRST = 0xBF58476D1CE4E5B9
SECOND = 0x94D049BB133111EB
WORD = (1 << 64) - 1
_NUMBERS_AT_ONCE = 1 << 15  # of a mask: they stay in a core's cache, which takes less than half of the time


def compute_key(seed: int, *stream: int) -> int:
    """Compute the key of a stream, 0 <= key < 2**64: `compute_key(seed, purpose, epoch)` and so on, in this order."""
    value = 0
    for number in (seed, *stream):
        value = mix_bits(((value ^ (int(number) & WORD)) + GOLDEN) & WORD)
    return value


def draw_uniform64(key: int, start: int, count: int) -> np.ndarray:
    """Draw numbers start .. start+count-1 of the stream: (count,) uint64, uniform over 0 .. 2**64-1."""
    z = np.arange(start + 1, start + 1 + count, dtype=np.uint64)
    z *= np.uint64(GOLDEN)  # arrays wrap around silently
    z += np.uint64(key)
    z ^= z >> np.uint64(30)
    z *= np.uint64(FIRST)
    z ^= z >> np.uint64(27)
    z *= np.uint64(SECOND)
    z ^= z >> np.uint64(31)
    return z


def draw_uniform32(key: int, start: int, count: int) -> np.ndarray:
    """Draw the upper halves of these numbers: (count,) uint32, uniform over 0 .. 2**32-1."""
    return (draw_uniform64(key, start, count) >> np.uint64(32)).astype(np.uint32)


def draw_uniform32_torch(key: int, start: int, count: int, device: torch.device | str = "cpu") -> torch.Tensor:
    """Draw the numbers of `draw_uniform32` as (count,) int64 on `device`: torch hardly computes in uint32."""
    import torch

    counters = torch.arange(start + 1, start + 1 + count, dtype=torch.int64, device=device)
    z = counters * convert_to_signed(GOLDEN) + convert_to_signed(key)
    z = (z ^ _shift_right(z, 30)) * convert_to_signed(FIRST)
    z = (z ^ _shift_right(z, 27)) * convert_to_signed(SECOND)
    return _shift_right(z ^ _shift_right(z, 31), 32)


def compute_dropout_threshold(p: float) -> int:
    """Compute ceil(p * 2**32): a unit is kept iff its number reaches it. ValueError unless 0 <= p < 1."""
    if not 0.0 <= p < 1.0:
        raise ValueError(f"dropout must be in [0, 1), not {p}")
    return math.ceil(p * 2**32)


def draw_dropout_mask(key: int, first_token: int, tokens: int, hidden: int, p: float) -> np.ndarray:
    """Draw a mask of inverted dropout, (tokens, hidden) float32: 0 with probability p, else 1/(1-p).

    Unit j of token t of the epoch takes number t*hidden + j. So a mask does not depend on how the epoch was cut.
    """
    start, count, threshold = first_token * hidden, tokens * hidden, compute_dropout_threshold(p)
    mask, scale = np.empty(count, np.float32), np.float32(1.0 / (1.0 - p))
    for first in range(0, count, _NUMBERS_AT_ONCE):
        part = mask[first : first + _NUMBERS_AT_ONCE]
        is_kept = draw_uniform64(key, start + first, len(part)) >> np.uint64(32) >= threshold
        np.multiply(is_kept, scale, out=part)
    return mask.reshape(tokens, hidden)


def draw_dropout_mask_torch(
    key: int,
    first_token: int,
    tokens: int,
    hidden: int,
    p: float,
    device: torch.device | str = "cpu",
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """Draw the same mask as `draw_dropout_mask`, (tokens, hidden), on `device`, in float32 or `dtype`."""
    import torch

    if torch.device(device).type == "cpu":  # numpy is faster there
        return torch.from_numpy(draw_dropout_mask(key, first_token, tokens, hidden, p)).to(dtype or torch.float32)
    return _draw_mask_by_torch(key, first_token, tokens, hidden, p, device, dtype or torch.float32)


def _draw_mask_by_torch(
    key: int, first_token: int, tokens: int, hidden: int, p: float, device: torch.device | str, dtype: torch.dtype
) -> torch.Tensor:
    numbers = draw_uniform32_torch(key, first_token * hidden, tokens * hidden, device)
    scale = float(np.float32(1.0 / (1.0 - p)))
    return ((numbers >= compute_dropout_threshold(p)).to(dtype) * scale).view(tokens, hidden)


def mix_bits(z: int) -> int:
    """Apply the finaliser of splitmix64 to 0 <= z < 2**64."""
    z = ((z ^ (z >> 30)) * FIRST) & WORD
    z = ((z ^ (z >> 27)) * SECOND) & WORD
    return z ^ (z >> 31)


def convert_to_signed(value: int) -> int:
    """Return the int64 with the bits of the uint64 `value`."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _shift_right(z: torch.Tensor, bits: int) -> torch.Tensor:
    """Shift to the right logically: torch's `>>` on int64 repeats the sign bit."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)
