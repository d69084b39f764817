"""An n-gram model of tokens in lines, interpolated after Witten and Bell: the yardstick beside document 000's networks.

    P_k(w | c) = (C(c w) + T(c) P_{k-1}(w | c')) / (C(c) + T(c))

c is the k tokens before w, c' the last k - 1 of them. C is a count in the training lines, and T(c) the number of
different tokens that followed c there. P_{-1} = 1 / V. After a context that was never seen P_k is P_{k-1}. This is
method C of Witten and Bell, "The zero-frequency problem" (IEEE Transactions on Information Theory, 1991). The recursive
form is that of Chen and Goodman (1998). A boundary symbol stands before a line and is never predicted. As for the
networks, a line's first token is not predicted either, and its end is no token.
"""

from dataclasses import dataclass

import numpy as np

from reprise.data.corpus import Split
from reprise.models.ngram_counts import HeldOut, NGramCounts, Positions
from reprise.models.word_ngram import NGramModel, take_at


@dataclass(frozen=True)
class NGram(NGramModel):
    """An `order`-gram model of V tokens: contexts of 0 to `order` - 1 tokens; V is the boundary symbol."""

    smoothing: str

    def list_predictions(self, split: Split, chosen: np.ndarray) -> tuple[Positions, np.ndarray]:
        """Return the n tokens predicted on the lines where `chosen` (lines,) is True, and their places, (n,)."""
        line = np.repeat(np.arange(len(chosen)), np.diff(split.offsets))
        places = np.flatnonzero(chosen[line] & (np.arange(len(line)) > split.offsets[line]))
        return Positions.from_split(split, self.order - 1, self.vocabulary, "sentence").take(places), places

    def count(self, training: Positions) -> NGramCounts:
        """Count the tokens and the boundary symbol."""
        return NGramCounts(training, self.vocabulary + 1)

    def estimate(self, counts: NGramCounts, held_out: HeldOut, n: int) -> np.ndarray:
        """Return P_{n-1} of every held-out token, (tokens,)."""
        p = np.full(len(held_out), 1.0 / self.vocabulary)
        for k in range(1, n + 1):
            table, (context, ngram) = counts.table(k), held_out.find(counts, k)
            C_cw, C_c, T_c = (
                take_at(table.counts, ngram, 0),
                take_at(table.totals, context, 1),
                take_at(table.types, context, 0),
            )
            p = np.where(context >= 0, (C_cw + T_c * p) / (C_c + T_c), p)
        return p
