"""Word n-gram models: document 003, section 1.2, equations 2 and 3 for any n, and what it says against sparsity.

    P(w_i | w_{i-n+1} .. w_{i-1}) = count(w_{i-n+1} .. w_i) / count(w_{i-n+1} .. w_{i-1})            (2), (3)

The context's count is the sum of the counts of what follows it. So the last words of a text, which nothing follows,
take no mass away. C is a count, c a context, c' the context without its oldest word. T(c) is the number of different
words that followed c, V the size of the vocabulary.

`NGramModel.estimate` gives the probability of every held-out word under the model of one order, from `NGramCounts`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from reprise.models.ngram_counts import HeldOut, NGramCounts, Table


@dataclass(frozen=True)
class NGramModel(ABC):
    """A model of V words whose largest order is `order`."""

    vocabulary: int
    order: int
    is_normalised = True  # whether the numbers are probabilities, which sum to one over the vocabulary

    @abstractmethod
    def estimate(self, counts: NGramCounts, held_out: HeldOut, n: int) -> np.ndarray:
        """Return P(w | the n - 1 words before it) of every held-out word, (words,); NaN where it is not defined."""


@dataclass(frozen=True)
class Relative(NGramModel):
    """Equations 2 and 3 as they stand.

        P(w | c) = C(c w) / C(c)

    It is 0 for what never followed c, and not defined after a context that was never seen.
    """

    def estimate(self, counts: NGramCounts, held_out: HeldOut, n: int) -> np.ndarray:
        table, (context, ngram) = counts.table(n), held_out.find(counts, n)
        frequency = take_at(compute_relative_frequencies(table), ngram, 0.0)
        return np.where(context >= 0, frequency, np.nan)


@dataclass(frozen=True)
class Additive(NGramModel):
    """Additive smoothing: "A small delta could be added to the count for each word".

        P(w | c) = (C(c w) + delta) / (C(c) + delta V)

    After a context that was never seen that is 1 / V.
    """

    delta: float

    def estimate(self, counts: NGramCounts, held_out: HeldOut, n: int) -> np.ndarray:
        table, (context, ngram) = counts.table(n), held_out.find(counts, n)
        count, total = take_at(table.counts, ngram, 0), take_at(table.totals, context, 0)
        return (count + self.delta) / (total + self.delta * self.vocabulary)


@dataclass(frozen=True)
class StupidBackoff(NGramModel):
    """Stupid backoff: "We could condition on w_2 alone".

        S(w | c) = C(c w) / C(c) if that is above 0, else alpha S(w | c')

    Brants et al., "Large language models in machine translation" (EMNLP 2007), equation 5. These are scores: they do
    not sum to one (`compute_score_sums` says to what).
    """

    alpha: float
    is_normalised = False

    def estimate(self, counts: NGramCounts, held_out: HeldOut, n: int) -> np.ndarray:
        """Return the scores, see `NGramModel`."""
        score = np.zeros(len(held_out))
        for k in range(1, n + 1):
            _, ngram = held_out.find(counts, k)
            score = np.where(
                ngram >= 0, take_at(compute_relative_frequencies(counts.table(k)), ngram, 0.0), self.alpha * score
            )
        return score

    def compute_score_sums(self, counts: NGramCounts, held_out: HeldOut, n: int) -> np.ndarray:
        """Sum S(w | c) over the vocabulary after the context of every held-out word, (words,)."""
        sums, held_out_sums = np.ones(1), np.ones(len(held_out))
        for k in range(2, n + 1):
            table = counts.table(k)
            below = table.sum_by_context(compute_relative_frequencies(counts.table(k - 1))[table.shorter])
            sums = 1 + self.alpha * (sums[table.parents] - below)
            context, _ = held_out.find(counts, k)
            held_out_sums = np.where(context >= 0, take_at(sums, context, 0.0), self.alpha * held_out_sums)
        return held_out_sums


@dataclass(frozen=True)
class Backoff(NGramModel):
    """Backing off within probabilities; a(c) makes their sum one.

        P(w | c) = (C(c w) - D) / C(c) if C(c w) > 0, else a(c) P(w | c')

    Katz's scheme ("Estimation of probabilities from sparse data", 1987) with the absolute discount of
    `estimate_discount`. Katz's own discount leaves no mass for back-off after contexts whose n-grams were all frequent.
    Single words are interpolated with 1 / V. After a context that every word followed there is nothing to back off to.
    What the discount took away then goes back to these words, each in proportion to its share.
    """

    def estimate(self, counts: NGramCounts, held_out: HeldOut, n: int) -> np.ndarray:
        p = _interpolate(counts.table(1), held_out.find(counts, 1), 1 / self.vocabulary)
        seen_probability = _interpolate_seen(counts.table(1), 1 / self.vocabulary)
        for k in range(2, n + 1):
            table, (context, ngram) = counts.table(k), held_out.find(counts, k)
            discounted, left = _discount_counts(table)
            every_word = table.types == self.vocabulary
            # What may follow the shorter context and did not follow this one.
            rest = 1 - table.sum_by_context(seen_probability[table.shorter])
            weight = np.divide(left, rest, out=np.zeros_like(left), where=~every_word)
            seen_probability = discounted / np.where(every_word, 1 - left, 1.0)[table.contexts]
            p = np.where(ngram >= 0, take_at(seen_probability, ngram, 0.0), take_at(weight, context, 1.0) * p)
        return p


@dataclass(frozen=True)
class KneserNey(NGramModel):
    """Interpolated Kneser-Ney smoothing, the yardstick.

        P(w | c) = max(C(c w) - D, 0) / C(c) + D T(c) / C(c) P(w | c')

    Below the model's own order C(c w) is the number of different words that were seen before
    c w. Chen and Goodman, "An empirical study of smoothing techniques for language modeling" (1998), section 3. Single
    words are interpolated with 1 / V, so that a word of the vocabulary that the text lacks has a probability. `D` is
    that of `estimate_discount`, order by order.
    """

    def estimate(self, counts: NGramCounts, held_out: HeldOut, n: int) -> np.ndarray:
        p: np.ndarray | float = 1 / self.vocabulary
        for k in range(1, n + 1):
            table = counts.table(k) if k == n else counts.count_continuations(k)
            p = _interpolate(table, held_out.find(counts, k), p)
        return p


def compute_relative_frequencies(table: Table) -> np.ndarray:
    """Return C(c w) / C(c) of every n-gram seen, (ngrams,)."""
    return table.counts / table.totals[table.contexts]


def estimate_discount(table: Table) -> float:
    """Return n_1 / (n_1 + 2 n_2), of the n-grams counted once and twice; 1/2 where either of them is none.

    So it lies between 0 and 1, and leaves each n-gram something and the others too. Ney, Essen and Kneser, "On
    structuring probabilistic dependences in stochastic language modelling" (1994).
    """
    once, twice = (int((table.counts == r).sum()) for r in (1, 2))
    return once / (once + 2 * twice) if once and twice else 0.5


def _discount_counts(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Return max(C(c w) - D, 0) / C(c) by n-gram, and the mass that this leaves by context."""
    D = estimate_discount(table)
    return (table.counts - D) / table.totals[table.contexts], D * table.types / table.totals


def _interpolate(table: Table, places: tuple[np.ndarray, np.ndarray], lower: np.ndarray | float) -> np.ndarray:
    context, ngram = places
    discounted, left = _discount_counts(table)
    return take_at(discounted, ngram, 0.0) + take_at(left, context, 1.0) * lower


def _interpolate_seen(table: Table, lower: float) -> np.ndarray:
    discounted, left = _discount_counts(table)
    return discounted + left[table.contexts] * lower


def take_at(values: np.ndarray, index: np.ndarray, otherwise: float) -> np.ndarray:
    """Return values[index], or `otherwise` where the index is -1: not seen."""
    return np.where(index >= 0, values[np.maximum(index, 0)], otherwise)
