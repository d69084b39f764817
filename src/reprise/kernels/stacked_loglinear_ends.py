"""Input and output layers of a stack of log-linear RNNs: features by classes of types, one-hot vectors among them.

Nothing is added up by index: the features that types share are a matrix of classes, and those of one type alone are the
first classes themselves (`stacked_features.py`). What several words of a batch give to the same row is summed by a
product, in a fixed order.
"""

from __future__ import annotations

import torch
from torch import Tensor

from reprise.kernels.stacked_features import StackedFeatures
from reprise.kernels.stacked_programs import shaped


class StackedInput:
    """psi(x) E of R replicas: E and its gradient (R, F, D)."""

    def __init__(self, features: StackedFeatures, E: Tensor, dE: Tensor, words: int) -> None:
        self.features, self.E, self.dE = features, E, dE
        self._e, self._de = (E.new_zeros(E.shape[0] * words * E.shape[2]) for _ in range(2))
        self.first_class = torch.arange(len(E), device=E.device)[:, None] * features.C

    def de(self, n: int) -> Tensor:
        """Where the loss's derivative by the embeddings of n words goes, (R, n, D)."""
        return shaped(self._de, self.E.shape[0], n, self.E.shape[2])

    def read(self, x: Tensor) -> Tensor:
        """Types x (R, n) -> (R, n, D)."""
        known, own = self.features, self.features.own
        R, D = len(x), self.E.shape[2]
        self.c = known.places.gather(1, x)
        e = self.e = shaped(self._e, *x.shape, D)
        if known.shared is not None:
            rows = known.shared.flatten(0, 1).index_select(0, (self.c + self.first_class).view(-1))
            self.rows = rows.view(R, -1, known.F - own)
            torch.bmm(self.rows, self.E[:, own:], out=e)
        if own:
            # A class of several types has no row of its own: it is given the next one, which counts nothing.
            self.row = self.c.clamp(max=min(own, known.F - 1)).unsqueeze(2).expand(-1, -1, D)
            found = self.E.gather(1, self.row)
            if known.shared is None:
                e.copy_(found)
            else:
                e.addcmul_(found, (self.c < own).to(e.dtype).unsqueeze(2))
        return e

    def gradients(self, de: Tensor) -> None:
        """The gradient of E, by that of what was read."""
        known, own = self.features, self.features.own
        if own:
            same = (self.c[:, :, None] == self.c[:, None]).to(de.dtype)
            # Words of one class take the sum of the first of them, so that they write equal rows.
            sums = torch.bmm(same, de).gather(1, same.argmax(2).unsqueeze(2).expand(de.shape))
            self.dE[:, :own].zero_()
            self.dE.scatter_(1, self.row, sums)
        if known.shared is not None:
            # After that, since rows without a feature of their own have been written to the first of these.
            torch.bmm(self.rows.mT, de, out=self.dE[:, own:])


class StackedOutput:
    """(12) and (13) of R replicas: W_a (R, F, H) and b_a (R, F) with their gradients, log b (V,) of each.

    There are at most `targets` at a time.
    """

    def __init__(
        self,
        features: StackedFeatures,
        log_b: list[Tensor],
        weights: tuple[Tensor, Tensor],
        gradients: tuple[Tensor, Tensor],
        targets: int,
    ) -> None:
        self.features, (self.W, self.b), (self.dW, self.db) = features, weights, gradients
        mass, self.log_share = features.masses(log_b)
        self.log_mass = mass.to(self.W.dtype)
        new, rows = self.W.new_zeros, len(self.W) * targets
        self._a, self._P = new(rows * features.F), None
        if features.shared is not None:
            self._da, self._P = new(rows * features.F), new(rows * features.C)
        self.minus_one = self.W.new_full((1, 1, 1), -1.0)

    def read(self, h: Tensor) -> None:
        """States h (R, n, H) -> the log-probabilities of all classes, (R, n, C), which stay here."""
        known, own, n = self.features, self.features.own, h.shape[1]
        a = shaped(self._a, len(h), n, known.F)
        torch.baddbmm(self.b.unsqueeze(1), h, self.W.mT, out=a)  # (12)
        if known.shared is None:
            scores = a.add_(self.log_mass.unsqueeze(1))
        else:
            scores = shaped(self._P, len(h), n, known.C)
            torch.baddbmm(self.log_mass.unsqueeze(1), a[..., own:], known.shared.mT, out=scores)
            if own:
                scores[..., :own].add_(a[..., :own])
        self.P = torch.log_softmax(scores, 2, out=scores)  # (13)

    def log_p(self, y: Tensor) -> Tensor:
        """log p of one type a row, y (R, n), as (R, n) float64."""
        self.c = self.features.places.gather(1, y).unsqueeze(2)
        return self.P.gather(2, self.c).squeeze(2).double() + self.log_share.gather(1, y)

    def backward(self, h: Tensor, weight: float, out: Tensor) -> None:
        """Gradients of `weight` times the summed loss of what `log_p` was asked last; by h into `out` (R, n, H)."""
        known, own = self.features, self.features.own
        P = self.P.exp_().scatter_add_(2, self.c, self.minus_one.expand(self.c.shape)).mul_(weight)
        da = P
        if known.shared is not None:
            da = shaped(self._da, *P.shape[:2], known.F)  # expected minus observed features (16)
            da[..., :own].copy_(P[..., :own])
            torch.bmm(P, known.shared, out=da[..., own:])
        torch.bmm(da.mT, h, out=self.dW)
        torch.sum(da, 1, out=self.db)
        torch.bmm(da, self.W, out=out)
