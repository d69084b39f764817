"""Forward and backward through time of the layers of document 002, with a leading axis of R replicas.

T steps of B sequences each. The caller writes W x(t) + b into `inputs`, (R, T, B, G n) with G gates of n units, and
finds the states in `h`, (R, T + 1, B, n), the one before the first step at 0. All gates of a step are one product.
"""

from __future__ import annotations

import torch
from torch import Tensor

from reprise.engines.books.recurrence import PHI


class TanhThroughTime:
    """h(t) = tanh(W x(t) + b + U h(t-1)), as in `models/elman.py`."""

    gates = 1

    def __init__(self, R: int, T: int, B: int, n: int, like: Tensor) -> None:
        self.T = T
        self.h = like.new_zeros(R, T + 1, B, n)
        self.inputs = self.h[:, 1:]
        self.d_inputs = like.new_zeros(R, T, B, n)
        self._dh = like.new_zeros(R, B, n)
        self.one = like.new_ones(1)

    def forward(self, U: Tensor) -> None:
        """With U (R, n, n): fills h[:, 1:]."""
        U_T = U.mT
        for t in range(self.T):
            self.h[:, t + 1].baddbmm_(self.h[:, t], U_T).tanh_()

    def backward(self, dh: Tensor, U: Tensor) -> Tensor:
        """Derivatives by `inputs` from those by the last S states from above, dh (R, S, B, n), which is used up."""
        d_inputs, below = self.d_inputs, self.T - dh.shape[1]
        torch.addcmul(self.one, self.inputs, self.inputs, value=-1, out=d_inputs)  # the slopes
        d = dh[:, -1]
        for t in range(self.T - 1, -1, -1):
            d_inputs[:, t].mul_(d)
            d = _one_step_back(t, d_inputs[:, t], U, dh, below, self._dh)
        return d_inputs


class GatesThroughTime:
    """The LSTM of `models/lstm.py` and `models/stacked_lstm.py`: c(t) = f c(t-1) + i g, h(t) = o phi(c(t)).

    `order` names the gates as they stand side by side, "gifo" or "ifog"; `activation` is phi. The states before the
    first step are `h[:, 0]` and `c[:, 0]`.
    """

    gates = 4

    def __init__(self, R: int, T: int, B: int, n: int, like: Tensor, order: str, activation: str) -> None:
        self.T, self.n = T, n
        self.phi, self.slope = PHI[activation]
        self.inputs, self.d_inputs = (like.new_zeros(R, T, B, 4 * n) for _ in range(2))
        self.h, self.c = (like.new_zeros(R, T + 1, B, n) for _ in range(2))
        self.phi_c, self.by_c = (like.new_zeros(R, T, B, n) for _ in range(2))
        self._dh, self._dc = (like.new_zeros(R, B, n) for _ in range(2))
        places = {name: slice(k * n, (k + 1) * n) for k, name in enumerate(order)}
        self.of, self.d_of = (
            {name: tensor[..., place] for name, place in places.items()} for tensor in (self.inputs, self.d_inputs)
        )
        logistic = slice(n, 4 * n) if order[0] == "g" else slice(0, 3 * n)
        self.logistic = self.inputs[..., logistic]
        # Gates that c(t) sees, next to each other as far as may be: g, i and f, or i and f, and g.
        runs = [(0, 3)] if order[0] == "g" else [(0, 2), (3, 4)]
        self.into_c = [self.d_inputs[..., a * n : b * n].unflatten(3, (b - a, n)) for a, b in runs]

    def forward(self, U: Tensor) -> None:
        """With U (R, 4n, n): fills h[:, 1:] and c[:, 1:]; the gates are finished in place."""
        U_T, h, c = U.mT, self.h, self.c
        i, f, o, g = (self.of[name] for name in "ifog")
        for t in range(self.T):
            self.inputs[:, t].baddbmm_(h[:, t], U_T)
            self.logistic[:, t].sigmoid_()
            self.phi(g[:, t], out=g[:, t])
            torch.mul(i[:, t], g[:, t], out=c[:, t + 1])
            c[:, t + 1].addcmul_(f[:, t], c[:, t])
            self.phi(c[:, t + 1], out=self.phi_c[:, t])
            torch.mul(o[:, t], self.phi_c[:, t], out=h[:, t + 1])

    def backward(self, dh: Tensor, U: Tensor) -> Tensor:
        """See `TanhThroughTime.backward`."""
        below = self.T - dh.shape[1]
        i, f, o, g = (self.of[name] for name in "ifog")
        d_i, d_f, d_o, d_g = (self.d_of[name] for name in "ifog")
        # First what a step's dc, or dh, has to be multiplied by, for all steps at once.
        torch.mul(i, self.slope(g), out=d_g)
        torch.mul(g, i, out=d_i).addcmul_(d_i, i, value=-1)
        torch.mul(self.c[:, :-1], f, out=d_f).addcmul_(d_f, f, value=-1)
        torch.mul(self.phi_c, o, out=d_o).addcmul_(d_o, o, value=-1)
        torch.mul(self.slope(self.phi_c), o, out=self.by_c)
        d, dc = dh[:, -1], self._dc.zero_()
        for t in range(self.T - 1, -1, -1):
            dc.addcmul_(d, self.by_c[:, t])
            for gates in self.into_c:
                gates[:, t].mul_(dc.unsqueeze(2))
            d_o[:, t].mul_(d)
            dc.mul_(f[:, t])
            d = _one_step_back(t, self.d_inputs[:, t], U, dh, below, self._dh)
        return self.d_inputs


def _one_step_back(t: int, d_inputs: Tensor, U: Tensor, dh: Tensor, below: int, otherwise: Tensor) -> Tensor:
    """Derivatives by the state before step t, (R, B, n): in `dh` where it has a place for them."""
    if t > below:
        return dh[:, t - 1 - below].baddbmm_(d_inputs, U)
    return torch.bmm(d_inputs, U, out=otherwise) if t else otherwise
