"""Weights on one-hot symbols, for R replicas that read symbols of their own: rows of a table, and their gradients."""

from __future__ import annotations

import torch
from torch import Tensor


class OneHotTable:
    """W x + b of R replicas with W (R, m, d) on d symbols, of which each replica reads N at a time."""

    def __init__(self, R: int, d: int, m: int, N: int, like: Tensor) -> None:
        self.first_row = torch.arange(R, device=like.device)[:, None] * d
        self._table = like.new_zeros(R, d, m)
        self._one_hot = like.new_zeros(R, N, d)

    def look_up(self, x: Tensor, W: Tensor, b: Tensor, out: Tensor) -> None:
        """For the symbols x (R, N), with b (R, m), into `out`: R N rows of m in any shape."""
        torch.add(W.mT, b.unsqueeze(1), out=self._table)
        rows, table = (x + self.first_row).view(-1), self._table.flatten(0, 1)
        if out.is_contiguous():
            torch.index_select(table, 0, rows, out=out.view(len(rows), -1))
        else:
            out.copy_(table.index_select(0, rows).view(out.shape))

    def gradients(self, x: Tensor, d: Tensor, dW: Tensor, db: Tensor) -> None:
        """From those by what was looked up for x (R, N), d (R, N, m): into `dW` and `db`.

        A product with one-hot rows: unlike atomic additions it adds up in a fixed order.
        """
        one_hot = self._one_hot.zero_().scatter_(2, x.unsqueeze(2), 1.0)
        torch.bmm(one_hot.mT, d, out=self._table)
        dW.copy_(self._table.mT)
        torch.sum(self._table, 1, out=db)  # every row is one symbol's
