"""Recurrences of a stack of batch-1 language models: forward, backward and SGD step; symbols of the readable models.

All replicas take a step of time together: two small batched operations forward, two backward. Matrices of all replicas
lie one after another in one tensor, whatever their K; those of a subsequence are copied out, changed and written back.
Words that share a row share its new value, which is a product with a matrix of zeros and ones: unlike atomic additions
it adds up in a fixed order.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from reprise.kernels.stacked_programs import shaped
from reprise.kernels.stacked_text import Rows, Stage
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN


class WordTable:
    """A row a word and replica, (V + 1, R, W); the last row is scratch. The rows of a subsequence are `taken`."""

    def __init__(self, V: int, R: int, width: int, longest: int, like: Tensor) -> None:
        self.table = like.new_zeros(V + 1, R, width)
        self.buffer = like.new_zeros(longest * R * width)

    def take(self, stage: Stage) -> Tensor:
        """The rows of the subsequence's words, (T, R, W)."""
        rows = stage.read[0].squeeze(0)
        self.taken = shaped(self.buffer, len(rows), *self.table.shape[1:])
        return torch.index_select(self.table, 0, rows, out=self.taken)

    def step(self, stage: Stage, change: Tensor) -> None:
        """Adds `change` (T, R, W), which is no longer needed elsewhere, to the rows taken."""
        self.taken.flatten(1).addmm_(stage.repeats[0].squeeze(0), change.flatten(1))
        self.table.index_copy_(0, stage.write[0].squeeze(0), self.taken)


class TensorRecurrences:
    """h_t = sigma(W_h x_t + U_h^k h_{t-1} + b_h^k) of `RNTN` (4); K, map and biases may differ between replicas."""

    def __init__(self, models: Sequence[RNTN], longest: int, like: Tensor) -> None:
        self.R, self.H = len(models), models[0].hidden
        R, H = self.R, self.H
        self.spans, self.bias_spans = _spans([m.U_h for m in models]), _spans([m.b_h for m in models])
        self.U = like.new_zeros(self.spans[-1].stop + 1, H * H)
        self.b = like.new_zeros(self.bias_spans[-1].stop + 1, H)
        words = torch.arange(models[0].vocabulary)
        self.rows = [_rows([m.matrix_index(words) for m in models], self.spans, like)]
        # Where each matrix has a bias of its own, its row is the matrix's.
        self.shared_biases = any(model.bias == "shared" for model in models)
        if self.shared_biases:
            self.rows.append(_rows([m.bias_index(words) for m in models], self.bias_spans, like))
        self._U = like.new_zeros(R * longest * H * H)
        self._outer = like.new_zeros(R * longest * H * H)
        self._b = like.new_zeros(R * longest * H)
        self._scaled = like.new_zeros(longest, R, H)

    def named(self, replica: int) -> dict[str, Tensor]:
        """Views of a replica's parameters in the readable model's shapes."""
        H = self.H
        return {"U_h": self.U[self.spans[replica]].view(-1, H, H), "b_h": self.b[self.bias_spans[replica]]}

    def forward(self, T: int, stage: Stage, h: Tensor) -> None:
        """h[1:] (T, R, H), which holds W_h x, becomes the states after h[0]."""
        R, H = self.R, self.H
        self.taken_U = shaped(self._U, R * T, H * H)
        torch.index_select(self.U, 0, stage.read[1].view(-1), out=self.taken_U)
        self.taken_b = shaped(self._b, R * T, H)
        torch.index_select(self.b, 0, stage.read[-1].view(-1), out=self.taken_b)
        h[1:].add_(self.taken_b.view(R, T, H).transpose(0, 1))
        U = self.taken_U.view(R, T, H, H)
        for t in range(T):
            h[t + 1].unsqueeze(2).baddbmm_(U[:, t], h[t].unsqueeze(2))
            h[t + 1].sigmoid_()

    def backward(self, T: int, stage: Stage, h: Tensor, dz: Tensor, rates: Tensor) -> Tensor:
        """dz (T, R, H), by each state through the softmax alone, is used up: `rates` times that by W_h x."""
        R, H = self.R, self.H
        slope = torch.addcmul(h[1:], h[1:], h[1:], value=-1)  # h (1 - h)
        U = self.taken_U.view(R, T, H, H)
        dz[T - 1].mul_(slope[T - 1])
        for t in range(T - 1, 0, -1):
            dz[t - 1].unsqueeze(2).baddbmm_(U[:, t].transpose(1, 2), dz[t].unsqueeze(2))
            dz[t - 1].mul_(slope[t - 1])
        change = torch.mul(dz, rates[:, None], out=self._scaled[:T])
        by_replica = change.transpose(0, 1)  # (R, T, H)
        outer = shaped(self._outer, R, T, H, H)
        torch.mul(by_replica.unsqueeze(3), h[:T].transpose(0, 1).unsqueeze(2), out=outer)
        self.taken_U.view(R, T, H * H).baddbmm_(stage.repeats[1], outer.view(R, T, H * H))
        self.U.index_copy_(0, stage.write[1].view(-1), self.taken_U)
        self.taken_b.view(R, T, H).baddbmm_(stage.repeats[-1], by_replica)
        self.b.index_copy_(0, stage.write[-1].view(-1), self.taken_b)
        return change


