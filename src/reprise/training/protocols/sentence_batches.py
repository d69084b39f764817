"""Whole sentences in batches, padded at their ends: what taggers and classifiers of sentences read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reprise.data.corpus import Split

_POOL = 50  # batches whose sentences are sorted by length together: little padding, and batches that still differ


@dataclass(frozen=True)
class Batch:
    """B sentences, the longest of T words; the word at (t, b) is the token `places[t, b]` of its split.

    Where `present` is false there is none: `words` and `places` are 0 there.
    """

    numbers: np.ndarray  # (B,) int64: which sentences
    words: Tensor  # (T, B) int64
    present: Tensor  # (T, B) bool
    places: Tensor  # (T, B) int64


def batch_of(split: Split, numbers: np.ndarray) -> Batch:
    """The sentences of these numbers side by side."""
    starts, lengths = split.offsets[numbers], np.diff(split.offsets)[numbers]
    t = np.arange(lengths.max())[:, None]
    present = t < lengths
    places = np.where(present, starts + t, 0)
    words = np.where(present, split.tokens[places], 0)
    return Batch(numbers, torch.from_numpy(words).long(), torch.from_numpy(present), torch.from_numpy(places))


def in_order_of_length(split: Split, size: int) -> list[np.ndarray]:
    """The numbers of all sentences, the shortest first, so many at a time."""
    return _cut(np.argsort(np.diff(split.offsets), kind="stable"), size)


def shuffled(split: Split, size: int, generator: torch.Generator) -> list[np.ndarray]:
    """The numbers of all sentences in a random order of batches of sentences of like length.

    Sentences are shuffled, sorted by length within pools of fifty batches, cut, and the batches shuffled.
    """
    numbers = torch.randperm(split.sentences, generator=generator).numpy()
    lengths = np.diff(split.offsets)
    pools = (pool[np.argsort(lengths[pool], kind="stable")] for pool in _cut(numbers, size * _POOL))
    batches = [batch for pool in pools for batch in _cut(pool, size)]
    return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]


def _cut(numbers: np.ndarray, size: int) -> list[np.ndarray]:
    return [numbers[first : first + size] for first in range(0, len(numbers), size)]
