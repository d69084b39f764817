"""The candidate's matrices U^k and biases b^k of a stack of gated networks; see `kernels/word_matrices.py` for one.

Both classes hold what meets a matrix at step t (`slot`) and the loss's derivative by the candidate there (`d_slot`),
(R, B, H) each, in the layout that their products want. The matrices' gradients add up in a fixed order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from reprise.kernels.stacked_programs import shaped
from reprise.models.gated import GatedLanguageModel

BLOCK = 32
"""Rows of a window that share a matrix are added up so many at a time."""


class OneMatrix:
    """Every replica has K = 1."""

    def __init__(self, models: Sequence[GatedLanguageModel], words: int, U: Tensor) -> None:
        self.R, self.H = len(models), models[0].hidden
        self.U = U.view(self.R, self.H, self.H)
        self.rows_of = torch.arange(self.R, device=U.device)[:, None].repeat(1, models[0].vocabulary)
        self._slots, self._d_slots = (U.new_zeros(self.R * words * self.H) for _ in range(2))
        self._back = U.new_zeros(words * self.R * self.H)

    def prepare(self, T: int, B: int, k: Tensor) -> None:
        """Rows k (R, T B) of the words that come next."""
        shape = (self.R, T, B, self.H)
        self.slots, self.d_slots = shaped(self._slots, *shape), shaped(self._d_slots, *shape)

    def slot(self, t: int) -> Tensor:
        return self.slots[:, t]

    def d_slot(self, t: int) -> Tensor:
        return self.d_slots[:, t]

    def add(self, t: int, out: Tensor) -> None:
        """Adds U times the slot to `out` (R, B, H)."""
        out.baddbmm_(self.slot(t), self.U.transpose(1, 2))

    def back(self, t: int) -> Tensor:
        """The transposed U times the derivative, (R, B, H); good until the next call."""
        d = self.d_slot(t)
        return torch.bmm(d, self.U, out=shaped(self._back, *d.shape))

    def derivatives(self) -> Tensor:
        """All derivatives by the candidate, (R, T B, H)."""
        return self.d_slots.flatten(1, 2)

    def gradients(self, blocks: object, dU: Tensor, db: Tensor) -> None:
        """Gradients of U (R, H, H) and b (R, H)."""
        d = self.derivatives()
        torch.bmm(d.transpose(1, 2), self.slots.flatten(1, 2), out=dU.view(self.U.shape))
        torch.sum(d, 1, out=db)


class WordMatrices:
    """Replicas of different K: rows r K + k of U (R K, H H) and b (R K, H), K the largest; some are not used then."""

    def __init__(self, models: Sequence[GatedLanguageModel], words: int, U: Tensor) -> None:
        self.R, self.H = len(models), models[0].hidden
        self.K = max(model.matrices for model in models)
        vocabulary = torch.arange(models[0].vocabulary)
        rows = [r * self.K + model.matrix_index(vocabulary) for r, model in enumerate(models)]
        self.rows_of = torch.stack(rows).to(U.device)  # (R, V)
        self.U = U
        count = self.R * words
        self._taken = U.new_zeros(count * self.H * self.H)
        # The row after the last stays zero: what fills up a block is read there.
        self._slots, self._d_slots = (U.new_zeros((count + 1) * self.H) for _ in range(2))
        self._back = U.new_zeros(count * self.H)
        self._derivatives = U.new_zeros(count * self.H)
        self.which = torch.arange(self.K, dtype=torch.int32, device=U.device)[:, None]

    def prepare(self, T: int, B: int, k: Tensor) -> None:
        """Rows k (R, T B) of the words that come next: copies their matrices, step by step."""
        self.shape = (T, self.R, B, self.H)
        by_step = k.view(self.R, T, B).transpose(0, 1).reshape(-1)
        self.taken = shaped(self._taken, T, self.R * B, self.H, self.H)
        torch.index_select(self.U, 0, by_step, out=self.taken.view(-1, self.H * self.H))
        self.slots, self.d_slots = shaped(self._slots, *self.shape), shaped(self._d_slots, *self.shape)

    def slot(self, t: int) -> Tensor:
        return self.slots[t]

    def d_slot(self, t: int) -> Tensor:
        return self.d_slots[t]

    def add(self, t: int, out: Tensor) -> None:
        """Adds each row's own U times its slot to `out` (R, B, H)."""
        out.add_(self._multiply(self.taken[t], self.slots[t]))

    def back(self, t: int) -> Tensor:
        """Each row's own transposed U times its derivative, (R, B, H); good until the next call."""
        return self._multiply(self.taken[t].transpose(1, 2), self.d_slots[t])

    def _multiply(self, U: Tensor, rows: Tensor) -> Tensor:
        out = shaped(self._back, *rows.shape)
        torch.bmm(U, rows.view(-1, self.H, 1), out=out.view(-1, self.H, 1))
        return out

    def derivatives(self) -> Tensor:
        """All derivatives by the candidate, (R, T B, H)."""
        T, R, B, H = self.shape
        by_replica = shaped(self._derivatives, R, T, B, H)
        return by_replica.copy_(self.d_slots.transpose(0, 1)).flatten(1, 2)

    def gradients(self, blocks: tuple[Tensor, Tensor], dU: Tensor, db: Tensor) -> None:
        """Gradients of U (R K, H H) and b (R K, H), by the window's `blocks` of `window_blocks`."""
        rows, matrices = blocks  # (R, N BLOCK), (R, N)
        N, R, H, K = matrices.shape[1], self.R, self.H, self.K
        d, m = (
            buffer.view(-1, H).index_select(0, rows.view(-1)).view(R * N, BLOCK, H)
            for buffer in (self._d_slots, self._slots)
        )
        belongs = (matrices[:, None] == self.which).to(self.U.dtype)  # (R, K, N)
        outer = torch.bmm(d.transpose(1, 2), m)
        torch.bmm(belongs, outer.view(R, N, H * H), out=dU.view(R, K, H * H))
        torch.bmm(belongs, d.sum(1).view(R, N, H), out=db.view(R, K, H))