class FactoredRecurrences:
    """h_t = sigma(W_h x_t + U_l diag(v_x) U_r h_{t-1} + b_h) of `MRNN` (3)."""

    def __init__(self, models: Sequence[MRNN], longest: int, like: Tensor) -> None:
        R, H, M = len(models), models[0].hidden, models[0].factors
        self.rows: list[Rows] = []
        self.v = WordTable(models[0].vocabulary, R, M, longest, like)
        self.U_l, self.U_r, self.b = like.new_zeros(R, H, M), like.new_zeros(R, M, H), like.new_zeros(R, H)
        self._r, self._vr, self._df, self._vdf = (like.new_zeros(longest, R, M) for _ in range(4))
        self._scaled = like.new_zeros(longest, R, H)

    def named(self, replica: int) -> dict[str, Tensor]:
        """Views of a replica's parameters in the readable model's shapes."""
        own = {"U_l": self.U_l[replica], "U_r": self.U_r[replica], "b_h": self.b[replica]}
        return {"v": self.v.table[:-1, replica], **own}

    def forward(self, T: int, stage: Stage, h: Tensor) -> None:
        """h[1:] (T, R, H), which holds W_h x, becomes the states after h[0]."""
        v = self.v.take(stage)
        h[1:].add_(self.b)
        for t in range(T):
            torch.bmm(self.U_r, h[t].unsqueeze(2), out=self._r[t].unsqueeze(2))
            torch.mul(v[t], self._r[t], out=self._vr[t])
            h[t + 1].unsqueeze(2).baddbmm_(self.U_l, self._vr[t].unsqueeze(2))
            h[t + 1].sigmoid_()

    def backward(self, T: int, stage: Stage, h: Tensor, dz: Tensor, rates: Tensor) -> Tensor:
        """dz (T, R, H), by each state through the softmax alone, is used up: `rates` times that by W_h x."""
        slope = torch.addcmul(h[1:], h[1:], h[1:], value=-1)  # h (1 - h)
        v, df, vdf = self.v.taken, self._df[:T], self._vdf[:T]
        dz[T - 1].mul_(slope[T - 1])
        for t in range(T - 1, -1, -1):
            torch.bmm(self.U_l.transpose(1, 2), dz[t].unsqueeze(2), out=df[t].unsqueeze(2))
            torch.mul(v[t], df[t], out=vdf[t])
            if t:
                dz[t - 1].unsqueeze(2).baddbmm_(self.U_r.transpose(1, 2), vdf[t].unsqueeze(2))
                dz[t - 1].mul_(slope[t - 1])
        change = torch.mul(dz, rates[:, None], out=self._scaled[:T])
        self.U_l.baddbmm_(change.permute(1, 2, 0), self._vr[:T].transpose(0, 1))
        self.U_r.baddbmm_(vdf.mul_(rates[:, None]).permute(1, 2, 0), h[:T].transpose(0, 1))
        self.v.step(stage, df.mul_(self._r[:T]).mul_(rates[:, None]))
        self.b.add_(change.sum(0))
        return change


def recurrences_of(models: Sequence[nn.Module], longest: int, like: Tensor) -> TensorRecurrences | FactoredRecurrences:
    """The stacked recurrences of readable models of one kind."""
    kind = FactoredRecurrences if isinstance(models[0], MRNN) else TensorRecurrences
    return kind(models, longest, like)


def _spans(tensors: Sequence[Tensor]) -> list[slice]:
    """The rows of each where all stand one after another."""
    spans, first = [], 0
    for tensor in tensors:
        spans.append(slice(first, first + len(tensor)))
        first += len(tensor)
    return spans


def _rows(indices: Sequence[Tensor], spans: Sequence[slice], like: Tensor) -> Rows:
    of = torch.stack([index + span.start for index, span in zip(indices, spans, strict=True)])
    return Rows(of.to(like.device), spans[-1].stop)
