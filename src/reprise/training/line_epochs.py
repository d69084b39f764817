"""Epochs over lines in random batches, Adam, the epoch of lowest validation loss: the training of document 000
(section 4).
"""

from __future__ import annotations

import copy
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reprise.data.corpus import Corpus
from reprise.errors import UserError
from reprise.evaluation.line_losses import LineLosses
from reprise.kernels.gated_step import clipped
from reprise.kernels.packed import choose_packed_engine
from reprise.kernels.packing import PackedLines, by_length, pack
from reprise.models.gso_start import initial_model
from reprise.training import counters
from reprise.training.folds import parts_of_fold
from reprise.training.protocol import Diverged, Outcome, dtype_of, generator_for

_ORDER = 3  # stream of the order of the training lines
_EVALUATED_TOGETHER = 64
_SHOWN = 3


class LineEpochs:
    """Replica r trains on fold r and is seeded with r: replicas of two experiments are pairs.

    Every epoch reads all training lines in a new random order and is followed by the loss on the validation lines. When
    the last one is over, or has gone astray, the test lines are read with the parameters of the epoch with the lowest
    validation loss ("best-valid"). A loss that is not finite ends training: as long as one epoch was finished the best
    of them counts, and `diverged_epoch` says in which one it happened; else `Diverged` is raised.
    """

    unit = "epoch"
    seconds = 0.5
    """How long a call works before it returns; nothing that is computed depends on it."""

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: str, device: torch.device):
        del device  # the engines compute on the CPU
        if corpus is None:
            raise UserError("this protocol needs a prepared corpus; name it with --corpus")
        loaded = Corpus.load(corpus)
        self.lines, self.vocabulary = loaded.splits["lines"], loaded.vocabulary
        self.parts = parts_of_fold(loaded, seed, corpus)
        lengths = np.diff(self.lines.offsets)[self.parts["train"]]
        self.training_tokens = int((lengths - 1).clip(min=0).sum())
        self.options = config["training"]["options"]
        self.seed = seed
        self.total = self.options["max_epochs"]
        model = config["model"]
        generator = generator_for(seed, "weights")
        self.model = initial_model(model["name"], model["options"], len(self.vocabulary), generator)
        self.model.to(dtype_of(config))
        self.parameters = sum(p.numel() for p in self.model.parameters())
        self.kernel = choose_packed_engine(engine, self.model)
        self.engine = self.kernel.name
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=self.options["learning_rate"], fused=True)
        self.epoch = self.next = 0  # the epoch, and the batch of the part that is read, that come next
        self.part = "train"
        self.loss = 0.0  # summed nats of the training lines of this epoch
        self.history: list[dict[str, float]] = []
        self.best: dict[str, Any] | None = None
        self.diverged: dict[str, Any] | None = None
        self.tested: LineLosses | None = None
        self._open(self.part)

    @property
    def finished(self) -> bool:
        return self.tested is not None

    @property
    def done(self) -> float:
        if self.part == "test":
            return self.epoch
        share = self.next / max(1, len(self.batches))
        return self.epoch + (0.9 * share if self.part == "train" else 0.9 + 0.1 * share)

    def advance(self) -> str:
        """Reads the next batches of the part whose turn it is. Raises `Diverged` before the first epoch's end."""
        end = time.perf_counter() + self.seconds
        while self.next < len(self.batches):
            if self.part == "train":
                self._train()
            else:
                batch = self.batches[self.next]
                self.found.append((batch.places, *self.kernel.evaluate(batch)))
                self.next += 1
            if time.perf_counter() >= end:
                break
        if self.next == len(self.batches):
            self._close()
        return self._note()

    def _train(self) -> None:
        batch = self.batches[self.next]
        loss = self.kernel.train(batch, self.options["loss_reduction"])
        if not math.isfinite(loss):
            self._diverge("training loss", batch=self.next)
            return
        self.loss += loss
        if self.options["clip_norm"]:
            gradients = [parameter.grad for parameter in self.model.parameters()]
            factor = clipped(1.0, self.options["clip_norm"], gradients)
            for gradient in gradients:
                gradient.mul_(factor)
        self.optimiser.step()
        self.next += 1

    def _close(self) -> None:
        """Goes on to the next part; after the validation lines the epoch is over."""
        if self.part == "train":
            self._open("valid")
            return
        columns = (np.concatenate(column) for column in zip(*self.found, strict=True))
        losses = LineLosses.in_any_order(self.lines, self.vocabulary, *columns)
        if self.part == "test":
            self.tested = losses
            return
        if not math.isfinite(losses.micro):
            self._diverge("validation loss")
            return
        self.history.append({"train": self.loss / self.training_tokens, "valid": losses.micro})
        self.epoch += 1
        if self.best is None or losses.micro < self.best["valid"]:
            parameters = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
            metrics = losses.metrics("valid")
            self.best = {"epoch": self.epoch, "valid": losses.micro, "metrics": metrics, "parameters": parameters}
        self.loss = 0.0
        self._open("train" if self.epoch < self.total else "test")

    def _diverge(self, quantity: str, **where: int) -> None:
        self.diverged = {"epoch": self.epoch + 1, **where, "quantity": quantity}
        if self.best is None:
            raise Diverged(**self.diverged)
        self._open("test")

    def _open(self, part: str) -> None:
        """Packs the lines that are read next."""
        self.part, self.next, self.found = part, 0, []
        if part == "train":
            self.batches = self._shuffled()
            return
        if part == "test":
            self.model.load_state_dict(self.best["parameters"])
        lines = by_length(self.lines, self.parts[part])
        self.batches = pack(self.lines, lines, _EVALUATED_TOGETHER)

    def _shuffled(self) -> PackedLines:
        """The training lines in the order of this epoch."""
        lines = self.parts["train"]
        numbers = counters.uniform32(counters.key(self.seed, _ORDER, self.epoch), 0, len(lines))
        return pack(self.lines, lines[np.argsort(numbers, kind="stable")], self.options["batch_size"])

    def _note(self) -> str:
        if self.history:
            return f"valid {self.history[-1]['valid']:.4f}, best {self.best['valid']:.4f} nats/token"
        tokens = int(self.batches.rows[self.next]) if self.part == "train" else self.training_tokens
        return f"training loss {self.loss / max(1, tokens):.4f} nats/token"

    def state(self) -> dict[str, Any]:
        """Validation and test losses are not kept: a pass that was interrupted is made again, to the same bits."""
        return {
            "parameters": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "epoch": self.epoch,
            "part": self.part,
            "next": self.next if self.part == "train" else 0,
            "loss": self.loss,
            "history": self.history,
            "best": self.best,
            "diverged": self.diverged,
        }

    def restore(self, state: dict[str, Any]) -> None:
        state = copy.deepcopy(state)
        for name in ("epoch", "loss", "history", "best", "diverged"):
            setattr(self, name, state[name])
        self.model.load_state_dict(state["parameters"])
        self.optimiser.load_state_dict(state["optimiser"])
        self._open(state["part"])
        self.next, self.tested = state["next"], None

    def outcome(self) -> Outcome:
        """Entropies of the best epoch, curves over epochs and over positions in words, predictions under test lines."""
        epochs = list(range(1, len(self.history) + 1))
        fixed = {"metric": "cross_entropy", "unit": "nats/token", "axis": "epoch", "x": epochs}
        outcome = Outcome(curves=[fixed | {"split": s, "y": [h[s] for h in self.history]} for s in ("train", "valid")])
        if self.tested is None:
            return outcome
        best = self.best["epoch"]
        outcome.metrics = self.tested.metrics("test") + self.best["metrics"]
        # of the training lines the mean over the epoch, under parameters that changed all the while
        train = self.history[best - 1]["train"]
        outcome.metrics.append(_metric("train", "cross_entropy", train, "nats/token", self.training_tokens))
        outcome.metrics.append(_metric("valid", "best_epoch", best, "epoch", 1))
        outcome.metrics.append(_metric("train", "epochs", len(self.history), "epoch", 1))
        if self.diverged:
            outcome.metrics.append(_metric("train", "diverged_epoch", self.diverged["epoch"], "epoch", 1))
        outcome.curves += self.tested.by_position("test")
        outcome.samples = self.tested.samples("test", self.parts["test"], _SHOWN)
        return outcome


def _metric(split: str, metric: str, value: float, unit: str, n: int) -> dict[str, Any]:
    return {"split": split, "metric": metric, "value": value, "unit": unit, "n": n}
