"""What stands between the matrix products of a log-linear RNN's ends, in torch, for any dtype; `loglinear_native.py`
has the same in C++.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from reprise.engines.gemm import Linear
from reprise.engines.loglinear.classes import Classes

# Numbers of a piece of a large gradient: updated while it is in the caches, and from memory that the allocator keeps at
# hand (larger pieces come from the system, page by page).
PIECE = 2_000_000


class Rates(NamedTuple):
    """RMSprop's settings; `inside` is an epsilon inside the root, where older versions of Keras have theirs."""

    rate: float
    rho: float
    epsilon: float
    inside: float = 0.0


class Passes:
    """The readable way; every pass goes through memory a few times."""

    def __init__(self, linear: Linear) -> None:
        self.linear = linear

    def kept(self, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Copies of tensors that stay in use, contiguous."""
        return {name: value.clone(memory_format=torch.contiguous_format) for name, value in values.items()}

    def embed(self, table: Tensor, classes: Classes, ids: Tensor) -> Tensor:
        """The sums (n, D) of the rows of a table (F, D) that are the features of the classes ids (n,)."""
        e = self.linear(classes.tags[ids], table[classes.identities :].T, None)
        return e.add_(table[ids.clamp(max=classes.M)]) if classes.identities else e

    def add_rows(self, rows: Tensor, number: Tensor, out: Tensor) -> None:
        """out[number[r]] += rows[r]."""
        out.index_add_(0, number, rows)

    def softmax(self, L: Tensor, target: Tensor, weight: float) -> Tensor:
        """Scores L (n, C) become weight * (softmax - 1 at the target (n,)); -log p of the targets, (n,) float64."""
        target = target[:, None]
        greatest = L.amax(1, keepdim=True)
        at_target = L.gather(1, target).double() - greatest
        L.sub_(greatest).exp_()
        total = L.sum(1, keepdim=True, dtype=torch.float64)
        L.mul_((weight / total).to(L.dtype))
        L.scatter_add_(1, target, torch.full_like(target, -weight, dtype=L.dtype))
        return (total.log() - at_target)[:, 0]

    def class_softmax(
        self, a: Tensor, classes: Classes, log_mass: Tensor, target: Tensor, weight: float
    ) -> tuple[Tensor, Tensor]:
        """Adaptors a (n, F) and classes (n,): weight * (expected - observed features) (n, F) and -log p (n,), float64.

        Equations (13) and (16) for classes of the masses exp(log_mass) (C,). `weight` 0: derivatives are left out.
        """
        identities, M = classes.identities, classes.M
        scores = classes.scores(a, log_mass, self.linear)
        losses = self.softmax(scores, target, weight)
        if not weight:
            return a, losses
        da = torch.empty_like(a)
        if identities:
            da[:, :M] = scores[:, :M]
            torch.sum(scores[:, M:], 1, out=da[:, M])
        da[:, identities:] = self.linear(scores, classes.tags.T, None)
        return da, losses

    def rmsprop(self, p: Tensor, a: Tensor, g: Tensor, rates: Rates) -> None:
        """a = rho a + (1 - rho) g^2, p -= rate g / (sqrt(a + inside) + epsilon), in place."""
        a.mul_(rates.rho).addcmul_(g, g, value=1 - rates.rho)
        root = (a + rates.inside).sqrt_() if rates.inside else a.sqrt()
        p.addcdiv_(g, root.add_(rates.epsilon), value=-rates.rate)

    def rmsprop_rows(
        self, p: Tensor, a: Tensor, seen: Tensor, rows: Tensor, g: Tensor, step: int, rates: Rates
    ) -> None:
        """The same for distinct rows (n,) of a table whose gradients are g (n, D), in the step of this number.

        seen (R,) int64 says in which step a row was last updated; first its a falls by rho for each step missed.
        """
        missed = step - 1 - seen[rows]
        some_p, some_a = p[rows], a[rows].mul_((rates.rho ** missed.double()).to(a.dtype)[:, None])
        self.rmsprop(some_p, some_a, g, rates)
        p[rows], a[rows], seen[rows] = some_p, some_a, step

    def rmsprop_product(self, p: Tensor, a: Tensor, d: Tensor, h: Tensor, rates: Rates) -> None:
        """The same for p (m, H) whose gradient is d' h, with d (n, m) and h (n, H)."""
        if not len(d):
            self.rmsprop(p, a, torch.zeros_like(p), rates)
            return
        rows = max(1, PIECE // p.shape[1])
        by_unit = h.T.contiguous()
        pieces = (x.split(rows) for x in (p, a, d.T))
        for some_p, some_a, some_d in zip(*pieces, strict=True):
            self.rmsprop(some_p, some_a, self.linear(some_d.contiguous(), by_unit, None), rates)
