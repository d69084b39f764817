"""Input and output layers of the log-linear engines: features by classes of types, or one-hot vectors."""

from __future__ import annotations

import torch
from torch import Tensor

from reprise.engines.gemm import Linear
from reprise.engines.loglinear.classes import Classes
from reprise.engines.loglinear.passes import Passes
from reprise.engines.loglinear.rmsprop import RMSprop


class OneHotInput:
    """psi(x) E is the row of x."""

    def __init__(self, E: Tensor) -> None:
        self.E = E
        self.of_type = torch.arange(len(E))

    def rows(self, ids: Tensor) -> Tensor:
        """The embeddings (n, D) of distinct, increasing ids (n,)."""
        return self.E[ids]

    def update(self, optimiser: RMSprop, ids: Tensor, d: Tensor) -> None:
        optimiser.rows("E", ids, d)


class FeatureInput:
    """psi(x) E by classes: the row of the identity plus those of the tags."""

    def __init__(self, E: Tensor, classes: Classes, passes: Passes, linear: Linear) -> None:
        self.E, self.classes, self.passes, self.linear = E, classes, passes, linear
        self.of_type = classes.of_type
        self.tag_rows = torch.arange(classes.identities, len(E))

    def rows(self, ids: Tensor) -> Tensor:
        """See `OneHotInput`; ids are those of classes."""
        return self.passes.embed(self.E, self.classes, ids)

    def update(self, optimiser: RMSprop, ids: Tensor, d: Tensor) -> None:
        classes = self.classes
        rows, parts = [self.tag_rows], [self.linear(classes.tags[ids].T.contiguous(), d.T, None)]
        if classes.identities:
            own = int(torch.searchsorted(ids, classes.M))
            rows = [ids[:own], ids.new_tensor([classes.M]), *rows]
            parts = [d[:own], d[own:].sum(0, keepdim=True), *parts]
        optimiser.rows("E", torch.cat(rows), torch.cat(parts))


class SoftmaxOutput:
    """(13) with one-hot phi: a softmax over the types, of a + log b."""

    def __init__(self, W: Tensor, b: Tensor, log_b: Tensor, passes: Passes, linear: Linear) -> None:
        self.W, self.b, self.log_b, self.passes, self.linear = W, b, log_b.to(W.dtype), passes, linear

    def losses(self, h: Tensor, y: Tensor, weight: float = 0.0) -> Tensor:
        """-log p (n,) float64 of types y (n,) after states h (n, H); keeps weight * (p - 1 at y) for `backward`."""
        self.h, self.d = h, self.linear(h, self.W, self.b + self.log_b)  # (n, V)
        return self.passes.softmax(self.d, y, weight)

    def backward(self, optimiser: RMSprop) -> Tensor:
        """Derivatives by h (n, H); the layer's weights are updated."""
        dh = self.linear(self.d, self.W.T, None)
        optimiser.product("W_a", self.d, self.h)
        optimiser.dense("b_a", self.d.sum(0))
        return dh

    def log_p(self, h: Tensor) -> Tensor:
        """All of log p, (n, V)."""
        return torch.log_softmax(self.linear(h, self.W, self.b + self.log_b), 1)


class ClassOutput:
    """(13) by classes; `Classes` says why this is exact."""

    def __init__(self, W: Tensor, b: Tensor, log_b: Tensor, classes: Classes, passes: Passes, linear: Linear) -> None:
        self.W, self.b, self.classes, self.passes, self.linear = W, b, classes, passes, linear
        log_mass = classes.log_mass(log_b)
        self.log_share = log_b.double() - log_mass[classes.of_type]  # (V,): log b(x) / B_c
        self.log_mass = log_mass.to(W.dtype)

    def losses(self, h: Tensor, y: Tensor, weight: float = 0.0) -> Tensor:
        """See `SoftmaxOutput`."""
        a = self.linear(h, self.W, self.b)  # (n, F)   (12)
        of_class = self.classes.of_type[y]
        self.h = h
        self.da, losses = self.passes.class_softmax(a, self.classes, self.log_mass, of_class, weight)
        return losses.sub_(self.log_share[y])

    def backward(self, optimiser: RMSprop) -> Tensor:
        """See `SoftmaxOutput`."""
        dh = self.linear(self.da, self.W.T, None)
        optimiser.product("W_a", self.da, self.h)
        optimiser.dense("b_a", self.da.sum(0))
        return dh

    def log_p(self, h: Tensor) -> Tensor:
        """See `SoftmaxOutput`."""
        scores = self.classes.scores(self.linear(h, self.W, self.b), self.log_mass, self.linear)
        by_class = torch.log_softmax(scores, 1)
        return by_class[:, self.classes.of_type] + self.log_share.to(by_class.dtype)
