"""The programs of a stack of gated language models: a window forward, backward and as an SGD step, a text evaluated.

As `kernels/gated_grouped.py`, with a leading axis of R replicas over buffers that are made once. Symbols are those of
`models/gated.py`; n is T B, the words of a window.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from reprise.kernels.stacked import everyone
from reprise.kernels.stacked_gates import StackedGRU, StackedLSTM
from reprise.kernels.stacked_matrices import OneMatrix, WordMatrices
from reprise.kernels.stacked_parameters import StackedParameters
from reprise.kernels.stacked_programs import shaped
from reprise.models.gated import GRU, GatedLanguageModel


class StackedNetwork:
    """Parameters and buffers of R networks, for windows of at most `words` words in at most `streams` streams."""

    def __init__(self, models: Sequence[GatedLanguageModel], words: int, streams: int, device: torch.device) -> None:
        first = models[0]
        self.R, self.words = len(models), words
        self.parameters = StackedParameters(models, device)
        self.p, self.d = self.parameters.p, self.parameters.d
        self.alike = all(model.matrices == 1 for model in models)
        self.matrices = (OneMatrix if self.alike else WordMatrices)(models, words, self.parameters.U_c)
        recurrence = StackedGRU if isinstance(first, GRU) else StackedLSTM
        self.recurrence = recurrence(self.p["U_T"], self.matrices, words)
        new, V, E, H = self.p["E"].new_zeros, first.vocabulary, first.embedding, first.hidden
        sizes = {"e": E, "de": E, "gates": recurrence.gates * H, "candidate": H, "s": H, "ds": H, "logits": V}
        self.buffers = {name: (new(self.R * words * size), size) for name, size in sizes.items()}
        self.states = [new(self.R * (words + streams) * H) for _ in range(first.states)]
        self.minus_one = new(1, 1, 1).fill_(-1)
        self.H = H

    def read(self, x: Tensor, carried: Sequence[Tensor], on_e: Tensor | None) -> None:
        """The states over words x (T, B), from and to the `carried` ones (R, B, H); `on_e` masks the embeddings."""
        (T, B), R, H, p, words = x.shape, self.R, self.H, self.p, x.flatten()
        self.e = torch.index_select(p["E"], 1, words, out=self._buffer("e", T * B))
        if on_e is not None:
            self.e.mul_(on_e)
        gates = torch.baddbmm(p["b"].unsqueeze(1), self.e, p["W"].transpose(1, 2), out=self._buffer("gates", T * B))
        k = self.matrices.rows_of.index_select(1, words)  # (R, n)
        candidate = self._buffer("candidate", T * B)
        torch.index_select(self.parameters.b_c, 0, k.view(-1), out=candidate.view(-1, H))
        candidate.baddbmm_(self.e, p["W_c"].transpose(1, 2))
        self.matrices.prepare(T, B, k)
        states = [shaped(buffer, R, T + 1, B, H) for buffer in self.states]
        for state, before in zip(states, carried, strict=True):
            state[:, 0].copy_(before)
        self.recurrence.forward(gates.view(R, T, B, -1), candidate.view(R, T, B, H), *states)
        for state, after in zip(states, carried, strict=True):
            after.copy_(state[:, T])
        # The state before each word and after it, (R, n, H); views, since step follows step.
        self.h_before, self.h_after = states[0][:, :-1].flatten(1, 2), states[0][:, 1:].flatten(1, 2)

    def losses(self, y: Tensor, on_s: Tensor | None) -> Tensor:
        """Summed losses (R,), float64, of the targets y (n,); `on_s` masks the softmax input."""
        p, self.s = self.p, self._buffer("s", len(y))
        if on_s is None:
            self.s.copy_(self.h_after)
        else:
            torch.mul(self.h_after, on_s, out=self.s)
        self.L = torch.baddbmm(p["b_o"].unsqueeze(1), self.s, p["W_o_T"], out=self._buffer("logits", len(y)))
        torch.log_softmax(self.L, 2, out=self.L)
        return -self.L.gather(2, everyone(y, self.R, 0)).sum((1, 2), dtype=torch.float64)

    def gradients(
        self, x: Tensor, y: Tensor, on_e: Tensor, on_s: Tensor, blocks: tuple[Tensor, Tensor] | tuple[()]
    ) -> None:
        """All gradients of the summed loss of words x (T, B) and targets y (n,), after `read` and `losses`.

        `blocks` of the window are those of `stacked_matrices.window_blocks`, empty where every replica has K = 1.
        """
        (T, B), R, n, p, d = x.shape, self.R, len(y), self.p, self.d
        P = self.L.exp_().scatter_add_(2, everyone(y, R, 0), self.minus_one.expand(R, n, 1))
        ds = torch.bmm(P, p["W_o_T"].transpose(1, 2), out=self._buffer("ds", n)).mul_(on_s)
        torch.bmm(self.s.transpose(1, 2), P, out=d["W_o_T"])
        torch.sum(P, 1, out=d["b_o"])
        d_gates = self.recurrence.backward(ds.view(R, T, B, -1)).flatten(1, 2)
        d_c = self.matrices.derivatives()
        de = torch.bmm(d_gates, p["W"], out=self._buffer("de", n)).baddbmm_(d_c, p["W_c"]).mul_(on_e)
        self._by_embeddings(x.flatten(), de)
        torch.bmm(d_gates.transpose(1, 2), self.e, out=d["W"])
        torch.bmm(self.h_before.transpose(1, 2), d_gates, out=d["U_T"])
        torch.sum(d_gates, 1, out=d["b"])
        torch.bmm(d_c.transpose(1, 2), self.e, out=d["W_c"])
        self.matrices.gradients(blocks, self.parameters.dU_c, self.parameters.db_c)

    def _by_embeddings(self, words: Tensor, de: Tensor) -> None:
        """The embeddings' gradient: the rows de (R, n, E) of equal words are added up in a fixed order."""
        same = (words[:, None] == words).to(de.dtype)
        # Equal words take the sum of the first of them, so that they write equal rows.
        sums = torch.bmm(same.expand(self.R, -1, -1), de).index_select(1, same.argmax(1))
        self.d["E"].zero_().index_copy_(1, words, sums)

    def _buffer(self, name: str, n: int) -> Tensor:
        buffer, size = self.buffers[name]
        return shaped(buffer, self.R, n, size)
