"""Batches of lines as the replicas of a stack read them, each its own lines, in chunks of steps.

A CUDA graph has one shape, and every batch of every fold has its own lengths. So a batch is read in chunks of `STEPS`
steps, a program each, and a chunk has room for as many lines as the replica with the most still reads at its first
step, rounded up to one of a few widths (64, 32, 16 and 8 for batches of 64). The host knows all lengths beforehand and
chooses the programs; which rows are filled up, the device finds from the lengths. Lines lie longest first in their
batch (`kernels/packing.py`), so that those that go on are the first ones of every chunk.

What that costs on document 000's characters, epochs of 554 batches: 73 % of all rows are predictions for one replica,
66 % for the five folds together, 63 % for twelve replicas, where padding to the longest line of the stack would leave
41, 34 and 31 %. Steps in time are what a small product of a GPU costs: 284 a batch for one replica, 339 for five.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from reprise.data.corpus import Split
from reprise.engines.gso.packing import in_batches, shares

STEPS = 16
"""Steps of a chunk."""

FEWEST = 8
"""No width is halved to fewer lines."""


class LineBatches:
    """The lines `orders[r]` of every replica r in batches of `batch`; the arrays (n, R, batch) have 0 where none is.

    Replicas may have fewer batches than others, or none. `before` counts a replica's predictions before each line.
    """

    def __init__(self, split: Split, orders: Sequence[np.ndarray], batch: int, reductions: Sequence[str]) -> None:
        found = [in_batches(split, order, batch) for order in orders]
        n = max(-(-len(lengths) // batch) for _, lengths in found)
        self.first, self.lengths, self.before = (np.zeros((n, len(orders), batch), np.int64) for _ in range(3))
        for r, (first, lengths) in enumerate(found):
            before = np.cumsum(lengths) - lengths
            for whole, own in ((self.first, first), (self.lengths, lengths), (self.before, before)):
                whole[:, r] = np.pad(own, (0, n * batch - len(own))).reshape(n, batch)
        self.shares = np.zeros(self.lengths.shape)
        for r, reduction in enumerate(reductions):
            self.shares[:, r] = shares(self.lengths[:, r], reduction)
        self.widths = chunk_widths(self.lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def places(self, replica: int) -> np.ndarray:
        """The places in the split's tokens of what a replica predicts, line after line."""
        first, lengths, before = (array[:, replica].ravel() for array in (self.first, self.lengths, self.before))
        return np.repeat(first + 1 - before, lengths) + np.arange(lengths.sum())


def chunk_widths(lengths: np.ndarray) -> list[list[int]]:
    """The widths of each batch's chunks, from its lines' `lengths` (n, R, batch)."""
    widths = [lengths.shape[2]]
    while (half := -(-widths[0] // 2)) >= FEWEST and half < widths[0]:
        widths.insert(0, half)
    longest = lengths.max(1)  # (n, batch) of each place in a batch, falling
    begins = np.arange(0, longest.max(initial=0), STEPS)
    going = (longest[:, None] > begins[:, None]).sum(2)  # (n, chunks)
    chosen = np.array(widths)[np.searchsorted(widths, going)]
    return [row[active > 0].tolist() for row, active in zip(chosen, going, strict=True)]


class LineReader:
    """The device's side: which symbols a chunk reads, for R replicas; at most `batches` batches of `batch` lines.

    After `take(P)`: of the R n rows, n = STEPS P, of the chunk `x`, `y` and `live` (R, n), the latter False where a row
    is filled up (it reads the text's first token), and `found` (R, n), the number of the prediction in the replica's
    part, `spare` for rows that are filled up.
    """

    def __init__(self, tokens: np.ndarray, R: int, batch: int, batches: int, spare: int, like: Tensor) -> None:
        integers = {"dtype": torch.int64, "device": like.device}
        self.tokens = torch.from_numpy(tokens).to(**integers)
        self.lines = torch.zeros(3, batches, R, batch, **integers)
        self.all_shares = like.new_zeros(batches, R, batch)
        self.here = torch.zeros(3, R, 1, batch, **integers)
        self.shares = like.new_zeros(R, 1, batch)
        self.there = torch.zeros(R, dtype=torch.bool, device=like.device)  # replicas that have this batch
        self.place, self.chunk = (torch.zeros(1, **integers) for _ in range(2))
        self.within = torch.arange(STEPS, **integers)[:, None]
        self.spare = torch.full((), spare, **integers)

    def upload(self, text: LineBatches) -> None:
        """Takes another text's batches, without waiting for what the device has still to do with those before."""
        pairs = zip((*self.lines, self.all_shares), (text.first, text.lengths, text.before, text.shares), strict=True)
        for own, array in pairs:
            values = torch.from_numpy(array).to(own.dtype)
            own[: len(text)].copy_(values.pin_memory() if own.is_cuda else values, non_blocking=True)

    def open(self) -> None:
        """Begins the batch at `place`; part of a program."""
        self.here.squeeze(2).copy_(self.lines.index_select(1, self.place).squeeze(1))
        self.shares.copy_(self.all_shares.index_select(0, self.place).transpose(0, 1))
        torch.gt(self.here[1, :, 0, 0], 0, out=self.there)
        self.chunk.zero_()

    def take(self, P: int) -> None:
        """The chunk number `chunk` with room for P lines; part of a program."""
        first, lengths, before = self.here[..., :P].unbind()  # (R, 1, P)
        t = self.within + self.chunk * STEPS  # (STEPS, 1)
        live = t < lengths  # (R, STEPS, P)
        at = (first + t) * live
        R = len(live)
        self.x = self.tokens.index_select(0, at.view(-1)).view(R, -1)
        self.y = self.tokens.index_select(0, (at + live).view(-1)).view(R, -1)
        self.live, self.found = live.view(R, -1), torch.where(live, before + t, self.spare).view(R, -1)

    def shares_of_rows(self, P: int) -> Tensor:
        """What each row's loss counts, (R, n); after `take(P)`."""
        shape = (len(self.live), STEPS, P)
        return (self.shares[..., :P] * self.live.view(shape)).flatten(1)
