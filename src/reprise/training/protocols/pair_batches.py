"""Batches of pairs of sentences: alike in length, padded, and what a translation model reads and predicts of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reprise.data.corpus import Split

_SORTED_TOGETHER = 20
"""Batches whose pairs are sorted by length before they are cut, so that little of a batch is padding."""
_PADDING = 0  # any word would do: what is read there is never used


@dataclass(frozen=True)
class PairBatch:
    """B pairs with sources of at most T words and targets of at most U, `</s>` counted; N words are predicted."""

    source: Tensor  # (T, B) int64
    lengths: Tensor  # (B,) int64, of the sources
    before: Tensor  # (U, B) int64: the word before each target word, `</s>` before the first
    places: Tensor  # (N,) int64: where the targets stand in (U, B), row by row; the rest is padding
    targets: Tensor  # (N,) int64


@dataclass(frozen=True)
class Pairs:
    """The pairs of one split; `end` is the number of `</s>`, which closes every target."""

    source: Split
    target: Split
    end: int

    def __len__(self) -> int:
        return self.target.sentences

    @property
    def tokens(self) -> int:
        """Target words that are predicted."""
        return len(self.target.tokens)

    @property
    def source_words(self) -> np.ndarray:
        return np.diff(self.source.offsets)

    def shuffled(self, size: int, generator: torch.Generator) -> list[np.ndarray]:
        """All pairs in a random order, cut into batches of `size` of which the last may be smaller.

        The order is sorted by length, a stretch of batches at a time, and the batches are put into an order of their
        own: how long a batch's sentences are says nothing about the next one's.
        """
        order = torch.randperm(len(self), generator=generator).numpy()
        stretch = size * _SORTED_TOGETHER
        order = np.concatenate(
            [self._by_length(order[i : i + stretch]) for i in range(0, len(order), stretch)] or [order]
        )
        batches = _cut(order, size)
        return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]

    def in_order(self, size: int) -> list[np.ndarray]:
        """All pairs by length, for reading without training."""
        return _cut(self._by_length(np.arange(len(self))), size)

    def _by_length(self, numbers: np.ndarray) -> np.ndarray:
        lengths = np.diff(self.target.offsets)[numbers], self.source_words[numbers]
        return numbers[np.lexsort(lengths)]

    def batch(self, numbers: np.ndarray) -> PairBatch:
        """The pairs of these numbers, padded."""
        sources, targets = ([_sentence(split, i) for i in numbers] for split in (self.source, self.target))
        read, written = _padded(sources), _padded(targets)
        before = np.concatenate([np.full((1, len(numbers)), self.end), written[:-1]])
        lengths = np.array([len(target) for target in targets])
        places = np.flatnonzero(np.arange(len(written))[:, None] < lengths)
        return PairBatch(
            torch.from_numpy(read),
            torch.tensor([len(source) for source in sources]),
            torch.from_numpy(before),
            torch.from_numpy(places),
            torch.from_numpy(written.ravel()[places]),
        )


def _cut(order: np.ndarray, size: int) -> list[np.ndarray]:
    return [order[i : i + size] for i in range(0, len(order), size)]


def _sentence(split: Split, number: int) -> np.ndarray:
    return split.tokens[split.offsets[number] : split.offsets[number + 1]]


def _padded(sentences: Sequence[np.ndarray]) -> np.ndarray:
    """Sentences as columns, (longest, B) int64."""
    padded = np.full((max(map(len, sentences)), len(sentences)), _PADDING, np.int64)
    for column, sentence in enumerate(sentences):
        padded[: len(sentence), column] = sentence
    return padded