def window_blocks(models: Sequence[GatedLanguageModel], x: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """For every window of a text x (n, B) the rows of each replica in blocks of one matrix each.

    Rows (W, R, N BLOCK) int32 number the words (t, r, b) of a window in this order, blocks filled up with the number
    after the last; matrices (W, R, N) int32 are the blocks' k, -1 where a block is empty.
    """
    n, B = x.shape
    R, W = len(models), -(-n // steps)
    tables = {}
    for model in models:
        key = (model.matrices, model.mapping)
        if key not in tables:
            k = model.matrix_index(torch.from_numpy(x.astype(np.int64))).numpy()
            tables[key] = _blocks(k, W, steps, model.matrices)
    N = max(int(place.max()) // BLOCK + 1 for place, _, _ in tables.values())
    rows = np.full((W, R, N * BLOCK), steps * R * B, np.int32)
    matrices = np.full((W, R, N), -1, np.int32)
    step, stream = np.divmod(np.arange(n * B), B)
    for r, model in enumerate(models):
        place, order, k = tables[model.matrices, model.mapping]
        window = step[order] // steps
        rows[window, r, place] = ((step[order] % steps) * R + r) * B + stream[order]
        matrices[window, r, place // BLOCK] = k
    return rows, matrices


def _blocks(k: np.ndarray, W: int, steps: int, K: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places of the words of k (n, B) in the blocks of their windows, the words in that order, and their matrices."""
    n, B = k.shape
    group = (np.repeat(np.arange(n), B) // steps) * K + k.ravel()  # window and matrix in one number
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group, minlength=W * K)
    blocks = -(-counts.reshape(W, K) // BLOCK)
    first = (np.cumsum(blocks, 1) - blocks).ravel() * BLOCK  # of a group, in its window
    begins = np.cumsum(counts) - counts  # of a group, in `order`
    ordered = group[order]
    return first[ordered] + np.arange(n * B) - begins[ordered], order, ordered % K
