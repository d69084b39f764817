"""The character models of document 002, question 2.1, as a stack: R replicas, each on windows of its own of one book.

A step of training is one program: it finds where the windows begin, from the counters of `training/counters.py`, reads
them, goes back through time, clips and makes RMSProp's step. Losses of many steps are kept on the device until they are
asked for. What a replica computes does not depend on the others, up to how a batched product rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reprise import counters
from reprise.kernels.stacked import check_alike, kind_of
from reprise.kernels.stacked_masks import uniform32_of
from reprise.kernels.stacked_one_hot import OneHotTable
from reprise.kernels.stacked_recurrent import GatesThroughTime
from reprise.kernels.stacked_steps import SteppedStack
from reprise.kernels.stacked_tensorflow_rmsprop import Law, StackedTensorFlowRMSProp
from reprise.models.deep_lstm import StackedLSTM


class StackedBooks(SteppedStack):
    """The engine of R readable models `StackedLSTM` of equal sizes, in their dtype.

    `tokens` (n,) is the book, `carried` says which replicas carry their states from window to window and `laws` how
    each of them makes a step. Windows have `length` T characters, `batch` are read at a time, and begin at one of
    `places`; `span` and `kept` as in `SteppedStack`.
    """

    def __init__(
        self,
        models: Sequence[StackedLSTM],
        laws: Sequence[Law],
        carried: Sequence[bool],
        tokens: np.ndarray,
        places: int,
        length: int,
        batch: int,
        span: int,
        kept: int,
        device: torch.device,
        capture: bool = True,
    ) -> None:
        check_alike([kind_of(model, model.activation, model.forget_bias) for model in models])
        super().__init__(len(models), models[0].b_out.dtype, span, kept, device, capture)
        self.places, self.tokens = places, length * batch
        R, T, B, first = self.R, length, batch, models[0]
        V, n = first.vocabulary, first.hidden
        with self.programs.stream(), torch.no_grad():
            like = torch.zeros(1, dtype=first.b_out.dtype, device=device)
            integers = {"dtype": torch.int64, "device": device}
            shapes = {name: p.shape for name, p in first.named_parameters()}
            self.rmsprop = StackedTensorFlowRMSProp(shapes, laws, like)
            self.p, self.d = self.rmsprop.p, self.rmsprop.d
            self.book = torch.from_numpy(tokens).to(**integers)
            self.symbols = OneHotTable(R, V, 4 * n, T * B, like)
            rest = T, B, n, like, "ifog", first.activation
            self.layers = [GatesThroughTime(R, *rest) for _ in range(first.layers)]
            self.beta = like.new_zeros(4 * n)
            self.beta[n : 2 * n] = first.forget_bias
            self.from_below, self.by_states = (like.new_zeros(R, T, B, n) for _ in range(2))
            self.within = torch.arange(T + 1, device=device)[:, None]
            self.ladder = torch.arange(1, B + 1, device=device) * counters.signed(counters.GOLDEN)
            self.carried = torch.tensor(carried, device=device)[:, None]
            self.keys, self.steps = torch.zeros(2, span, R, **integers)
        for replica, model in enumerate(models):
            self.load(replica, model.state_dict())

    def begin(self, learning_rates: Sequence[float], epsilon: float | None = None) -> None:
        """RMSProp's rates from now on, and where one is given its epsilon. Rate 0 changes no parameter."""
        with self.programs.stream(), torch.no_grad():
            self.rmsprop.begin(learning_rates, epsilon)

    def feed(self, keys: np.ndarray, steps: np.ndarray) -> None:
        """Of the next steps and each replica the key of where its windows begin, and the step's number, (s, R)."""
        with self.programs.stream():
            for own, array in ((self.keys, keys.view(np.int64)), (self.steps, steps)):
                values = torch.from_numpy(array)
                own[: len(array)].copy_(values.pin_memory() if own.is_cuda else values, non_blocking=True)

    def results(self, count: int) -> list[tuple[list[float]]]:
        """Of each replica the mean losses, nats, of the first `count` steps; waits for the device."""
        with self.programs.stream():
            return [(losses,) for losses in self.losses[:count].T.tolist()]

    def state(self, replica: int) -> dict[str, Any]:
        """What decides a replica's next steps beside its parameters, as copies in the host's memory."""
        with self.programs.stream():
            last = [part[replica, -1].to("cpu", copy=True) for layer in self.layers for part in (layer.h, layer.c)]
            return {"mean_squares": self.rmsprop.state(replica), "carried": last}

    def restore(self, replica: int, state: Mapping[str, Any] | None) -> None:
        """Takes what `state` gave; None is the state before the first step."""
        with self.programs.stream(), torch.no_grad():
            self.rmsprop.restore(replica, state["mean_squares"] if state else None)
            if state:
                parts = (part for layer in self.layers for part in (layer.h, layer.c))
                for part, value in zip(parts, state["carried"], strict=True):
                    part[replica, -1].copy_(value)

    def step(self) -> None:
        """See `SteppedStack`."""
        x, y, fresh = self._windows()
        p, d = self.p, self.d
        for number, layer in enumerate(self.layers, 1):
            for part in (layer.h, layer.c):
                part[:, 0].copy_(part[:, -1]).masked_fill_(fresh, 0.0)
            W, bias = p[f"W_{number}"], p[f"b_{number}"] + self.beta
            if number == 1:
                self.symbols.look_up(x, W, bias, layer.inputs)
            else:
                below = self._states(number - 1)
                torch.baddbmm(bias.unsqueeze(1), below, W.mT, out=layer.inputs.flatten(1, 2))
            layer.forward(p[f"U_{number}"])
        dh = self._through_softmax(y)
        for number in range(len(self.layers), 0, -1):
            layer, W = self.layers[number - 1], p[f"W_{number}"]
            by_inputs = layer.backward(dh, p[f"U_{number}"]).flatten(1, 2)  # (R, T B, 4n)
            torch.bmm(by_inputs.mT, layer.h[:, :-1].flatten(1, 2), out=d[f"U_{number}"])
            if number == 1:
                self.symbols.gradients(x, by_inputs, d["W_1"], d["b_1"])
            else:
                torch.bmm(by_inputs.mT, self._states(number - 1), out=d[f"W_{number}"])
                torch.sum(by_inputs, 1, out=d[f"b_{number}"])
                torch.bmm(by_inputs, W, out=self.from_below.flatten(1, 2))
                dh = self.from_below
        self.rmsprop.step()

    def _windows(self) -> tuple[Tensor, Tensor, Tensor]:
        """Characters and their next ones (R, T B), and where no state is carried on (R, B, 1)."""
        keys, steps = (fed.index_select(0, self.place).view(-1, 1) for fed in (self.keys, self.steps))  # (R, 1)
        # The product with a 32-bit number is exact in 64 bits: a book has less than 2**31 characters.
        starts = (uniform32_of(self.ladder + keys) * self.places).bitwise_right_shift_(32)  # (R, B)
        T = len(self.within) - 1
        places = (starts + steps * T * self.carried) % self.places
        fresh = (places < T) | (steps == 0) | self.carried.logical_not()
        spans = (places.unsqueeze(1) + self.within).view(-1)
        characters = self.book.index_select(0, spans).view(self.R, T + 1, -1)
        return characters[:, :-1].flatten(1, 2), characters[:, 1:].flatten(1, 2), fresh.unsqueeze(2)

    def _through_softmax(self, y: Tensor) -> Tensor:
        """Next characters y (R, T B): keeps the loss, sets the output's gradients; by the states, (R, T, B, n)."""
        p, d, s = self.p, self.d, self._states(len(self.layers))
        logits = torch.baddbmm(p["b_out"].unsqueeze(1), s, p["W_out"].mT)  # (R, T B, V)
        by_logits = self.cross_entropy(logits, y, self.tokens).div_(self.tokens)
        torch.bmm(by_logits.mT, s, out=d["W_out"])
        torch.sum(by_logits, 1, out=d["b_out"])
        torch.bmm(by_logits, p["W_out"], out=self.by_states.flatten(1, 2))
        return self.by_states

    def _states(self, number: int) -> Tensor:
        """h(1) … h(T) of a layer, (R, T B, n)."""
        return self.layers[number - 1].h[:, 1:].flatten(1, 2)
