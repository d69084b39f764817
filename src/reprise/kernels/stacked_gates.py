"""Forward and backward through time of a stack of GRUs or LSTMs; as `kernels/gated_recurrence.py`, with replicas.

`gates` (R, T, B, G H) and `candidate` (R, T, B, H) begin as the products with the input, biases included, and are
finished in place. States h (and c) are (R, T + 1, B, H), the state before the window first.
"""

from __future__ import annotations

import torch
from torch import Tensor

from reprise.kernels.stacked_matrices import OneMatrix, WordMatrices
from reprise.kernels.stacked_programs import shaped

Matrices = OneMatrix | WordMatrices


class StackedGRU:
    """Equations (6)-(9). `transposed` (R, H, 2 H) holds U_hr^T beside U_hz^T; `words` is the most of a program."""

    gates = 2

    def __init__(self, transposed: Tensor, matrices: Matrices, words: int) -> None:
        self.transposed, self.matrices = transposed, matrices
        self._d_gates = transposed.new_zeros(words * transposed.shape[0] * transposed.shape[2])

    def forward(self, gates: Tensor, candidate: Tensor, h: Tensor) -> None:
        """Fills h[:, 1:]."""
        H = h.shape[3]
        self.all, self.candidate, self.h = gates, candidate, h
        for t in range(gates.shape[1]):
            both, c, slot = gates[:, t], candidate[:, t], self.matrices.slot(t)
            both.baddbmm_(h[:, t], self.transposed)
            both.sigmoid_()  # (6), (7)
            torch.mul(both[..., :H], h[:, t], out=slot)
            self.matrices.add(t, c)
            c.tanh_()  # (8)
            torch.lerp(c, h[:, t], both[..., H:], out=h[:, t + 1])  # (9): c + z (h - c)

    def backward(self, dh: Tensor) -> Tensor:
        """dh (R, T, B, H), by each state through the softmax alone, is used up: derivatives by the gates.

        Those by the candidate are left in the matrices' slots.
        """
        R, T, B, H = dh.shape
        h, c, r, z = self.h[:, :-1], self.candidate, self.all[..., :H], self.all[..., H:]
        by_r, by_z, by_c = h * r * (1 - r), (h - c) * z * (1 - z), (1 - z) * (1 - c * c)
        d_gates = shaped(self._d_gates, R, T, B, 2 * H)
        d_r, d_z = d_gates[..., :H], d_gates[..., H:]
        for t in range(T - 1, -1, -1):
            d = dh[:, t]
            torch.mul(d, by_c[:, t], out=self.matrices.d_slot(t))
            torch.mul(d, by_z[:, t], out=d_z[:, t])
            d_rh = self.matrices.back(t)
            torch.mul(d_rh, by_r[:, t], out=d_r[:, t])
            if t:
                before = dh[:, t - 1]
                before.baddbmm_(d_gates[:, t], self.transposed.transpose(1, 2))
                before.addcmul_(d, z[:, t]).addcmul_(d_rh, r[:, t])
        return d_gates


class StackedLSTM:
    """Equations (10)-(15). `transposed` (R, H, 3 H) holds U_hf^T beside U_hi^T beside U_ho^T."""

    gates = 3

    def __init__(self, transposed: Tensor, matrices: Matrices, words: int) -> None:
        self.transposed, self.matrices = transposed, matrices
        R, H, GH = transposed.shape
        self._d_gates = transposed.new_zeros(words * R * GH)
        self._tanh_c = transposed.new_zeros(words * R * H)

    def forward(self, gates: Tensor, candidate: Tensor, h: Tensor, c: Tensor) -> None:
        """Fills h[:, 1:] and c[:, 1:]."""
        R, T, B, H = candidate.shape
        self.all, self.candidate, self.c = gates, candidate, c
        self.tanh_c = shaped(self._tanh_c, R, T, B, H)
        for t in range(T):
            three, new = gates[:, t], candidate[:, t]
            f, i, o = three.split(H, 2)
            three.baddbmm_(h[:, t], self.transposed)
            three.sigmoid_()  # (10), (11), (12)
            self.matrices.slot(t).copy_(h[:, t])
            self.matrices.add(t, new)
            new.tanh_()  # (13)
            torch.mul(i, new, out=c[:, t + 1])
            c[:, t + 1].addcmul_(f, c[:, t])  # (14)
            torch.tanh(c[:, t + 1], out=self.tanh_c[:, t])
            torch.mul(o, self.tanh_c[:, t], out=h[:, t + 1])  # (15)

    def backward(self, dh: Tensor) -> Tensor:
        """See `StackedGRU.backward`."""
        R, T, B, H = dh.shape
        new, c, tanh_c = self.candidate, self.c[:, :-1], self.tanh_c
        f, i, o = self.all.split(H, 3)
        by_f, by_i, by_o = c * f * (1 - f), new * i * (1 - i), tanh_c * o * (1 - o)
        by_new, by_c = i * (1 - new * new), o * (1 - tanh_c * tanh_c)
        d_gates = shaped(self._d_gates, R, T, B, 3 * H)
        d_f, d_i, d_o = d_gates.split(H, 3)
        dc = torch.zeros_like(dh[:, 0])
        for t in range(T - 1, -1, -1):
            d = dh[:, t]
            dc.addcmul_(d, by_c[:, t])
            torch.mul(dc, by_f[:, t], out=d_f[:, t])
            torch.mul(dc, by_i[:, t], out=d_i[:, t])
            torch.mul(d, by_o[:, t], out=d_o[:, t])
            torch.mul(dc, by_new[:, t], out=self.matrices.d_slot(t))
            if t:
                dc.mul_(f[:, t])
                dh[:, t - 1].baddbmm_(d_gates[:, t], self.transposed.transpose(1, 2))
                dh[:, t - 1].add_(self.matrices.back(t))
        return d_gates
