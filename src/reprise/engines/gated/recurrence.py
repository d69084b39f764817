"""Forward and backward through time of GRU and LSTM, step by step in torch; symbols as in `models/gated.py`.

Both classes begin with the gates' products with the input, which the engine makes for all steps at once: `gates`
(T, B, G H) for the G logistic gates in the order of the equations, `candidate` (T, B, H). They end with the loss's
derivatives by the same, from which it makes the gradients of all weights.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from reprise.engines.gemm import Linear
from reprise.models.gated import State


class Matrices(Protocol):
    """The candidate's recurrent product: `OneMatrix` or `WordMatrices`."""

    def multiply(self, t: int, h: Tensor) -> Tensor: ...
    def multiply_transposed(self, t: int, d: Tensor) -> Tensor: ...


class GRURecurrence:
    """Equations (6)-(9). `transposed` (H, 2 H) holds U_hr^T beside U_hz^T."""

    def __init__(self, transposed: Tensor, matrices: Matrices, linear: Linear) -> None:
        self.transposed, self.matrices, self.linear = transposed, matrices, linear

    def forward(self, gates: Tensor, candidate: Tensor, state: State) -> tuple[Tensor, State]:
        """Finishes the gates in place: all states h (T, B, H), the last one."""
        T, B, H = candidate.shape
        self.gates, self.candidate = gates, candidate
        self.h = candidate.new_empty(T + 1, B, H)
        self.h[0] = state[0]
        self.multiplied = torch.empty_like(candidate)  # r_t * h_{t-1}, which meets the matrix
        steps = zip(
            gates.unbind(),
            gates[..., :H].unbind(),
            gates[..., H:].unbind(),
            candidate.unbind(),
            self.multiplied.unbind(),
            self.h[:-1].unbind(),
            self.h[1:].unbind(),
            strict=True,
        )
        for t, (both, r, z, c, rh, h, h_next) in enumerate(steps):
            both.add_(self.linear(h, self.transposed.T, None)).sigmoid_()  # (6), (7)
            torch.mul(r, h, out=rh)
            c.add_(self.matrices.multiply(t, rh)).tanh_()  # (8)
            torch.lerp(c, h, z, out=h_next)  # (9): c + z (h - c)
        return self.h[1:], (self.h[-1],)

    def backward(self, dh: Tensor) -> tuple[Tensor, Tensor]:
        """dh (T, B, H), by each state through the softmax alone, is used up: derivatives by gates and candidate."""
        T, _, H = dh.shape
        h, c, r, z = self.h[:-1], self.candidate, self.gates[..., :H], self.gates[..., H:]
        by_r, by_z, by_c = h * r * (1 - r), (h - c) * z * (1 - z), (1 - z) * (1 - c * c)
        d_gates, d_candidate = torch.empty_like(self.gates), torch.empty_like(c)
        d_r, d_z = d_gates[..., :H], d_gates[..., H:]
        for t in range(T - 1, -1, -1):
            d = dh[t]
            torch.mul(d, by_c[t], out=d_candidate[t])
            torch.mul(d, by_z[t], out=d_z[t])
            d_rh = self.matrices.multiply_transposed(t, d_candidate[t])
            torch.mul(d_rh, by_r[t], out=d_r[t])
            if t:
                dh[t - 1].add_(self.linear(d_gates[t], self.transposed, None)).addcmul_(d, z[t]).addcmul_(d_rh, r[t])
        return d_gates, d_candidate


class LSTMRecurrence:
    """Equations (10)-(15). `transposed` (H, 3 H) holds U_hf^T beside U_hi^T beside U_ho^T."""

    def __init__(self, transposed: Tensor, matrices: Matrices, linear: Linear) -> None:
        self.transposed, self.matrices, self.linear = transposed, matrices, linear

    def forward(self, gates: Tensor, candidate: Tensor, state: State) -> tuple[Tensor, State]:
        """Finishes the gates in place: all states h (T, B, H), the last (h, c)."""
        T, B, H = candidate.shape
        self.gates, self.candidate = gates, candidate
        self.h, self.c = candidate.new_empty(T + 1, B, H), candidate.new_empty(T + 1, B, H)
        self.h[0], self.c[0] = state
        self.multiplied = self.h[:-1]
        self.tanh_c = torch.empty_like(candidate)
        steps = zip(
            gates.unbind(),
            *(gates[..., i * H : (i + 1) * H].unbind() for i in range(3)),
            candidate.unbind(),
            self.tanh_c.unbind(),
            *(x.unbind() for x in (self.h[:-1], self.h[1:], self.c[:-1], self.c[1:])),
            strict=True,
        )
        for t, (all_three, f, i, o, new, tanh_c, h, h_next, c, c_next) in enumerate(steps):
            all_three.add_(self.linear(h, self.transposed.T, None)).sigmoid_()  # (10), (11), (12)
            new.add_(self.matrices.multiply(t, h)).tanh_()  # (13)
            torch.mul(i, new, out=c_next).addcmul_(f, c)  # (14)
            torch.mul(o, torch.tanh(c_next, out=tanh_c), out=h_next)  # (15)
        return self.h[1:], (self.h[-1], self.c[-1])

    def backward(self, dh: Tensor) -> tuple[Tensor, Tensor]:
        """dh (T, B, H), by each state through the softmax alone, is used up: derivatives by gates and candidate."""
        T, _, H = dh.shape
        new, c, tanh_c = self.candidate, self.c[:-1], self.tanh_c
        f, i, o = (self.gates[..., j * H : (j + 1) * H] for j in range(3))
        by_f, by_i, by_o = c * f * (1 - f), new * i * (1 - i), tanh_c * o * (1 - o)
        by_new, by_c = i * (1 - new * new), o * (1 - tanh_c * tanh_c)
        d_gates, d_candidate = torch.empty_like(self.gates), torch.empty_like(new)
        d_f, d_i, d_o = (d_gates[..., j * H : (j + 1) * H] for j in range(3))
        dc = torch.zeros_like(dh[0])
        for t in range(T - 1, -1, -1):
            d = dh[t]
            dc.addcmul_(d, by_c[t])
            torch.mul(dc, by_f[t], out=d_f[t])
            torch.mul(dc, by_i[t], out=d_i[t])
            torch.mul(d, by_o[t], out=d_o[t])
            torch.mul(dc, by_new[t], out=d_candidate[t])
            dc.mul_(f[t])
            if t:
                dh[t - 1].add_(self.linear(d_gates[t], self.transposed, None))
                dh[t - 1].add_(self.matrices.multiply_transposed(t, d_candidate[t]))
        return d_gates, d_candidate
