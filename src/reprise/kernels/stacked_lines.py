"""Document 000's networks as a stack: R replicas, each on the lines of its own fold, batch by batch together.

A batch is four kinds of programs: `_open` takes its lines and the present parameters, `_forward` and `_backward` are
one chunk of steps each and a program a width, `_close` is Adam's step. The host puts them together from the lengths,
which it knows; see `stacked_batches`. A replica that has no line in a batch does not change. What a replica computes
does not depend on the others, up to how a batched product rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from reprise.engines.gso.terms import unsuitable
from reprise.kernels.stacked import Stack, check_alike, kind_of
from reprise.kernels.stacked_adam import StackedAdam
from reprise.kernels.stacked_batches import STEPS, LineBatches, LineReader
from reprise.kernels.stacked_symbols import StackedSymbols
from reprise.kernels.stacked_symbols_back import StackedGradients
from reprise.models.gso import SymbolModel


class Room(NamedTuple):
    """The most that is read: lines of a batch, batches of a text, predictions of a line and of a replica's part."""

    batch: int
    batches: int
    longest: int
    part: int


class StackedLines(Stack):
    """The engine of R readable models of `models/gso.py`, alike but for their parameters, in their dtype.

    `tokens` (n,) is the text that lines are parts of; `clips` are the replicas' norms of clipping, 0 for none.
    """

    def __init__(
        self,
        models: Sequence[SymbolModel],
        tokens: np.ndarray,
        clips: Sequence[float],
        room: Room,
        device: torch.device,
        capture: bool = True,
    ) -> None:
        for model in models:
            if reason := unsuitable(model):
                raise TypeError(f"a stack of lines {reason}")
        check_alike([kind_of(m, m.activation, getattr(m, "form", None)) for m in models])
        super().__init__(len(models), device, capture)
        R, first = self.R, models[0]
        with self.programs.stream(), torch.no_grad():
            like = torch.zeros(1, dtype=first.c.dtype, device=device)
            self.adam = StackedAdam({name: p.shape for name, p in first.named_parameters()}, clips, like)
            slots = max(1, -(-room.longest // STEPS))
            self.p = self.adam.p
            self.network = StackedSymbols(models, self.p, room.batch, slots, like)
            self.gradients = StackedGradients(self.network, self.adam.d, room.batch, like)
            self.reader = LineReader(tokens, R, room.batch, room.batches, room.part, like)
            self.losses = torch.zeros(room.batches, R, dtype=torch.float64, device=device)
            self.loss = torch.zeros(R, dtype=torch.float64, device=device)  # of the present batch
            # The last one of each replica is for rows that are filled up.
            self.nats = like.new_zeros(R, room.part + 1)
            self.best = torch.zeros(R, room.part + 1, dtype=torch.int32, device=device)
            self.first_found = torch.arange(R, device=device)[:, None] * (room.part + 1)
        for replica, model in enumerate(models):
            self.load(replica, model.state_dict())

    def begin(self, learning_rates: Sequence[float], epsilon: float = 1e-8) -> None:
        """Adam's rates and epsilon from now on."""
        with self.programs.stream(), torch.no_grad():
            self.adam.begin(learning_rates, epsilon)

    def enter(self, text: LineBatches) -> None:
        """The text that `train` or `evaluate` read from now on."""
        with self.programs.stream(), torch.no_grad():
            self.reader.upload(text)

    def train(self, text: LineBatches, first: int, last: int) -> None:
        """A step of Adam a batch, batches first .. last-1 of the text that was entered."""
        self._over(text, first, last, self._train_batch)

    def evaluate(self, text: LineBatches, first: int, last: int) -> None:
        """The losses of these batches, see `evaluation`, without steps."""
        self._over(text, first, last, self._evaluate_batch)

    def batch_losses(self, first: int, last: int) -> list[list[float]]:
        """Summed nats of these batches, as they were trained on, of each replica; waits for the device."""
        with self.programs.stream():
            return self.losses[first:last].T.tolist()

    def evaluation(self, replica: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Nats (count,) of a replica's predictions, in the order of `LineBatches.places`, and the most probable symbols
        (count,) int32; waits for the device.
        """
        with self.programs.stream():
            return tuple(found[replica, :count].cpu().numpy() for found in (self.nats, self.best))

    def optimiser(self, replica: int) -> dict[str, Any]:
        """What Adam keeps of a replica, as copies in the host's memory."""
        with self.programs.stream():
            return self.adam.state(replica)

    def set_optimiser(self, replica: int, state: Mapping[str, Any] | None) -> None:
        """Takes what `optimiser` gave; None is the state before the first step."""
        with self.programs.stream(), torch.no_grad():
            self.adam.restore(replica, state)

    @torch.no_grad()
    def _over(self, text: LineBatches, first: int, last: int, batch: Any) -> None:
        with self.programs.stream():
            self.reader.place.fill_(first)
            for widths in text.widths[first:last]:
                batch(widths)
            self.programs.mark()

    def _train_batch(self, widths: Sequence[int]) -> None:
        run = self.programs.run
        run("open", self._open)
        for P in widths:
            run(("forward", P), self._forward, P)
        for P in reversed(widths):
            run(("backward", P), self._backward, P)
        run("close", self._close)

    def _evaluate_batch(self, widths: Sequence[int]) -> None:
        run = self.programs.run
        run("open", self._open)
        for P in widths:
            run(("evaluate", P), self._evaluate, P)
        run("pass", self._pass)

    def _open(self) -> None:
        """A program: takes the batch at the reader's place."""
        self.reader.open()
        self.network.open()
        self.gradients.open()
        self.loss.zero_()

    def _forward(self, P: int) -> None:
        """A program: the states of the next chunk, P lines wide, which are stored."""
        self.reader.take(P)
        self.network.forward(P, self.reader.x, self.reader.live)
        self.network.store(self.reader.chunk)
        self.reader.chunk.add_(1)

    def _backward(self, P: int) -> None:
        """A program: loss and gradients of the chunk before, which `_forward` has stored."""
        reader, net = self.reader, self.network
        reader.chunk.sub_(1)
        reader.take(P)
        net.restore(P, reader.x, reader.chunk)
        self.loss.add_(self._nats(P).sum(1, dtype=torch.float64))
        self.gradients.through_softmax(P, reader.y, reader.shares_of_rows(P))
        self.gradients.backward(P, reader.x)

    def _close(self) -> None:
        """A program: Adam's step, and the batch's loss."""
        self.gradients.finish()
        self.adam.step(self.reader.there)
        self.losses.index_copy_(0, self.reader.place, self.loss.unsqueeze(0))
        self._pass()

    def _evaluate(self, P: int) -> None:
        """A program: the losses of the next chunk, and what is most probable."""
        reader = self.reader
        reader.take(P)
        self.network.forward(P, reader.x, reader.live)
        nats = self._nats(P)
        self.loss.add_(nats.sum(1, dtype=torch.float64))
        found = (reader.found + self.first_found).view(-1)
        best = self.network.buffer("logits", P).flatten(1, 2).argmax(2)
        self.nats.view(-1).index_copy_(0, found, nats.view(-1))
        self.best.view(-1).index_copy_(0, found, best.to(torch.int32).view(-1))
        reader.chunk.add_(1)

    def _pass(self) -> None:
        """A program: on to the next batch."""
        self.total.add_(self.loss)
        self.reader.place.add_(1)

    def _nats(self, P: int) -> Tensor:
        """The loss of each row (R, n), 0 where it is filled up; all log-probabilities stay in the network's buffer."""
        found = self.network.log_probabilities(P).gather(2, self.reader.y.unsqueeze(2)).squeeze(2)
        return found.neg().masked_fill_(self.reader.live.logical_not(), 0.0)
