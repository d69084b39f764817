"""Words that a model of windows writes, drawn from its own distribution (equation 14 of document 004)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from reprise import counters


def continuations(
    log_probabilities: Callable[[Tensor], Tensor], start: Sequence[int], count: int, words: int, key: int
) -> list[list[int]]:
    """`count` texts of so many words, each drawn from p and read as the next input, after the words `start`.

    log_probabilities: windows (W, B) int64 -> (B, V), nats. The random numbers are those of `key` alone.
    """
    window = torch.tensor(start, dtype=torch.int64)[:, None].repeat(1, count)  # (W, count)
    numbers = counters.uniform32(key, 0, words * count).reshape(words, count)
    drawn = []
    for number in (numbers + 0.5) / 2**32:
        total = np.cumsum(log_probabilities(window).double().exp().numpy(), axis=1)  # (count, V)
        # The sum may end a rounding error away from 1: the number is a share of it.
        chosen = [int(np.searchsorted(row, u * row[-1])) for row, u in zip(total, number, strict=True)]
        drawn.append(chosen)
        window = torch.cat([window[1:], torch.tensor([chosen])])
    return [list(text) for text in zip(*drawn, strict=True)]
