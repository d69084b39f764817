"""Products of a batch's rows with matrices that depend on the word: U^k h, k = f(w), of r-GRU and r-LSTM.

A gather U[k] would copy a matrix for every row and step, and its gradient as well. Here the rows of a step are sorted
by their matrix and each matrix that occurs is used once, where it lies; its gradient is one product over all rows of
the window that used it. Matrices that no word of the window asked for have none.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from reprise.engines.gemm import Linear


class OneMatrix:
    """K = 1: all words share U (1, H, H), given transposed. The interface is that of `WordMatrices`."""

    def __init__(self, transposed: Tensor, linear: Linear) -> None:
        self.transposed, self.linear = transposed[0], linear

    def plan(self, k: Tensor) -> None:
        """Nothing to sort."""

    def multiply(self, t: int, h: Tensor) -> Tensor:
        return self.linear(h, self.transposed.T, None)

    def multiply_transposed(self, t: int, d: Tensor) -> Tensor:
        return self.linear(d, self.transposed, None)

    def gradient(self, d: Tensor, h: Tensor) -> tuple[Tensor | None, Tensor]:
        return None, self.linear(h.T.contiguous(), d.T, None)[None]


class WordMatrices:
    """U (K, H, H), given transposed: read along its rows, one row of h times a matrix is twice as fast.

    It is used where it lies, so that it may be changed in place.
    """

    def __init__(self, transposed: Tensor, linear: Linear) -> None:
        self.transposed, self.each = transposed.unbind(), transposed.mT.unbind()

    def plan(self, k: Tensor) -> None:
        """Takes the matrix of each word of a window, k (T, B), and sorts the rows of every step by it."""
        table = k.cpu().numpy()
        order = np.argsort(table, axis=1, kind="stable")
        self.order = torch.from_numpy(order).to(k.device).unbind()
        self.back = torch.from_numpy(np.argsort(order, axis=1)).to(k.device).unbind()
        self.runs = [_runs(row) for row in np.take_along_axis(table, order, axis=1)]
        flat = table.ravel()
        self.window = torch.from_numpy(np.argsort(flat, kind="stable")).to(k.device)
        self.window_runs = _runs(np.sort(flat))

    def multiply(self, t: int, h: Tensor) -> Tensor:
        """U^k_b h_b of each row b of step t: h (B, H) -> (B, H)."""
        return self._by_matrix(t, h, self.transposed)

    def multiply_transposed(self, t: int, d: Tensor) -> Tensor:
        """The transposed matrices times d_b, (B, H) -> (B, H)."""
        return self._by_matrix(t, d, self.each)

    def _by_matrix(self, t: int, h: Tensor, matrices: tuple[Tensor, ...]) -> Tensor:
        if len(h) == 1:
            return h @ matrices[self.runs[t][0][0]]
        h = h.index_select(0, self.order[t])
        out = torch.empty_like(h)
        for k, first, last in self.runs[t]:
            torch.mm(h[first:last], matrices[k], out=out[first:last])
        return out.index_select(0, self.back[t])

    def gradient(self, d: Tensor, h: Tensor) -> tuple[Tensor | None, Tensor]:
        """The transposed sum of d_i h_i^T over the rows i of each matrix that occurs, d and h (T B, H).

        Returns which matrices (P,), sums (P, H, H); with a single matrix None, (1, H, H).
        """
        d, h = d.index_select(0, self.window), h.index_select(0, self.window)
        sums = h.new_empty(len(self.window_runs), *self.transposed[0].shape)
        for total, (_, first, last) in zip(sums, self.window_runs, strict=True):
            torch.mm(h[first:last].T, d[first:last], out=total)
        present = torch.tensor([k for k, _, _ in self.window_runs], device=h.device)
        return present, sums


def _runs(sorted_values: np.ndarray) -> list[tuple[int, int, int]]:
    """(value, first, last + 1) of each run of equal values."""
    values, first = np.unique(sorted_values, return_index=True)
    last = [*first[1:].tolist(), len(sorted_values)]
    return list(zip(values.tolist(), first.tolist(), last, strict=True))
