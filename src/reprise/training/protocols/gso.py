"""Epochs over lines in random batches, Adam, the epoch of lowest validation loss: the training of document 000
(section 4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from reprise import counters
from reprise.engines.gso import choose
from reprise.engines.gso.packing import PackedBatch, by_length, pack
from reprise.engines.readable import clipped
from reprise.evaluation.line_losses import LineLosses
from reprise.models.gso_start import initial_model
from reprise.options import COUNT, NOT_NEGATIVE
from reprise.records.record import Outcome, metric
from reprise.training.epochs import Epochs
from reprise.training.protocol import ADAM, Diverged

_ORDER = 3  # stream of the order of the training lines
_SHOWN = 3
_EVALUATED_TOGETHER = 64


class LineEpochs(Epochs):
    """Replica r trains on fold r and is seeded with r: replicas of two experiments are pairs.

    Every epoch reads all training lines in a new random order and is followed by the loss on the validation lines. When
    the last one is over, or has gone astray, the test lines are read with the parameters of the epoch with the lowest
    validation loss ("best-valid"). A loss that is not finite ends training: as long as one epoch was finished the best
    of them counts, and `diverged_epoch` says in which one it happened; else `Diverged` is raised.

    UserError without a corpus, or with one that has no such fold.
    """

    TRAINS = ("gso", "first-order", "mi-rnn")
    PREDICTED = "all but the first of every line"
    OPTIONS = {
        **ADAM,
        "clip_norm": NOT_NEGATIVE,  # 0 for none
        "max_epochs": COUNT,
        "loss_reduction": ("mean-tokens", "mean-lines"),
        "selection": ("best-valid",),
    }
    GPU = True
    READS = ("matrix_law",)

    PARTS = ("train", "valid")
    KEPT = ("epoch", "history", "best", "diverged", "part", "next", "loss")

    shares = {"train": 0.9, "valid": 0.1}
    tokens_at_once = 20_000  # a call of `advance`: about a third of a second of the fused engine

    def prepare(self) -> None:
        loaded = self.load_corpus()
        self.lines, self.vocabulary = loaded.splits["lines"], loaded.vocabulary
        self.parts = self.lines_by_part(loaded)
        lengths = np.diff(self.lines.offsets)[self.parts["train"]]
        self.training_tokens = int((lengths - 1).clip(min=0).sum())
        model = self.config["model"]
        self.model = initial_model(model["name"], model["options"], len(self.vocabulary), self.generator("weights"))
        self.compute(self.model, choose)
        self.use_adam(fused=True)
        self.best: dict[str, Any] | None = None  # metrics and parameters of the best epoch
        self.diverged: dict[str, Any] | None = None
        self.tested: LineLosses | None = None
        self.loss = 0.0  # summed nats of the training lines of this epoch
        self._open("train")

    @property
    def finished(self) -> bool:
        return self.tested is not None

    def length(self) -> int:
        return len(self.batches)

    def summed(self) -> float:
        return self.loss

    def advance(self) -> str:
        """Reads the next batches of the part whose turn it is. Raises `Diverged` before the first epoch's end."""
        tokens = 0
        while self.next < len(self.batches) and tokens < self.tokens_at_once:
            tokens += len(self.batches[self.next])
            self.read()
        if self.next == len(self.batches):
            self.close()
        return self.note()

    def read(self) -> None:
        batch = self.batches[self.next]
        if self.part != "train":
            self.found.append((batch.places, *self.kernel.evaluate(batch)))
        elif math.isfinite(loss := self._update(batch)):
            self.loss += loss
        else:
            self._diverge("training loss", batch=self.next)
            self._open("test")
            return
        self.next += 1

    def _update(self, batch: PackedBatch) -> float:
        """One step; the summed loss in nats before it. A step on a loss that is not finite is no step to go on from."""
        if self.stacked:
            return self.kernel.update(batch, self.options["loss_reduction"], self.options["learning_rate"])
        loss = self.kernel.train(batch, self.options["loss_reduction"])
        if not math.isfinite(loss):
            return loss
        if self.options["clip_norm"]:
            gradients = [parameter.grad for parameter in self.model.parameters()]
            factor = clipped(1.0, self.options["clip_norm"], gradients)
            for gradient in gradients:
                gradient.mul_(factor)
        self.optimiser.step()
        return loss

    def _open(self, part: str) -> None:
        """Packs the lines that are read next."""
        self.part, self.next = part, 0
        self.found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # places, nats, most probable symbols
        if part == "train":
            self.batches = pack(self.lines, self._order(), self.options["batch_size"])
            return
        if part == "test":
            self.take_parameters(self.best["parameters"])
        self.batches = pack(self.lines, by_length(self.lines, self.parts[part]), _EVALUATED_TOGETHER)

    def _order(self) -> np.ndarray:
        """The training lines in the order of this epoch."""
        lines = self.parts["train"]
        numbers = counters.uniform32(counters.key(self.seed, _ORDER, self.epoch), 0, len(lines))
        return lines[np.argsort(numbers, kind="stable")]

    def close(self) -> None:
        """Goes on to the next part; after the validation lines the epoch is over."""
        if self.part == "train":
            self._open("valid")
            return
        columns = (np.concatenate(column) for column in zip(*self.found, strict=True))
        losses = LineLosses.in_any_order(self.lines, self.vocabulary, *columns)
        if self.part == "test":
            self.tested = losses
            return
        self._close_epoch(losses)
        self.loss = 0.0
        self._open("test" if self.diverged is not None or self.epoch >= self.total else "train")

    def _close_epoch(self, valid: LineLosses) -> None:
        if not math.isfinite(valid.micro):
            self._diverge("validation loss")
            return
        self.history.append({"train": self.loss / self.training_tokens, "valid": valid.micro})
        self.epoch += 1
        if self.best_epoch == self.epoch:
            kept = {name: value.detach().clone() for name, value in self.readable().state_dict().items()}
            self.best = {"metrics": valid.metrics("valid"), "parameters": kept}

    def _diverge(self, quantity: str, **where: int) -> None:
        """Ends training in this epoch; raises `Diverged` where it is the first."""
        self.diverged = {"epoch": self.epoch + 1, **where, "quantity": quantity}
        if not self.history:
            raise Diverged(**self.diverged)

    def note(self) -> str:
        if self.history:
            best = self.history[self.best_epoch - 1]["valid"]
            return f"valid {self.history[-1]['valid']:.4f}, best {best:.4f} nats/token"
        tokens = sum(map(len, self.batches[: self.next])) if self.part == "train" else self.training_tokens
        return f"training loss {self.loss / max(1, tokens):.4f} nats/token"

    def state(self) -> dict[str, Any]:
        return {**super().state(), "found": [tuple(map(torch.from_numpy, columns)) for columns in self.found]}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.epoch, self.best, self.tested = state["epoch"], state["best"], None
        self._open(state["part"])
        super().restore(state)
        self.found = [tuple(column.numpy() for column in columns) for columns in state["found"]]

    def outcome(self) -> Outcome:
        """Entropies of the best epoch, curves over epochs and over positions in words, predictions under test lines."""
        outcome = self.curves(*self.PARTS)
        if self.tested is None:
            return outcome
        outcome.metrics = self.tested.metrics("test") + self.best["metrics"]
        # Of the training lines the mean over the epoch, under parameters that changed all the while.
        train = self.history[self.best_epoch - 1]["train"]
        outcome.metrics.append(metric("train", "cross_entropy", train, "nats/token", self.training_tokens))
        self.count_epochs(outcome)
        if self.diverged:
            outcome.metrics.append(metric("train", "diverged_epoch", self.diverged["epoch"], "epoch", 1))
        outcome.curves += self.tested.by_position("test")
        outcome.samples = self.tested.samples("test", self.parts["test"], _SHOWN)
        return outcome
