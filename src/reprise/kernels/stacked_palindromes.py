"""The networks of document 002, part 1, as a stack: R replicas, each on palindromes of its own, one loss a sequence.

A step of training is one program: it unfolds the palindromes, reads them, goes back through time, clips and makes
Adam's step. Losses and right answers of many steps are kept on the device until they are asked for. A replica whose
learning rate is 0 does not change. What a replica computes does not depend on the others, up to how a batched product
rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reprise.kernels.stacked import check_alike, kind_of
from reprise.kernels.stacked_adam import StackedAdam
from reprise.kernels.stacked_one_hot import OneHotTable
from reprise.kernels.stacked_recurrent import GatesThroughTime, TanhThroughTime
from reprise.kernels.stacked_steps import SteppedStack
from reprise.models.elman import Elman
from reprise.models.lstm import LSTM

_NAMES = {
    Elman: {"W": "W_hx", "U": "W_hh", "b": "b_h", "W_out": "W_oh", "b_out": "b_o"},
    LSTM: {"W": "W_x", "U": "W_h", "b": "b", "W_out": "W_out", "b_out": "b_out"},
}

_ADDED_TO_NORM = 1e-6
"""By torch's clip_grad_norm_, which clips where a replica trains alone."""


class StackedPalindromes(SteppedStack):
    """The engine of R readable models, all `Elman` or all `LSTM`, of equal sizes, in their dtype.

    `clips` are the replicas' norms of clipping. A palindrome has `length` digits, of which T = length - 1 are read and
    the last is predicted; `batch` of them are a step. `span` and `kept` as in `SteppedStack`.
    """

    def __init__(
        self,
        models: Sequence[Elman] | Sequence[LSTM],
        clips: Sequence[float],
        length: int,
        batch: int,
        span: int,
        kept: int,
        device: torch.device,
        capture: bool = True,
    ) -> None:
        if type(models[0]) not in _NAMES:
            raise TypeError(f"a stack of palindromes knows Elman and LSTM, not {type(models[0]).__name__}")
        check_alike([kind_of(model) for model in models])
        super().__init__(len(models), next(models[0].parameters()).dtype, span, kept, device, capture)
        self.batch, self.tokens = batch, length * batch
        R, T, first, names = self.R, length - 1, models[0], _NAMES[type(models[0])]
        with self.programs.stream(), torch.no_grad():
            like = torch.zeros(1, dtype=self.minus_one.dtype, device=device)
            shapes = {name: p.shape for name, p in first.named_parameters()}
            self.adam = StackedAdam(shapes, clips, like, _ADDED_TO_NORM)
            self.p = self.adam.p
            # Weights and gradients by what both kinds of network have in common.
            self.own, self.d = ({k: views[name] for k, name in names.items()} for views in (self.p, self.adam.d))
            d, n = first.get_parameter(names["W"]).shape[1], first.get_parameter(names["U"]).shape[1]
            sizes = R, T, batch, n, like
            lstm = isinstance(first, LSTM)
            self.recurrence = GatesThroughTime(*sizes, "gifo", "tanh") if lstm else TanhThroughTime(*sizes)
            self.symbols = OneHotTable(R, d, self.recurrence.gates * n, T * batch, like)
            half = (length + 1) // 2
            self.left = torch.zeros(span, R, half, batch, dtype=torch.uint8, device=device)
            # Where each digit of a palindrome stands in its left half.
            self.mirror = torch.arange(length, device=device)
            self.mirror = torch.minimum(self.mirror, length - 1 - self.mirror)
            self.there = torch.zeros(R, dtype=torch.bool, device=device)
            self.right = torch.zeros(kept, R, dtype=torch.int64, device=device)
        for replica, model in enumerate(models):
            self.load(replica, model.state_dict())

    def begin(self, learning_rates: Sequence[float], epsilon: float = 1e-8) -> None:
        """Adam's rates and epsilon from now on. Rate 0 changes nothing."""
        with self.programs.stream(), torch.no_grad():
            self.adam.begin(learning_rates, epsilon)
            self.there.copy_(self.adam.rates != 0)

    def feed(self, left: np.ndarray) -> None:
        """The left halves of up to `span` steps' palindromes, (steps, R, ceil(length / 2), B) uint8."""
        with self.programs.stream():
            values = torch.from_numpy(left)
            values = values.pin_memory() if self.left.is_cuda else values
            self.left[: len(left)].copy_(values, non_blocking=True)

    def results(self, count: int) -> list[tuple[list[float], list[int]]]:
        """Of each replica the mean losses, nats, and right answers of the first `count` steps; waits for the device.

        As in training alone they are those of the step's own batch before its update.
        """
        with self.programs.stream():
            found = (kept[:count].T.tolist() for kept in (self.losses, self.right))
            return list(zip(*found, strict=True))

    def state(self, replica: int) -> dict[str, Any]:
        """What decides a replica's next steps beside its parameters, as copies in the host's memory."""
        with self.programs.stream():
            return self.adam.state(replica)

    def restore(self, replica: int, state: Mapping[str, Any] | None) -> None:
        """Takes what `state` gave; None is the state before the first step."""
        with self.programs.stream(), torch.no_grad():
            self.adam.restore(replica, state)

    def step(self) -> None:
        """See `SteppedStack`."""
        p, d, recurrence = self.own, self.d, self.recurrence
        left = self.left.index_select(0, self.place).squeeze(0).long()  # (R, half, B)
        digits = left.index_select(1, self.mirror)  # (R, T + 1, B)
        x, y = digits[:, :-1].flatten(1, 2), digits[:, -1]
        self.symbols.look_up(x, p["W"], p["b"], recurrence.inputs)
        recurrence.forward(p["U"])
        last = recurrence.h[:, -1]
        dh = self._through_softmax(last, y)
        by_inputs = recurrence.backward(dh.unsqueeze(1), p["U"]).flatten(1, 2)  # (R, N, G n)
        self.symbols.gradients(x, by_inputs, d["W"], d["b"])
        torch.bmm(by_inputs.mT, recurrence.h[:, :-1].flatten(1, 2), out=d["U"])
        self.adam.step(self.there)

    def _through_softmax(self, h: Tensor, y: Tensor) -> Tensor:
        """Last states h (R, B, n) and digits y (R, B): keeps the results, sets the output's gradients; dh (R, B, n)."""
        p, d = self.own, self.d
        logits = torch.baddbmm(p["b_out"].unsqueeze(1), h, p["W_out"].mT)  # (R, B, k)
        right = (logits.argmax(2) == y).sum(1)
        self.right.index_copy_(0, self.row, right.unsqueeze(0))
        by_logits = self.cross_entropy(logits, y, self.batch)
        by_logits.mul_((self.there.to(h.dtype) / self.batch)[:, None, None])
        torch.bmm(by_logits.mT, h, out=d["W_out"])
        torch.sum(by_logits, 1, out=d["b_out"])
        return torch.bmm(by_logits, p["W_out"])
