"""Document 000's networks on packed rows in torch, without autograd: where there is no compiler, and in float64.

Only what depends on the step before is computed step by step; the output layer and the weight gradients are one product
a matrix over all rows of the batch. Products use the whole vector width (`kernels/gemm.py`).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from reprise.engines.gemm import linear_for
from reprise.engines.gso.packing import PackedBatch
from reprise.engines.gso.terms import Terms, set_gradients, terms, unsuitable
from reprise.models.gso import SymbolModel


class HandPackedEngine:
    """A `PackedEngine` on the CPU, in the model's dtype. TypeError for models of other families."""

    name = "packed"

    def __init__(self, model: SymbolModel) -> None:
        if reason := unsuitable(model):
            raise TypeError(f"the packed engine {reason}")
        self.model = model
        self.linear = linear_for(model.c)

    @torch.no_grad()
    def train(self, batch: PackedBatch, reduction: str) -> float:
        """See `PackedEngine`."""
        p = terms(self.model)
        rows = Rows(batch, p, self.model.activation == "tanh", self.linear)
        rows.forward()
        share = torch.from_numpy(batch.shares(reduction)).to(p.c)[rows.line]  # (rows,)
        g = p.empty_like()
        loss = rows.through_softmax(share, g)
        rows.backward()
        rows.gradients(g)
        set_gradients(self.model, g)
        return loss

    @torch.no_grad()
    def evaluate(self, batch: PackedBatch) -> tuple[np.ndarray, np.ndarray]:
        """See `PackedEngine`."""
        rows = Rows(batch, terms(self.model), self.model.activation == "tanh", self.linear)
        rows.forward()
        logits = rows.logits()
        nats = logits.logsumexp(1) - logits.gather(1, rows.y[:, None])[:, 0]
        return nats.numpy(), logits.argmax(1).to(torch.int32).numpy()


class Rows:
    """What one batch computes, a row a prediction. h_t = phi(A(B x * C h) + S x * W h + D x)."""

    def __init__(self, batch: PackedBatch, p: Terms, tanh: bool, linear) -> None:
        self.p, self.tanh, self.linear = p, tanh, linear
        self.x, self.y = (torch.from_numpy(tokens.astype(np.int64)) for tokens in (batch.inputs, batch.targets))
        starts, active = batch.starts, batch.active
        # The rows of each step, and of the states before them; the first step has none.
        self.steps = [slice(a, b) for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]
        self.before = [slice(a, a + k) for a, k in zip(starts[:-2].tolist(), active[1:].tolist(), strict=True)]
        line = np.arange(len(batch)) - np.repeat(starts[:-1], active)
        self.line = torch.from_numpy(line)
        # Rows from the second step on, and the row before each of them.
        self.later = slice(int(starts[min(1, len(active))]), len(batch))
        self.previous = torch.from_numpy(
            (line + np.repeat(starts[:-1] - np.append(0, active[:-1]), active))[self.later]
        )

    def forward(self) -> None:
        p, N = self.p, len(self.x)
        self.h = p.D.expand(len(p.V), -1)[self.x]  # D x, then z, then h
        self.Bx = None if p.A is None else p.B[self.x]
        self.Sx = None if p.S is None else p.S[self.x]
        self.Ch = None if p.A is None else p.c.new_zeros(N, p.A.shape[1])
        self.Wh = None if p.S is None else p.c.new_zeros(self.h.shape)
        for t, now in enumerate(self.steps):
            z = self.h[now]
            if t:
                h = self.h[self.before[t - 1]]
                if self.Ch is not None:
                    self.Ch[now] = self.linear(h, p.C, None)
                    z += self.linear(self.Bx[now] * self.Ch[now], p.A, None)
                if self.Wh is not None:
                    self.Wh[now] = self.linear(h, p.W, None)
                    z.addcmul_(self.Sx[now], self.Wh[now])
                elif p.W is not None:
                    z += self.linear(h, p.W, None)
            if self.tanh:
                z.tanh_()

    def logits(self) -> Tensor:
        """(rows, n)"""
        return self.linear(self.h, self.p.V, self.p.c)

    def through_softmax(self, share: Tensor, g: Terms) -> float:
        """The summed loss in nats; fills the gradients of V and c, and `dz` with the derivatives by h."""
        d, y = self.logits(), self.y[:, None]  # (rows, n)
        top = d.gather(1, y)[:, 0]
        normaliser = d.logsumexp(1)
        loss = (normaliser - top).sum(dtype=torch.float64).item()
        d.sub_(normaliser[:, None]).exp_()
        d.scatter_add_(1, y, d.new_full(y.shape, -1.0)).mul_(share[:, None])
        g.V, g.c = self.linear(d.T.contiguous(), self.h.T, None), d.sum(0)
        self.dz = self.linear(d, self.p.V.T, None)
        return loss

    def backward(self) -> None:
        """From `dz` as `through_softmax` left it to the derivatives by z, C h and W h of every row."""
        p = self.p
        transposed = {name: None if w is None else w.T.contiguous() for name, w in (("A", p.A), ("C", p.C), ("W", p.W))}
        self.dCh = None if p.A is None else torch.zeros_like(self.Ch)
        self.dWh = self.dz if p.S is None else torch.zeros_like(self.dz)
        self.dBx = None if p.A is None else torch.zeros_like(self.Ch)
        for t in range(len(self.steps) - 1, -1, -1):
            now = self.steps[t]
            dz, h = self.dz[now], self.h[now]
            if self.tanh:
                dz.mul_(1 - h * h)
            if not t:
                break
            dh = self.dz[self.before[t - 1]]
            if self.Ch is not None:
                d = self.linear(dz, transposed["A"], None)
                torch.mul(d, self.Ch[now], out=self.dBx[now])
                torch.mul(d, self.Bx[now], out=self.dCh[now])
                dh += self.linear(self.dCh[now], transposed["C"], None)
            if p.S is not None:
                torch.mul(dz, self.Sx[now], out=self.dWh[now])
            if p.W is not None:
                dh += self.linear(self.dWh[now], transposed["W"], None)

    def gradients(self, g: Terms) -> None:
        """Fills the gradients of all but V and c: one product a matrix."""
        p = self.p
        h_before = self.h[self.previous]  # (rows from the second step on, H)
        if p.A is not None:
            g.A = self._summed_products(self.dz, (self.Bx * self.Ch)[self.later])
            g.B = self._by_symbol(self.dBx, p.B)
            g.C = self._summed_products(self.dCh, h_before)
        if p.W is not None:
            g.W = self._summed_products(self.dWh, h_before)
        if p.S is not None:
            g.S = self._by_symbol(self.dz * self.Wh, p.S)
        g.D = self.dz.sum(0, keepdim=True) if len(p.D) == 1 else self._by_symbol(self.dz, p.D)

    def _summed_products(self, d: Tensor, factor: Tensor) -> Tensor:
        """The sum of d factor' over the rows from the second step on."""
        if not len(factor):  # oneDNN refuses a sum of nothing
            return d.new_zeros(d.shape[1], factor.shape[1])
        return self.linear(d[self.later].T.contiguous(), factor.T, None)

    def _by_symbol(self, rows: Tensor, like: Tensor) -> Tensor:
        """The sum of the rows of each symbol (n, columns)."""
        return torch.zeros_like(like).index_add_(0, self.x, rows)
