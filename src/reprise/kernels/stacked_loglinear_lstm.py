"""An LSTM layer as Keras 1 has it (`models/loglinear.py`) with a leading axis of replicas; as `loglinear_lstm.py`.

The layer begins with the rows x W + b of a window, which its owner writes into `gates`, and ends with the loss's
derivatives by the gates' sums, from which its owner makes the gradients.
"""

from __future__ import annotations

import torch
from torch import Tensor

from reprise.kernels.stacked_programs import shaped

State = tuple[Tensor, Tensor]


class StackedLayer:
    """Holds U (R, H, 4H); windows have at most `words` words in at most `streams` streams."""

    def __init__(self, U: Tensor, words: int, streams: int) -> None:
        self.U = U
        self.R, self.H, _ = U.shape
        new, unit = U.new_zeros, self.R * self.H
        self._gates, self._d_gates, self._slopes = (new(4 * unit * words) for _ in range(3))
        self._g, self._tanh_c, self._dh = (new(unit * words) for _ in range(3))
        self._h, self._c = (new(unit * (words + streams)) for _ in range(2))
        self.half = U.new_full((1, 1, 1), 0.5)

    def gates(self, n: int) -> Tensor:
        """Where x W + b of n words goes, (R, n, 4H)."""
        return shaped(self._gates, self.R, n, 4 * self.H)

    def dh(self, T: int, B: int) -> Tensor:
        """Where the loss's derivative by the states goes, (R, T, B, H)."""
        return shaped(self._dh, self.R, T, B, self.H)

    def forward(self, T: int, B: int, carried: State | None) -> None:
        """From x W + b to the states `h` (R, T + 1, B, H), the first that before the window.

        Starts from `carried`, h and c (R, B, H), and leaves the last ones there; without it from zeros, where the first
        step has no product.
        """
        R, H = self.R, self.H
        self.all, self.g = self.gates(T * B).view(R, T, B, 4 * H), shaped(self._g, R, T, B, H)
        self.tanh_c = shaped(self._tanh_c, R, T, B, H)
        h, c = (shaped(buffer, R, T + 1, B, H) for buffer in (self._h, self._c))
        self.h, self.c = h, c
        for k, state in enumerate((h, c)):
            state[:, 0].copy_(carried[k]) if carried else state[:, 0].zero_()
        self.first = 0 if carried else 1  # the first step with something before it
        for t in range(T):
            z, after = self.all[:, t], c[:, t + 1]
            if t >= self.first:
                z.baddbmm_(h[:, t], self.U)
            g = torch.tanh(z[..., 2 * H : 3 * H], out=self.g[:, t])
            torch.add(self.half, z, alpha=0.2, out=z).clamp_(0.0, 1.0)  # of the place of g nothing is used
            i, f, _, o = z.split(H, 2)
            torch.mul(i, g, out=after)
            if t >= self.first:
                after.addcmul_(f, c[:, t])
            torch.mul(o, torch.tanh(after, out=self.tanh_c[:, t]), out=h[:, t + 1])
        if carried:
            for before, state in zip(carried, (h, c), strict=True):
                before.copy_(state[:, T])

    @property
    def rows(self) -> Tensor:
        """The states after every word, (R, n, H)."""
        return self.h[:, 1:].flatten(1, 2)

    def backward(self) -> Tensor:
        """From `dh`, which is used up, to the derivatives by the gates' sums, (R, n, 4H).

        Those by the state before the window are not followed.
        """
        R, T, B, H = self.g.shape
        dh, d_gates = self.dh(T, B), shaped(self._d_gates, R, T, B, 4, H)
        i, f, _, o = self.all.split(H, 3)
        # What the derivatives by c (of i, f and g) and by h (of o) are multiplied by, (R, T, B, 4, H).
        by = shaped(self._slopes, R, T, B, 4 * H).copy_((self.all > 0).logical_and_(self.all < 1)).mul_(0.2)
        by = by.view(R, T, B, 4, H)
        for gate, factor in ((0, self.g), (1, self.c[:, :-1]), (3, self.tanh_c)):
            by[..., gate, :].mul_(factor)
        torch.mul(i, 1 - self.g * self.g, out=by[..., 2, :])
        by_c = o * (1 - self.tanh_c * self.tanh_c)
        dc = torch.zeros_like(dh[:, 0])
        for t in range(T - 1, -1, -1):
            d = dh[:, t]
            dc.addcmul_(d, by_c[:, t])
            torch.mul(by[:, t, :, :3], dc.unsqueeze(2), out=d_gates[:, t, :, :3])
            torch.mul(by[:, t, :, 3], d, out=d_gates[:, t, :, 3])
            if t:
                dc.mul_(f[:, t])
                dh[:, t - 1].baddbmm_(d_gates[:, t].flatten(2), self.U.mT)
        return d_gates.view(R, T * B, 4 * H)

    def by_U(self, d: Tensor, out: Tensor) -> None:
        """The gradient of U (R, H, 4H): of all steps that had a state before them."""
        R, T, B, H = self.g.shape
        before, after = self.h[:, self.first : T], d.view(R, T, B, 4 * H)[:, self.first :]
        torch.bmm(before.flatten(1, 2).mT, after.flatten(1, 2), out=out)
