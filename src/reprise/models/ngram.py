"""An n-gram model of tokens in lines, interpolated after Witten and Bell: the yardstick beside document 000's networks.

    P_k(w | c) = (C(c w) + T(c) P_{k-1}(w | c')) / (C(c) + T(c))

c is the k tokens before w, c' the last k - 1 of them, C a count in the training lines and T(c) how many different
tokens followed c there; P_{-1} = 1 / V. After a context that was never seen P_k is P_{k-1}. This is method C of Witten
and Bell, "The zero-frequency problem" (IEEE Transactions on Information Theory, 1991), in the recursive form of Chen
and Goodman (1998). What stands before a line is a boundary symbol, which is never predicted; as for the networks, a
line's first token is not predicted either, and its end is no token.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reprise.data.corpus import Split
from reprise.errors import UserError
from reprise.options import COUNT


@dataclass(frozen=True)
class Predictions:
    """The predicted tokens of some lines, n of them, and what stands before each."""

    targets: np.ndarray  # (n,) int64
    before: np.ndarray  # (contexts, n) int32: row j - 1 is the token j before, plus 1; 0 outside the line
    places: np.ndarray  # (n,) int64: where in the split's tokens each target stands, increasing

    @classmethod
    def of(cls, split: Split, chosen: np.ndarray, contexts: int) -> Predictions:
        """The predictions on the lines where `chosen` (lines,) is True, with `contexts` tokens of context."""
        lengths = np.diff(split.offsets)
        line = np.repeat(np.arange(len(lengths)), lengths)
        place = np.arange(len(split.tokens)) - split.offsets[line]
        at = np.flatnonzero(chosen[line] & (place > 0))
        before = np.zeros((contexts, len(at)), np.int32)
        for j in range(1, contexts + 1):
            inside = place[at] >= j
            before[j - 1, inside] = split.tokens[at[inside] - j] + 1
        return cls(split.tokens[at].astype(np.int64), before, at)

    def context(self, k: int, vocabulary: int) -> np.ndarray:
        """The k tokens before each target as one number in base V + 1, (n,) int64."""
        code = np.zeros(len(self.targets), np.int64)
        for row in self.before[:k][::-1]:
            code = code * (vocabulary + 1) + row
        return code


@dataclass(frozen=True)
class NGram:
    """An `order`-gram model of V tokens: contexts of 0 to `order` - 1 tokens.

    Raises UserError for an order below 1, and where a context of so many tokens has no number of 63 bits.
    """

    OPTIONS = {"order": COUNT, "smoothing": ("witten-bell",)}

    vocabulary: int
    order: int
    smoothing: str

    def __post_init__(self) -> None:
        if self.order < 1 or (self.vocabulary + 1) ** (self.order - 1) * self.vocabulary >= 1 << 63:
            raise UserError(
                f"model n-gram: option order: {self.order} is below 1, or too large for {self.vocabulary} symbols; "
                "choose another"
            )

    def predictions(self, split: Split, chosen: np.ndarray) -> Predictions:
        return Predictions.of(split, chosen, self.order - 1)

    def uniform(self, held_out: Predictions) -> np.ndarray:
        """P_{-1} of every target, (n,)."""
        return np.full(len(held_out.targets), 1.0 / self.vocabulary)

    def count(self, training: Predictions, k: int) -> Counts:
        """C and T of the contexts of k tokens."""
        pairs = training.context(k, self.vocabulary) * self.vocabulary + training.targets
        ngrams, counts = np.unique(pairs, return_counts=True)
        contexts, first = np.unique(ngrams // self.vocabulary, return_index=True)
        types = np.diff(first, append=len(ngrams))
        return Counts(self.vocabulary, k, ngrams, counts, contexts, np.add.reduceat(counts, first), types)


@dataclass(frozen=True)
class Counts:
    """Counts of what followed each context of k tokens in the training lines; `ngrams` and `contexts` are sorted."""

    vocabulary: int
    k: int
    ngrams: np.ndarray  # context * V + token
    counts: np.ndarray  # C(c w)
    contexts: np.ndarray
    totals: np.ndarray  # C(c)
    types: np.ndarray  # T(c)

    def interpolate(self, held_out: Predictions, lower: np.ndarray) -> np.ndarray:
        """P_k of every target from `lower`, its P_{k-1}: (n,) and (n,)."""
        c = held_out.context(self.k, self.vocabulary)
        C_cw = _look_up(c * self.vocabulary + held_out.targets, self.ngrams, self.counts)
        C_c, T_c = (_look_up(c, self.contexts, values) for values in (self.totals, self.types))
        seen = C_c > 0
        return np.where(seen, (C_cw + T_c * lower) / np.where(seen, C_c + T_c, 1), lower)


def _look_up(keys: np.ndarray, known: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The value of each key, 0 where it is not among the sorted `known`."""
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[place] == keys, values[place], 0)
