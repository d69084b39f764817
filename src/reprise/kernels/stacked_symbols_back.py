"""The way back through a chunk of document 000's networks as a stack, and the gradients of all their terms.

Gradients add up over the chunks of a batch, last chunk first, one product a matrix and chunk. Those by symbol are
products with one-hot rows: unlike atomic additions they add up in a fixed order.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from reprise.engines.gso.terms import gradients_by_name
from reprise.kernels.stacked_batches import STEPS
from reprise.kernels.stacked_programs import shaped
from reprise.kernels.stacked_symbols import StackedSymbols


class StackedGradients:
    """Gradients of a `network`'s terms, of which `finish` makes those of its parameters, `d` by name, (R, ...)."""

    def __init__(self, network: StackedSymbols, d: Mapping[str, Tensor], batch: int, like: Tensor) -> None:
        self.network, self.d = network, d
        self.g, self.between = network.empty_terms(like)
        R, H, rows = network.R, network.H, network.R * STEPS * batch
        sizes = {"dz A": network.M, "slots": network.products, "dh": H, "slope": H, "one-hot": network.symbols}
        self._buffers = {name: (like.new_zeros(rows * size), size) for name, size in sizes.items()}
        self.carried = like.new_zeros(R, batch, H)
        self.minus_one, self.one = (like.new_full((1, 1, 1), value) for value in (-1.0, 1.0))
        self.sums = [self.g.A, self.g.B, self.between, self.g.S, self.g.D, self.g.V, self.g.c, self.carried]

    def open(self) -> None:
        """Begins a batch: nothing added up yet."""
        for tensor in self.sums:
            if tensor is not None:
                tensor.zero_()

    def through_softmax(self, P: int, y: Tensor, share: Tensor) -> None:
        """From the network's `log_probabilities` in its buffer to `dh`; y and share (R, n) of the rows."""
        net, g = self.network, self.g
        d = net.buffer("logits", P).flatten(1, 2).exp_()  # (R, n, symbols)
        d.scatter_add_(2, y.unsqueeze(2), self.minus_one.expand(*y.shape, 1)).mul_(share.unsqueeze(2))
        g.V.baddbmm_(d.mT, net.states)
        g.c.add_(d.sum(1))
        torch.bmm(d, net.terms.V, out=self._buffer("dh", P).flatten(1, 2))

    def backward(self, P: int, x: Tensor) -> None:
        """From `dh` and the chunk after it to the chunk before it; adds up the gradients of the recurrence.

        The network holds the chunk of symbols x (R, n), `restore`d.
        """
        net, M = self.network, self.network.M
        dh, slots = self._buffer("dh", P), self._buffer("slots", P)  # dC h beside dW h; with S = 1 the latter is dz
        apart = bool(M) and net.recurrent
        by_m, dz = self._buffer("dz A", P), slots[..., M:] if apart else dh
        slope = None
        if net.tanh:
            after = net.h[:, 1:]
            slope = torch.addcmul(self.one, after, after, value=-1, out=self._buffer("slope", P))
        dh[:, -1].add_(self.carried[:, :P])
        for k in range(STEPS - 1, -1, -1):
            now = dz[:, k]
            if slope is not None:
                torch.mul(dh[:, k], slope[:, k], out=now)
            elif apart:
                now.copy_(dh[:, k])
            if M:
                torch.bmm(now, net.terms.A, out=by_m[:, k])
                torch.mul(by_m[:, k], net.Bx[:, k], out=slots[:, k, :, :M])
            elif net.scaled:
                torch.mul(now, net.Sx[:, k], out=slots[:, k])
            back = slots[:, k] if M or net.scaled else now
            if k:
                dh[:, k - 1].baddbmm_(back, net.between)
            else:
                torch.bmm(back, net.between, out=self.carried[:, :P])
        self._add_up(P, x, dz.flatten(1, 2), (slots if M or net.scaled else dz).flatten(1, 2))

    def _add_up(self, P: int, x: Tensor, dz: Tensor, by_products: Tensor) -> None:
        """Gradients by derivatives dz (R, n, H) and those by C h and W h side by side (R, n, M + H)."""
        net, g = self.network, self.g
        one_hot = self._buffer("one-hot", P).flatten(1, 2).zero_()
        by_symbol = one_hot.scatter_(2, x.unsqueeze(2), 1.0).mT  # (R, symbols, n)
        self.between.baddbmm_(by_products.mT, net.h[:, :-1].flatten(1, 2))
        products = net.of_h.flatten(1, 2)[..., : net.kept]
        if net.M:
            g.A.baddbmm_(dz.mT, net.BxCh.flatten(1, 2))
            g.B.baddbmm_(by_symbol, self._buffer("dz A", P).flatten(1, 2).mul_(products))
        if net.scaled:
            g.S.baddbmm_(by_symbol, dz * products)
        if net.shared:
            g.D.add_(dz.sum(1, keepdim=True))
        else:
            g.D.baddbmm_(by_symbol, dz)

    def finish(self) -> None:
        """The gradients of the parameters."""
        found = gradients_by_name(self.network.kind, self.network.parameters, self.g)
        found |= {"V": self.g.V, "c": self.g.c}
        for name, gradient in self.d.items():
            gradient.copy_(found[name])

    def _buffer(self, name: str, P: int) -> Tensor:
        buffer, size = self._buffers[name]
        return shaped(buffer, self.network.R, STEPS, P, size)
