"""Counts of word n-grams, as sorted tables: what the models of `word_ngram.py` and `ngram.py` are made of.

A context of k words has a number: the rank of the pair (number of its k - 1 latest words, oldest word) among the
training text's contexts. So a context's number leads to that of the context without its oldest word, as backing off
needs. No number is larger than contexts times vocabulary, whatever the order.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from reprise.data.corpus import Split


@dataclass(frozen=True)
class Positions:
    """The words of a text and the words before each: row j - 1 of `before` is the word j before."""

    words: np.ndarray  # (n,) int64
    before: np.ndarray  # (contexts, n) int64

    @classmethod
    def from_split(cls, split: Split, contexts: int, boundary: int, across: str) -> Positions:
        """Return every word of the split, each with `contexts` words before it.

        The word `boundary`, which ends sentences, stands wherever there is no word. That is before every sentence, or
        with `across` "text" before the first alone.
        """
        words = split.tokens.astype(np.int64)
        n, place = len(words), np.arange(len(words))
        start = np.zeros(n, np.int64)
        if across == "sentence":
            start = np.repeat(split.offsets[:-1], np.diff(split.offsets))
        before = np.full((contexts, n), boundary, np.int64)
        for j in range(1, contexts + 1):
            inside = place - j >= start
            before[j - 1, inside] = words[place[inside] - j]
        return cls(words, before)

    def __len__(self) -> int:
        return len(self.words)

    def take(self, places: np.ndarray | slice) -> Positions:
        """Take some of the words, with the words before each."""
        return Positions(self.words[places], self.before[:, places])


@dataclass(frozen=True)
class Table:
    """Counts of what followed each context of k - 1 words: the k-grams, sorted by context and word, and the contexts.

    `shorter[i]` is the row of k-gram i without its oldest word in the table of order k - 1. `parents[c]` is the same
    for context c.
    """

    keys: np.ndarray  # (ngrams,) int64, sorted: context * V + word
    counts: np.ndarray  # (ngrams,) C(c w)
    contexts: np.ndarray  # (ngrams,) the context of each
    totals: np.ndarray  # (contexts,) C(c): the sum of what followed
    types: np.ndarray  # (contexts,) T(c)
    shorter: np.ndarray  # (ngrams,)
    parents: np.ndarray  # (contexts,)

    def sum_by_context(self, values: np.ndarray) -> np.ndarray:
        """Sum over the k-grams of each context, (ngrams,) -> (contexts,)."""
        return np.bincount(self.contexts, values, len(self.totals))


@dataclass
class NGramCounts:
    """k-grams of a training text over V words for k = 1, 2, ..., counted when they are needed."""

    training: Positions
    vocabulary: int
    _context_keys: list[np.ndarray] = field(default_factory=list)  # of contexts of 1, 2, ... words, sorted
    _contexts: list[np.ndarray] = field(default_factory=list)  # of 0, 1, ... words before each word of the text
    _tables: list[Table] = field(default_factory=list)
    _continuations: dict[int, Table] = field(default_factory=dict)

    def table(self, k: int) -> Table:
        """Return the counts of k-grams."""
        while len(self._tables) < k:
            self._tables.append(self._count(len(self._tables) + 1))
        return self._tables[k - 1]

    def count_continuations(self, k: int) -> Table:
        """Return the table of k-grams with other counts: how many different words were seen before each."""
        if k not in self._continuations:
            table = self.table(k)
            counts = np.bincount(self.table(k + 1).shorter, minlength=len(table.keys))
            totals = np.bincount(table.contexts, counts, len(table.totals))
            self._continuations[k] = replace(table, counts=counts, totals=totals)
        return self._continuations[k]

    def context_keys(self, words: int) -> np.ndarray:
        """Return the sorted keys of the contexts of so many words, at least 1: shorter context * V + oldest word."""
        self.table(words + 1)
        return self._context_keys[words - 1]

    def _count(self, k: int) -> Table:
        V, words = self.vocabulary, self.training.words
        if k == 1:
            context, parents = np.zeros(len(words), np.int64), np.zeros(1, np.int64)
        else:
            longer = self._contexts[-1] * V + self.training.before[k - 2]
            context_keys, context = np.unique(longer, return_inverse=True)
            self._context_keys.append(context_keys)
            parents = context_keys // V
        self._contexts.append(context)
        keys, counts = np.unique(context * V + words, return_counts=True)
        contexts = keys // V
        size = len(parents)
        shorter = np.zeros(len(keys), np.int64)
        if k > 1:
            shorter = np.searchsorted(self._tables[-1].keys, parents[contexts] * V + keys % V)
        totals = np.bincount(contexts, counts, size)
        return Table(keys, counts, contexts, totals, np.bincount(contexts, minlength=size), shorter, parents)


@dataclass
class HeldOut:
    """Held-out words, with their places in the tables of an `NGramCounts`."""

    positions: Positions
    _counts: NGramCounts | None = None
    _places: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.positions)

    def find(self, counts: NGramCounts, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Find the context of k - 1 words and the k-gram of each word: places in `counts.table(k)`, -1: unseen."""
        if self._counts is not counts:
            self._counts, self._places = counts, []
        V, words = counts.vocabulary, self.positions.words
        while len(self._places) < k:
            j = len(self._places) + 1
            context = np.zeros(len(self), np.int64)
            if j > 1:
                shorter = self._places[-1][0]
                context = _find_places(
                    counts.context_keys(j - 1), shorter * V + self.positions.before[j - 2], shorter >= 0
                )
            self._places.append((context, _find_places(counts.table(j).keys, context * V + words, context >= 0)))
        return self._places[k - 1]


def _find_places(sorted_keys: np.ndarray, keys: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return where each key stands among `sorted_keys`; -1 where it does not, or where `mask` is False."""
    place = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return np.where(mask & (sorted_keys[place] == keys), place, -1)
