"""Document 000's networks with a leading axis of R replicas, a chunk of steps at a time; symbols of `packed_terms`.

A chunk has n = STEPS P rows of each replica; `stacked_batches` says which of them are filled up. With tanh those
compute something finite that counts nothing, as its loss weighs 0; with the identity, under which they could overflow,
their states are set to 0. Only what depends on the step before is computed step by step, and C h and W h are one
product. What the way back needs of a chunk is stored in one of `slots` places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import torch
from torch import Tensor

from reprise.engines.gso.terms import Terms, terms_by_name
from reprise.kernels.stacked_batches import STEPS
from reprise.kernels.stacked_programs import shaped
from reprise.models.gso import SymbolModel

_OPTIONAL = ("A", "B", "C", "D", "E", "U", "W", "alpha", "beta_1", "beta_2")


class StackedSymbols:
    """Terms, states and buffers of R networks with parameters `p` by name, (R, ...); at most `batch` lines.

    Sizes: `symbols`, `H` states, `M` components of B x * C h (0 where there is none).
    """

    def __init__(
        self, models: Sequence[SymbolModel], p: Mapping[str, Tensor], batch: int, slots: int, like: Tensor
    ) -> None:
        self.kind, self.tanh = type(models[0]), models[0].activation == "tanh"
        form = getattr(models[0], "form", None)
        self.parameters = SimpleNamespace(**dict.fromkeys(_OPTIONAL) | dict(p), form=form)
        found = terms_by_name(self.kind, self.parameters)
        self.R, self.symbols, self.H = p["V"].shape
        self.M = 0 if found.get("A") is None else p["A"].shape[2]
        self.recurrent, self.scaled = (found.get(name) is not None for name in ("W", "S"))
        self.shared = found["D"].shape[1] == 1  # D has one row for all symbols
        self.products = self.M + self.recurrent * self.H
        self.terms, self.between = self.empty_terms(like)
        self.terms.A, self.terms.V, self.terms.c = p.get("A"), p["V"], p["c"]  # as they are
        self.kept = self.M or self.scaled * self.H  # of the products, what the way back needs
        sizes = {"Bx": self.M, "BxCh": self.M, "Sx": self.scaled * self.H, "products": self.products}
        sizes["logits"] = self.symbols
        rows = self.R * STEPS * batch
        self._buffers = {name: (like.new_zeros(rows * size), size) for name, size in sizes.items()}
        self._h = like.new_zeros(self.R * (STEPS + 1) * batch * self.H)
        self._stored_h = like.new_zeros(slots, len(self._h))
        self._stored = like.new_zeros(slots, rows * self.kept)
        self.carried = like.new_zeros(self.R, batch, self.H)
        self.first_row = torch.arange(self.R, device=like.device)[:, None] * self.symbols

    def empty_terms(self, like: Tensor) -> tuple[Terms, Tensor]:
        """Zeros for all terms, (R, ...), and C above W, of which those two are parts, (R, M + H, H)."""
        new, R, n, H, M = like.new_zeros, self.R, self.symbols, self.H, self.M
        between = new(R, self.products, H)
        made = Terms(D=new(R, 1 if self.shared else n, H), V=new(R, n, H), c=new(R, n))
        if M:
            made.A, made.B, made.C = new(R, H, M), new(R, n, M), between[:, :M]
        if self.recurrent:
            made.W = between[:, M:]
        if self.scaled:
            made.S = new(R, n, H)
        return made, between

    def open(self) -> None:
        """Begins a batch: the terms under the present parameters, states of 0."""
        for name, value in terms_by_name(self.kind, self.parameters).items():
            if value is not None and name != "A":
                getattr(self.terms, name).copy_(value)
        self.carried.zero_()

    def forward(self, P: int, x: Tensor, live: Tensor) -> None:
        """The states `h` (R, STEPS + 1, P, H) of the next chunk of symbols x (R, n); the first are those before it.

        `live` (R, n) is False where a row is filled up.
        """
        R, H, M, D = self.R, self.H, self.M, self.terms.D
        h = self.h = shaped(self._h, R, STEPS + 1, P, H)
        h[:, 0].copy_(self.carried[:, :P])
        self.look_up(P, x)
        if self.shared:
            h[:, 1:].copy_(D.unsqueeze(1))
        else:
            h[:, 1:].copy_(D.flatten(0, 1).index_select(0, self.rows).view(R, STEPS, P, H))
        products = self.of_h = self.buffer("products", P)
        between, dead = self.between.mT, live.logical_not().view(R, STEPS, P, 1)
        for k in range(STEPS):
            before, z = h[:, k], h[:, k + 1]
            if M:
                torch.bmm(before, between, out=products[:, k])
                if self.recurrent:
                    z.add_(products[:, k, :, M:])
                torch.mul(self.Bx[:, k], products[:, k, :, :M], out=self.BxCh[:, k])
                z.baddbmm_(self.BxCh[:, k], self.terms.A.mT)
            elif self.scaled:
                torch.bmm(before, between, out=products[:, k])
                z.addcmul_(self.Sx[:, k], products[:, k])
            else:
                z.baddbmm_(before, between)
            if self.tanh:
                z.tanh_()
            else:
                z.masked_fill_(dead[:, k], 0.0)
        self.carried[:, :P].copy_(h[:, STEPS])

    def look_up(self, P: int, x: Tensor) -> None:
        """The symbols' rows of B and S, `Bx` and `Sx`; room for `BxCh`."""
        self.rows = (x + self.first_row).view(-1)
        self.Bx, self.Sx, self.BxCh = (self.buffer(name, P) for name in ("Bx", "Sx", "BxCh"))
        for table, rows in ((self.terms.B, self.Bx), (self.terms.S, self.Sx)):
            if table is not None:
                torch.index_select(table.flatten(0, 1), 0, self.rows, out=rows.flatten(0, 2))

    def log_probabilities(self, P: int) -> Tensor:
        """Of all symbols after each row, (R, n, symbols)."""
        logits = self.buffer("logits", P).flatten(1, 2)
        torch.baddbmm(self.terms.c.unsqueeze(1), self.states, self.terms.V.mT, out=logits)
        return torch.log_softmax(logits, 2, out=logits)

    @property
    def states(self) -> Tensor:
        """After each row, (R, n, H)."""
        return self.h[:, 1:].flatten(1, 2)

    def store(self, slot: Tensor) -> None:
        """Keeps the chunk at `slot` (1,)."""
        for stored, part in self._parts():
            stored.index_copy_(0, slot, part.reshape(1, -1))

    def restore(self, P: int, x: Tensor, slot: Tensor) -> None:
        """The chunk of P lines and symbols x (R, n) at `slot` (1,), as `forward` has left it."""
        self.h, self.of_h = shaped(self._h, self.R, STEPS + 1, P, self.H), self.buffer("products", P)
        for stored, part in self._parts():
            part.copy_(stored.index_select(0, slot).view(part.shape))
        self.look_up(P, x)
        if self.M:
            torch.mul(self.Bx, self.of_h[..., : self.M], out=self.BxCh)

    def _parts(self) -> list[tuple[Tensor, Tensor]]:
        pairs = [(self._stored_h, self.h)]
        if self.kept:
            pairs.append((self._stored, self.of_h[..., : self.kept]))
        return [(stored[:, : part.numel()], part) for stored, part in pairs]

    def buffer(self, name: str, P: int) -> Tensor:
        buffer, size = self._buffers[name]
        return shaped(buffer, self.R, STEPS, P, size)
