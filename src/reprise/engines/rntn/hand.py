"""The batch-1 engine where there is no C++ compiler: forward, backward and SGD step written in torch.

Against autograd it saves the dense gradients: W_h, v, U_h and b_h are updated in the rows and matrices
that the subsequence used, W_o and b_o in place, and the logits stay in one buffer. Symbols are those of
the readable models.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from reprise.counters import dropout_mask_torch
from reprise.engines.readable import take_state
from reprise.engines.rntn.subsequences import MAX_LENGTH, Subsequences
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN

CONTIGUOUS = torch.contiguous_format


class TensorRecurrence:
    """h_t = sigma(W_h x_t + U_h^k h_{t-1} + b_h^k) of `RNTN` (4)."""

    def __init__(self, model: RNTN, p: dict[str, Tensor]) -> None:
        self.model, self.p = model, p

    def forward(self, x: Tensor, h: Tensor) -> None:
        """Fills h[1:] (T, H) from h[0]."""
        p, model = self.p, self.model
        self.k, self.bias = model.matrix_index(x), model.bias_index(x)
        self.U = [p["U_h"][k] for k in self.k.tolist()]
        inputs = p["W_h"][x] + p["b_h"][self.bias]
        for t, U in enumerate(self.U):
            torch.addmv(inputs[t], U, h[t], out=h[t + 1]).sigmoid_()

    def backward(self, x: Tensor, h: Tensor, dH: Tensor, learning_rate: float) -> None:
        """Updates by way of dH (T, H), the loss's derivative by each state through the softmax alone."""
        p, slope = self.p, h[1:] * (1 - h[1:])
        dz = dH * slope
        for t in range(len(x) - 1, 0, -1):
            dz[t - 1].addcmul_(self.U[t].T @ dz[t], slope[t - 1])
        if len(p["U_h"]) == 1:
            p["U_h"][0].addmm_(dz.T, h[:-1], alpha=-learning_rate)
        else:
            for t, U in enumerate(self.U):
                U.addr_(dz[t], h[t], alpha=-learning_rate)
        p["W_h"].index_add_(0, x, dz, alpha=-learning_rate)
        p["b_h"].index_add_(0, self.bias, dz, alpha=-learning_rate)


class FactoredRecurrence:
    """h_t = sigma(W_h x_t + U_l diag(v_x) U_r h_{t-1} + b_h) of `MRNN` (3)."""

    def __init__(self, _model: MRNN, p: dict[str, Tensor]) -> None:
        self.p = p

    def forward(self, x: Tensor, h: Tensor) -> None:
        """Fills h[1:] (T, H) from h[0]."""
        p = self.p
        inputs, self.v = p["W_h"][x] + p["b_h"], p["v"][x]
        self.r = torch.empty_like(self.v)  # U_r h_{t-1}
        for t in range(len(x)):
            torch.mv(p["U_r"], h[t], out=self.r[t])
            torch.addmv(inputs[t], p["U_l"], self.v[t] * self.r[t], out=h[t + 1]).sigmoid_()

    def backward(self, x: Tensor, h: Tensor, dH: Tensor, learning_rate: float) -> None:
        """Updates by way of dH (T, H), the loss's derivative by each state through the softmax alone."""
        p, slope = self.p, h[1:] * (1 - h[1:])
        dz, df = dH * slope, torch.empty_like(self.v)
        for t in range(len(x) - 1, -1, -1):
            torch.mv(p["U_l"].T, dz[t], out=df[t])
            if t:
                dz[t - 1].addcmul_(p["U_r"].T @ (self.v[t] * df[t]), slope[t - 1])
        p["U_l"].addmm_(dz.T, self.v * self.r, alpha=-learning_rate)
        p["U_r"].addmm_((self.v * df).T, h[:-1], alpha=-learning_rate)
        p["v"].index_add_(0, x, df * self.r, alpha=-learning_rate)
        p["W_h"].index_add_(0, x, dz, alpha=-learning_rate)
        p["b_h"].sub_(dz.sum(0), alpha=learning_rate)


