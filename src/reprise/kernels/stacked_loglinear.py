"""The log-linear RNNs of document 004 as a stack: R replicas, one program a shape of windows.

Every replica reads windows in an order of its own, and has its own M, features, background, learning rate and constants
of RMSprop; `stacked_features.py` says how different M fit together. What a replica computes does not depend on the
others, up to how a batched product rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from reprise.kernels.stacked import Stack, check_alike
from reprise.kernels.stacked_features import one_hot_sides, stacked_features
from reprise.kernels.stacked_loglinear_ends import StackedInput, StackedOutput
from reprise.kernels.stacked_loglinear_lstm import StackedLayer
from reprise.kernels.stacked_loglinear_text import Shape, WindowPieces, WindowReader
from reprise.kernels.stacked_rmsprop import StackedRMSprop
from reprise.models.loglinear import LogLinearRNN


class Room(NamedTuple):
    """The most that is read: shapes of pieces, starts of a text, pieces whose losses are kept, pairs."""

    shapes: tuple[Shape, ...]
    entries: int
    pieces: int
    pairs: int = 0


class StackedLogLinear(Stack):
    """The engine of R readable models of equal sizes (but for M), one-hot in the same places, in their dtype.

    `tokens` (n,) is the text that windows are parts of. With `carried` every word of a window has a target and the
    state goes on from piece to piece; else the last one has, and windows start from zeros.
    """

    def __init__(
        self,
        models: Sequence[LogLinearRNN],
        tokens: np.ndarray,
        carried: bool,
        room: Room,
        device: torch.device,
        capture: bool = True,
    ) -> None:
        check_alike([(type(m), m.V, one_hot_sides(m), m.E.shape[1], m.H, m.layers, m.E.dtype) for m in models])
        super().__init__(len(models), device, capture)
        first, R = models[0], self.R
        words, streams = max(T * B for T, B in room.shapes), max(B for _, B in room.shapes)
        self.targets_of = (lambda T, B: T * B) if carried else (lambda T, B: B)
        with self.programs.stream(), torch.no_grad():
            like = torch.zeros(1, dtype=first.E.dtype, device=device)
            self.psi, self.phi = psi, phi = stacked_features(models, like)
            shapes = {name: tuple(p.shape) for name, p in first.named_parameters()}
            shapes |= {"E": (psi.F, first.E.shape[1]), "W_a": (phi.F, first.H), "b_a": (phi.F,)}
            self.rmsprop = StackedRMSprop(shapes, R, like)
            p, d = self.p, self.d = self.rmsprop.p, self.rmsprop.d
            self.input = StackedInput(psi, p["E"], d["E"], words)
            self.layers = [StackedLayer(p[f"U_{n}"], words, streams) for n in range(1, first.layers + 1)]
            ends = ((of["W_a"], of["b_a"]) for of in (p, d))
            targets = max(self.targets_of(*shape) for shape in room.shapes)
            self.output = StackedOutput(phi, [model.log_b for model in models], *ends, targets)
            self.reader = WindowReader(tokens, R, max(T for T, _ in room.shapes), room.entries, room.pairs, device)
            self.losses = torch.zeros(room.pieces, R, dtype=torch.float64, device=device)
            self.found = torch.zeros(R, room.pairs, dtype=torch.float64, device=device)
            state = (R, 2 * first.layers)
            self.carried = {B: like.new_zeros(*state, B, first.H) for _, B in room.shapes} if carried else None
        self.streams = 0  # of the text that is read
        for replica, model in enumerate(models):
            self.load(replica, model.state_dict())

    def named(self, replica: int) -> dict[str, Tensor]:
        return self._own(self.p, replica)

    def _own(self, tensors: Mapping[str, Tensor], replica: int) -> dict[str, Tensor]:
        """Of tensors by parameter, (R, ...), a replica's in the readable model's shapes."""
        first = {"E": self.psi.F - self.psi.sizes[replica]}
        first |= dict.fromkeys(("W_a", "b_a"), self.phi.F - self.phi.sizes[replica])
        return {name: value[replica, first.get(name, 0) :] for name, value in tensors.items()}

    def begin(self, learning_rates: Sequence[float], rhos: Sequence[float], epsilons: Sequence[float]) -> None:
        """Rates and constants of RMSprop from now on. Rate 0 changes no parameter."""
        with self.programs.stream(), torch.no_grad():
            self.rmsprop.begin(learning_rates, rhos, epsilons)

    def enter(self, text: WindowPieces) -> None:
        """The text that is read from now on, from states of zeros."""
        self.streams = text.shape[1]
        with self.programs.stream(), torch.no_grad():
            self.reader.upload(text)
            if self.carried:
                self.carried[self.streams].zero_()

    @property
    def state(self) -> Tensor:
        """The carried states (R, 2 layers, B, H), h and c of each layer, a copy in the host's memory; assignable."""
        with self.programs.stream():
            return self.carried[self.streams].to("cpu", copy=True)

    @state.setter
    def state(self, value: Tensor) -> None:
        with self.programs.stream(), torch.no_grad():
            self.carried[self.streams].copy_(value)

    def train(self, text: WindowPieces, first: int, last: int) -> None:
        """A step of RMSprop a piece, on its mean loss, pieces first .. last-1 of the text that was entered."""
        self._over(text, first, last, self._train_one)

    def evaluate(self, text: WindowPieces, first: int, last: int) -> None:
        """The losses of these pieces, without steps."""
        self._over(text, first, last, self._evaluate_one)

    def judge(self, text: WindowPieces, first: int, last: int) -> None:
        """How much more probable the first type of each pair is than the second, in nats; see `margins`."""
        self._over(text, first, last, self._judge_one)

    def batch_losses(self, first: int, last: int) -> list[list[float]]:
        """Summed nats of the pieces of these numbers, of each replica; waits for the device."""
        with self.programs.stream():
            return self.losses[first:last].T.tolist()

    def margins(self, replica: int, count: int) -> list[float]:
        """What `judge` found of the first pairs; waits for the device."""
        with self.programs.stream():
            return self.found[replica, :count].tolist()

    def optimiser(self, replica: int) -> dict[str, Tensor]:
        """What RMSprop keeps of a replica, by parameter, as copies in the host's memory."""
        with self.programs.stream(), torch.no_grad():
            return {name: value.clone().cpu() for name, value in self._own(self.rmsprop.a, replica).items()}

    def set_optimiser(self, replica: int, state: Mapping[str, Tensor] | None) -> None:
        """Takes what `optimiser` gave; None is the state before the first step."""
        with self.programs.stream(), torch.no_grad():
            for name, value in self._own(self.rmsprop.a, replica).items():
                value.copy_(state[name]) if state else value.zero_()

    @torch.no_grad()
    def _over(self, text: WindowPieces, first: int, last: int, program: Callable[..., Any]) -> None:
        with self.programs.stream():
            self.reader.go(text, first)
            for piece in range(first, last):
                shape = text.shape_of(piece)
                self.programs.run((program.__name__, *shape), program, *shape)
            self.programs.mark()

    def _train_one(self, T: int, B: int) -> None:
        """A program: the step on the next piece."""
        h, y = self._read(T, B)
        self._tell(-self.output.log_p(y).sum(1))
        self._back(h, T, B)
        self.rmsprop.step()

    def _evaluate_one(self, T: int, B: int) -> None:
        """A program: the loss of the next piece."""
        _, y = self._read(T, B)
        self._tell(-self.output.log_p(y).sum(1))

    def _judge_one(self, T: int, B: int) -> None:
        """A program: the pairs of the next piece."""
        self._read(T, B)
        types = self.reader.types.index_select(1, self.reader.columns)
        right, wrong = (self.output.log_p(one.expand(self.R, B)) for one in types)
        self.found.index_copy_(1, self.reader.columns, right - wrong)

    def _read(self, T: int, B: int) -> tuple[Tensor, Tensor]:
        """The states (R, n, H) that have targets, and these (R, n); all log-probabilities stay in the output layer."""
        reader, R = self.reader, self.R
        reader.take(T, B)
        rows = self.input.read(reader.x.flatten(1))
        for n, layer in enumerate(self.layers):
            b, W = self.p[f"b_{n + 1}"], self.p[f"W_{n + 1}"]
            torch.baddbmm(b.unsqueeze(1), rows, W, out=layer.gates(T * B))
            carried = self.carried and self.carried[B][:, 2 * n : 2 * n + 2].unbind(1)
            layer.forward(T, B, carried)
            rows = layer.rows
        if self.carried:
            h, y = rows, reader.after.flatten(1)
        else:
            h, y = layer.h[:, T], reader.after[:, -1]
        self.output.read(h)
        return h, y.view(R, -1)

    def _back(self, h: Tensor, T: int, B: int) -> None:
        """All gradients of the mean loss."""
        dh, weight = self.layers[-1].dh(T, B), 1 / h.shape[1]
        if self.carried:
            self.output.backward(h, weight, dh.flatten(1, 2))
        else:
            dh[:, :-1].zero_()
            self.output.backward(h, weight, dh[:, -1])
        for n in range(len(self.layers), 0, -1):
            layer, below = self.layers[n - 1], self.layers[n - 2] if n > 1 else None
            d = layer.backward()
            inputs = below.rows if below else self.input.e
            torch.bmm(inputs.mT, d, out=self.d[f"W_{n}"])
            layer.by_U(d, self.d[f"U_{n}"])
            torch.sum(d, 1, out=self.d[f"b_{n}"])
            out = below.dh(T, B).flatten(1, 2) if below else self.input.de(T * B)
            torch.bmm(d, self.p[f"W_{n}"].mT, out=out)
        self.input.gradients(out)

    def _tell(self, losses: Tensor) -> None:
        """Keeps the losses (R,) of the piece that was taken."""
        self.losses.index_copy_(0, self.reader.number - 1, losses.unsqueeze(0))
        self.total.add_(losses)
