"""A text on the device, and the stretch of it that a stack's programs read next.

Every replica reads the same subsequences in the same order; what differs are its dropout masks and, from word to word,
the rows of its tensors. All of that is worked out for some thousand words at a time (`Stage.fill`), with a handful of
large operations; a subsequence's program then takes its part (`Stage.take`) by a place that is counted on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from reprise.engines.rntn.subsequences import Subsequences
from reprise.kernels.stacked_masks import StackedMasks, ladder_of
from reprise.kernels.stacked_programs import shaped


class Rows(NamedTuple):
    """Which row of a stacked tensor each word uses: `of` (R, V) int64, or (1, V) where all replicas agree.

    `scratch` is a row that nobody reads: what is written a second time goes there, so that the order of writing
    decides nothing.
    """

    of: Tensor
    scratch: int


class DeviceText:
    """Subsequences on the device, their lengths on the host."""

    def __init__(self, data: Subsequences, device: torch.device) -> None:
        lengths = np.diff(data.offsets)
        resets = np.zeros(len(data.inputs), np.int32)
        resets[data.offsets[:-1][data.reset]] = 1
        first_of = np.repeat(data.offsets[:-1], lengths).astype(np.int32)
        parts = (data.inputs, data.targets, resets, first_of, np.repeat(lengths, lengths).astype(np.int32))
        self.words = torch.from_numpy(np.stack(parts)).to(device)  # (5, n) int32
        self.offsets, self.lengths, self.first_token = data.offsets, lengths.tolist(), data.first_token

    def __len__(self) -> int:
        return len(self.lengths)

    def piece_end(self, first: int, words: int) -> int:
        """Where the subsequences from `first` on have come to at most so many words; ValueError where one has more."""
        last = int(np.searchsorted(self.offsets, self.offsets[first] + words, side="right")) - 1
        if last == first:
            raise ValueError(f"a subsequence has more than {words} words")
        return last


class Stage:
    """Room for `capacity` words as R replicas read them, in subsequences of at most `longest` words.

    `rows[0]` are the rows of the words' own tables, the same for all replicas; others belong to the recurrence.
    After `take(T)`, of the words of one subsequence: `targets` (T,), `start` (1,), which is 1 where the state is reset,
    `positions` (T,) in the stage, `read[i]` and `write[i]` (rows, T) rows of table i to read and to write, `repeats[i]`
    (rows, T, T), 1 where two words use the same row of table i, and `masks` (T, R, H).
    """

    def __init__(
        self, rows: Sequence[Rows], masks: StackedMasks, hidden: int, longest: int, capacity: int, dtype: torch.dtype
    ) -> None:
        device, R = masks.keys.device, len(masks.keys)
        self.rows, self.law, self.longest = rows, masks, longest
        self.sizes = [len(table.of) for table in rows]
        count, self.R, self.H = sum(self.sizes), R, hidden
        integers = {"dtype": torch.int64, "device": device}
        numbers = {"dtype": dtype, "device": device}
        # targets, start, rows to read, rows to write
        self.integers = torch.zeros(2 + 2 * count, capacity, **integers)
        self.repeated = torch.zeros(count, capacity, longest, **numbers)
        self.all_masks = torch.zeros(capacity, R, hidden, **numbers)
        self.ladder = ladder_of(capacity, hidden, device)
        self.places = torch.arange(capacity, device=device)
        self.within = torch.arange(longest, device=device)
        self.position = torch.zeros(1, **integers)
        self._positions = torch.zeros(longest, **integers)
        self._integers = torch.zeros(len(self.integers) * longest, **integers)
        self._repeated = torch.zeros(count * longest * longest, **numbers)
        self._masks = torch.zeros(longest * R * hidden, **numbers)

    def fill(self, text: DeviceText, first: int, last: int, training: bool) -> int:
        """Prepares subsequences first .. last-1; returns how many words they have."""
        begin, end = int(text.offsets[first]), int(text.offsets[last])
        n = end - begin
        x, y, reset, start, length = text.words[:, begin:end].long().unbind()
        self.integers[0, :n], self.integers[1, :n] = y, reset
        self.position.zero_()
        here = self.places[:n]
        others = (start - begin)[:, None] + self.within  # (n, longest): the words of the same subsequence
        there = self.within < length[:, None]
        before = there & (others < here[:, None])
        others.clamp_(max=n - 1)
        row = 2
        for table in self.rows:
            count = len(table.of)
            read = table.of.index_select(1, x)  # (count, n)
            self.integers[row : row + count, :n] = read
            if training:
                same = read[:, others] == read[:, :, None]  # (count, n, longest)
                self.repeated[row - 2 : row - 2 + count, :n] = same & there
                repeats = (same & before).any(2)
                write = self.integers[row + sum(self.sizes) : row + sum(self.sizes) + count, :n]
                write.copy_(torch.where(repeats, table.scratch, read))
            row += count
        if training:
            self.law.fill(self.all_masks[:n], self.ladder[:n], text.first_token + begin, 1)
        return n

    def take(self, T: int, training: bool) -> None:
        """Takes the next T words; part of a program."""
        count = sum(self.sizes)
        self.positions = torch.add(self.places[:T], self.position, out=self._positions[:T])
        integers = self.integers if training else self.integers[: 2 + count]
        taken = shaped(self._integers, len(integers), T)
        torch.index_select(integers, 1, self.positions, out=taken)
        self.targets, self.start = taken[0], taken[1, :1]
        self.read = taken[2 : 2 + count].split(self.sizes)
        if training:
            self.write = taken[2 + count :].split(self.sizes)
            repeated = shaped(self._repeated, count, T, self.longest)
            torch.index_select(self.repeated, 1, self.positions, out=repeated)
            self.repeats = repeated[:, :, :T].split(self.sizes)
            self.masks = shaped(self._masks, T, self.R, self.H)
            torch.index_select(self.all_masks, 0, self.positions, out=self.masks)
        self.position.add_(T)
