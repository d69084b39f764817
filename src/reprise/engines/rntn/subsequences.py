"""The stretches of text that one update reads: Salle and Villavicencio (ACL 2018), section 4.

Sentences are split into subsequences of 20 words, each one step of stochastic gradient descent. The state is carried
from one to the next and reset between sentences only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from reprise.data.corpus import Split

MAX_LENGTH = 64
"""The longest subsequence, in words: the fused engine sizes its buffers by it."""


@dataclass(frozen=True)
class Subsequences:
    """Subsequence i reads inputs[offsets[i]:offsets[i+1]] and predicts the targets in these places."""

    inputs: np.ndarray  # int32 (n,)
    targets: np.ndarray  # int32 (n,)
    offsets: np.ndarray  # int64 (s+1,)
    reset: np.ndarray  # bool (s,): the state goes back to h_0 before the subsequence
    first_token: int = 0  # place of inputs[0] in the epoch; dropout masks are numbered by it

    def __len__(self) -> int:
        return len(self.reset)

    @property
    def token_count(self) -> int:
        """Return the number of predicted words."""
        return len(self.targets)

    def slice(self, first: int, last: int) -> Subsequences:
        """Return subsequences first .. last-1; the arrays are views."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        return Subsequences(
            self.inputs[begin:end],
            self.targets[begin:end],
            self.offsets[first : last + 1] - begin,
            self.reset[first:last],
            self.first_token + begin,
        )


@dataclass(frozen=True)
class SGDSettings:
    """How an engine makes its SGD steps, one a subsequence.

    Attributes:
        learning_rate: The size of a step.
        reduction: Whether a step descends the "sum" or the "mean" of its words' losses.
        dropout: The probability that a unit is dropped before the softmax.
        key: The key of the dropout masks; see `counters`.
        error_bound: The largest derivative of the step's loss by a unit of a state; 0: none. It holds for the part from
            its output and for that from the next state, as in Mikolov's toolkit ("gradient_cutoff").
    """

    learning_rate: float
    reduction: str
    dropout: float
    key: int
    error_bound: float = 0.0


def cut_subsequences(split: Split, start: int | None, length: int = 20, carry: bool = False) -> Subsequences:
    """Cut the sentences of a corpus split into subsequences of at most `length` words.

    `start`, the id of </s>, is the input before the first word of a sentence. </s> ends each sentence in
    `split.tokens`, so it is predicted and counted. `carry` is for running text: sentence ends are ignored and the state
    is reset before the first subsequence alone. There `start` may be None; the first word is then only read.
    """
    if start is None and not carry:
        raise ValueError("sentences need a start symbol; only running text (carry) goes without")
    tokens = np.ascontiguousarray(split.tokens, dtype=np.int32)
    bounds = np.asarray([0, len(tokens)] if carry else split.offsets, dtype=np.int64)
    inputs, targets = np.empty_like(tokens), tokens
    inputs[1:] = tokens[:-1]
    if start is None:
        inputs, targets = inputs[1:], targets[1:]
        bounds = np.array([0, len(targets)])
    else:
        inputs[bounds[:-1][np.diff(bounds) > 0]] = start
    pieces = -(-np.diff(bounds) // length)  # subsequences a sentence
    within = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    offsets = np.r_[np.repeat(bounds[:-1], pieces) + within * length, bounds[-1]].astype(np.int64)
    return Subsequences(inputs, targets, offsets, within == 0)