class HandEngine:
    """A `SubsequenceEngine` for `RNTN` and `MRNN`, in the model's dtype and on its device."""

    name = "hand"

    def __init__(self, model: nn.Module) -> None:
        if not isinstance(model, RNTN | MRNN):
            raise TypeError(f"the hand engine knows RNTN and MRNN, not {type(model).__name__}")
        self.p = {name: value.detach().clone() for name, value in model.state_dict().items()}
        self.p["W_o"] = self.p["W_o"].T.contiguous()  # (H, V): all three products run along the words
        recurrence = TensorRecurrence if isinstance(model, RNTN) else FactoredRecurrence
        self.recurrence = recurrence(model, self.p)
        self.h_0 = model.initial_state()
        self.hidden: Tensor = self.h_0.clone()
        self.h = self.h_0.new_empty(MAX_LENGTH + 1, model.hidden)
        self.L = self.h_0.new_empty(MAX_LENGTH, model.vocabulary)

    @torch.no_grad()
    def train(self, data: Subsequences, *, learning_rate: float, reduction: str, dropout: float, key: int) -> float:
        """One SGD step a subsequence; the summed loss in nats. See `SubsequenceEngine`."""
        if reduction not in ("sum", "mean"):
            raise ValueError(f"reduction must be sum or mean, not {reduction}")
        p, total = self.p, 0.0
        for i in range(len(data)):
            x, y, h, first = self._read(data, i)
            T, mask = len(x), None
            if dropout:
                mask = dropout_mask_torch(key, first, T, h.shape[1], dropout, h.device, h.dtype)
            softmax_input = h[1:] if mask is None else h[1:] * mask
            L = torch.addmm(p["b_o"], softmax_input, p["W_o"], out=self.L[:T])  # (T, V)
            total += _softmax(L, y)
            L.scatter_add_(1, y[:, None], L.new_full((T, 1), -1.0))
            if reduction == "mean":
                L.div_(T)
            dH = L @ p["W_o"].T
            p["W_o"].addmm_(softmax_input.T, L, alpha=-learning_rate)
            p["b_o"].sub_(L.sum(0), alpha=learning_rate)
            self.recurrence.backward(x, h, dH if mask is None else dH * mask, learning_rate)
        return total

    @torch.no_grad()
    def evaluate(self, data: Subsequences) -> float:
        """The summed loss in nats, without dropout and without steps."""
        total = 0.0
        for i in range(len(data)):
            x, y, h, _ = self._read(data, i)
            L = torch.addmm(self.p["b_o"], h[1:], self.p["W_o"], out=self.L[: len(x)])
            total += _softmax(L, y)
        return total

    def export(self) -> dict[str, Tensor]:
        """The state_dict of the readable model, as copies."""
        return {n: (v.T if n == "W_o" else v).clone(memory_format=CONTIGUOUS) for n, v in self.p.items()}

    def load(self, state: dict[str, Tensor]) -> None:
        """Takes the values of a readable model's state_dict; ValueError if names or shapes differ."""
        take_state(self.p, {name: value.T if name == "W_o" else value for name, value in state.items()})

    def _read(self, data: Subsequences, i: int) -> tuple[Tensor, Tensor, Tensor, int]:
        """Words, next words, states (T+1, H) and first word's place in the epoch of subsequence i."""
        begin, end = int(data.offsets[i]), int(data.offsets[i + 1])
        h = self.h[: end - begin + 1]
        h[0] = self.h_0 if data.reset[i] else self.hidden.to(h)
        x = torch.from_numpy(data.inputs[begin:end]).to(h.device, torch.int64)
        y = torch.from_numpy(data.targets[begin:end]).to(h.device, torch.int64)
        self.recurrence.forward(x, h)
        self.hidden = h[-1].clone()
        return x, y, h, data.first_token + begin


def _softmax(L: Tensor, y: Tensor) -> float:
    """Turns logits L (T, V) into probabilities in place; the summed loss of the targets y (T,), nats."""
    L.sub_(L.amax(1, keepdim=True))
    target = L.gather(1, y[:, None])
    Z = L.exp_().sum(1, keepdim=True)
    L.div_(Z)
    return (Z.log() - target).sum(dtype=torch.float64).item()
