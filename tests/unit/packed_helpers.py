"""What the tests of document 000's engine share: lines."""

from __future__ import annotations

import numpy as np

from reprise.data.corpus import Split


def lines(n: int, lengths: list[int], seed: int = 0) -> Split:
    """Lines of random symbols with so many tokens each."""
    tokens = np.random.default_rng(seed).integers(0, n, sum(lengths), dtype=np.int32)
    return Split(tokens, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
