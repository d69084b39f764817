"""Engines of the stacked LSTM on windows of text: the readable model with autograd, and one layer by layer without.

An engine works on the readable model's own parameters: it fills their `.grad`, and an optimiser does the rest.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from reprise.engines.books.recurrence import Recurrence
from reprise.engines.choice import choose
from reprise.engines.gemm import linear_for
from reprise.models.deep_lstm import StackedLSTM, State


class WindowEngine(Protocol):
    name: str

    def loss_and_gradients(self, x: Tensor, y: Tensor, state: State) -> tuple[float, State]:
        """Symbols x and their next symbols y, (T, B) int64 each -> mean cross-entropy in nats, the last state.

        Sets `.grad` of every parameter; no gradient flows into `state`, which stays as it is.
        """
        ...


class AutogradEngine:
    """The readable model itself, on its device and in its dtype: what the fast engine is held to."""

    name = "reference"

    def __init__(self, model: StackedLSTM) -> None:
        self.model = model

    def loss_and_gradients(self, x: Tensor, y: Tensor, state: State) -> tuple[float, State]:
        """See `WindowEngine`."""
        self.model.zero_grad(set_to_none=True)
        logits, after = self.model(x, state)
        loss = functional.cross_entropy(logits.flatten(0, 1), y.flatten())
        loss.backward()
        return loss.item(), tuple((h.detach(), c.detach()) for h, c in after)


class LayerwiseEngine:
    """A layer at a time over the whole window: all products but h(t-1)'s are one for all steps, there and back.

    Against autograd it keeps the gates alone of what it computed, writes their derivatives where they are needed, and
    takes products that use the CPU's whole vector width (`engines/gemm.py`).
    """

    name = "layerwise"

    def __init__(self, model: StackedLSTM) -> None:
        self.model, self.linear = model, linear_for(model.b_out)
        self.recurrences: list[Recurrence] = []  # a layer each, of the last window's size

    @torch.no_grad()
    def loss_and_gradients(self, x: Tensor, y: Tensor, state: State) -> tuple[float, State]:
        """See `WindowEngine`; ValueError for symbols that the model does not have."""
        model = self.model
        if not 0 <= x.min() <= x.max() < model.vocabulary:
            raise ValueError(f"symbols must be in 0 .. {model.vocabulary - 1}")
        self._make_room(*x.shape)
        after = []
        for number, (recurrence, (h, c)) in enumerate(zip(self.recurrences, state, strict=True), start=1):
            W, U, b = model.layer(number)
            with_beta = b.clone()
            with_beta[model.hidden : 2 * model.hidden] += model.forget_bias
            gates = recurrence.gates.flatten(0, 1)  # (T B, 4n)
            if number == 1:
                torch.index_select(W.t().contiguous() + with_beta, 0, x.flatten(), out=gates)
            else:
                gates.copy_(self.linear(self._states(number - 1), W, with_beta))
            after.append(recurrence.forward(U, h, c))
        loss, d = self._through_softmax(self._states(model.layers), y.flatten())
        for number in range(model.layers, 0, -1):
            W, U, b = model.layer(number)
            recurrence = self.recurrences[number - 1]
            d_gates = recurrence.backward(d.view(*x.shape, -1), U).flatten(0, 1)  # (T B, 4n)
            U.grad = self._product(d_gates, recurrence.h[:-1].flatten(0, 1))
            b.grad = d_gates.sum(0)
            if number == 1:
                W.grad = torch.zeros_like(W.t()).index_add_(0, x.flatten(), d_gates).t().contiguous()
            else:
                W.grad = self._product(d_gates, self._states(number - 1))
                d = self.linear(d_gates, W.t().contiguous(), None)
        return loss, tuple(after)

    def _make_room(self, T: int, B: int) -> None:
        model = self.model
        if not self.recurrences or self.recurrences[0].phi_c.shape[:2] != (T, B):
            rest = (model.hidden, model.activation, self.linear)
            self.recurrences = [Recurrence(model.b_out, T, B, *rest) for _ in range(model.layers)]

    def _states(self, number: int) -> Tensor:
        """h(1) … h(T) of a layer, (T B, n)."""
        return self.recurrences[number - 1].h[1:].flatten(0, 1)

    def _product(self, d: Tensor, s: Tensor) -> Tensor:
        """d^T s of d (N, m) and s (N, n), n < m: the narrower one is turned, and the small result."""
        return self.linear(s.t().contiguous(), d.t(), None).t().contiguous()

    def _through_softmax(self, s: Tensor, y: Tensor) -> tuple[float, Tensor]:
        """States s (N, n) and next symbols (N,): the mean loss and its derivative by s; sets the output's gradients."""
        W, b = self.model.W_out, self.model.b_out
        log_p = torch.log_softmax(self.linear(s, W, b), 1)  # (N, V)
        loss = -log_p.gather(1, y[:, None]).mean(dtype=torch.float64).item()
        d = log_p.exp_()
        d.scatter_add_(1, y[:, None], d.new_full((len(y), 1), -1.0))
        d /= len(y)
        W.grad, b.grad = self.linear(d.t().contiguous(), s.t(), None), d.sum(0)
        return loss, self.linear(d, W.t().contiguous(), None)


ENGINES = {"reference": AutogradEngine, "layerwise": LayerwiseEngine}


def choose_window_engine(name: str, model: StackedLSTM) -> WindowEngine:
    """The engine called `name` (reference, layerwise) around `model`; "auto" is layerwise. Raises UserError."""
    return choose(name, model, ENGINES, "layerwise", "reference", knows=(StackedLSTM,))
