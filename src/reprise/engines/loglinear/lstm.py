"""Forward and backward through an LSTM layer of Keras 1, step by step in torch; symbols as in `models/loglinear.py`.

The layer begins with rows x W + b, which the engine makes for all steps at once, and ends with the loss's derivatives
by the gates' sums, from which it makes the gradients of all weights.
"""

from __future__ import annotations

import torch
from torch import Tensor

from reprise.engines.gemm import Linear

SHAPES = 8
"""So many shapes of windows are kept ready: training's, its last batch's, and those of each text's evaluation."""


class LSTMLayer:
    """Holds U (H, 4H), and from `forward` to `backward` the window's gates and states."""

    def __init__(self, U: Tensor, linear: Linear) -> None:
        self.U, self.linear = U, linear
        self.buffers: dict[tuple[int, int], tuple[Tensor, ...]] = {}

    def forward(
        self, x: Tensor, number: Tensor | None, shape: tuple[int, int], state: tuple[Tensor, Tensor] | None
    ) -> Tensor:
        """Rows x (R, 4H), of which step t of stream b takes number[t, b] ((T, B), or row t B + b without numbers).

        Starts from h, c (B, H), or from zeros without a state, where the first step has no product. Returns the states
        h_1 .. h_T (T, B, H), which stand until the next call.
        """
        self.state = state
        self.gates, self.d_gates, self.c, self.tanh_c, self.h = self._make(*shape)
        self._read(x, number)
        return self.h

    def _make(self, T: int, B: int) -> tuple[Tensor, ...]:
        """Gates and their derivatives (T, B, 4H); c, tanh c and h (T, B, H). Kept: new memory comes page by page."""
        if (T, B) not in self.buffers:
            if len(self.buffers) == SHAPES:
                self.buffers.clear()
            widths = (4, 4, 1, 1, 1)
            self.buffers[T, B] = tuple(self.U.new_empty(T, B, n * len(self.U)) for n in widths)
        return self.buffers[T, B]

    def _read(self, x: Tensor, number: Tensor | None) -> None:
        T, B, _ = self.h.shape
        h, c = self.state or (None, None)
        for t in range(T):
            gates = self.gates[t]
            torch.index_select(x, 0, number[t], out=gates) if number is not None else gates.copy_(x[t * B : t * B + B])
            if h is not None:
                gates.add_(self.linear(h, self.U.T, None))
            i, f, g, o = gates.chunk(4, dim=1)
            g.tanh_()
            for gate in (i, f, o):
                gate.mul_(0.2).add_(0.5).clamp_(0.0, 1.0)
            c_next = torch.mul(i, g, out=self.c[t])
            if c is not None:
                c_next.addcmul_(f, c)
            c, h = c_next, torch.mul(o, torch.tanh(c_next, out=self.tanh_c[t]), out=self.h[t])

    def last(self) -> tuple[Tensor, Tensor]:
        """h_T and c_T, copied."""
        return self.h[-1].clone(), self.c[-1].clone()

    def backward(self, dh: Tensor) -> Tensor:
        """dh, by the states from outside the layer, is (T, B, H), or (B, H) where the last state alone has one.

        Returns the derivatives by the gates' sums, (T, B, 4H), which stand until the next call; those by the state
        before the window are not followed.
        """
        T, every = len(self.h), dh.dim() == 3
        dc = torch.zeros_like(self.c[0])
        recurrent = None
        for t in range(T - 1, -1, -1):
            parts = [part for part in (dh[t] if every else dh if t == T - 1 else None, recurrent) if part is not None]
            d, before = sum(parts), self.c[t - 1] if t else self.state[1] if self.state else None
            i, f, g, o = self.gates[t].chunk(4, dim=1)
            d_i, d_f, d_g, d_o = self.d_gates[t].chunk(4, dim=1)
            dc.add_(d * o * (1 - self.tanh_c[t] ** 2))
            torch.mul(dc * g, _slope(i), out=d_i)
            torch.mul(dc * before, _slope(f), out=d_f) if before is not None else d_f.zero_()
            torch.mul(dc * i, 1 - g * g, out=d_g)
            torch.mul(d * self.tanh_c[t], _slope(o), out=d_o)
            dc.mul_(f)
            if t:
                recurrent = self.linear(self.d_gates[t], self.U, None)
        return self.d_gates

    def factors(self) -> tuple[Tensor, Tensor]:
        """(n, H) and (n, 4H), whose product h' d is the gradient of U: all steps that had a state before them."""
        before, d = self.h[:-1].flatten(0, 1), self.d_gates[1:].flatten(0, 1)
        if self.state is not None:
            before, d = torch.cat([self.state[0], before]), self.d_gates.flatten(0, 1)
        return before, d


def _slope(gate: Tensor) -> Tensor:
    """The derivative of the hard sigmoid, from its value."""
    return ((gate > 0) & (gate < 1)).to(gate.dtype).mul_(0.2)
