"""Epochs over lines in random batches, Adam, the epoch of lowest validation loss: the training of document 000
(section 4).
"""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reprise import counters
from reprise.engines.gso import choose
from reprise.engines.gso.packing import PackedBatch, by_length, pack
from reprise.engines.readable import clipped
from reprise.evaluation.line_losses import LineLosses
from reprise.models.gso_start import initial_model
from reprise.options import COUNT, NOT_NEGATIVE, POSITIVE
from reprise.records.record import Outcome
from reprise.training.protocol import (
    Diverged,
    Engine,
    Learner,
    dtype_of,
    engine_of,
    generator_for,
    load_corpus,
    parts_of_fold,
)

_ORDER = 3  # stream of the order of the training lines
_SHOWN = 3
_EVALUATED_TOGETHER = 64
_KEPT = ("epoch", "history", "best", "diverged", "part", "next", "loss")


class LineEpochs(Learner):
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
        "batch_size": COUNT,
        "optimiser": ("adam",),
        "learning_rate": POSITIVE,
        "clip_norm": NOT_NEGATIVE,  # 0 for none
        "max_epochs": COUNT,
        "loss_reduction": ("mean-tokens", "mean-lines"),
        "selection": ("best-valid",),
    }
    GPU = True
    READS = ("matrix_law",)

    unit = "epoch"
    tokens_at_once = 20_000  # a call of `advance`: about a third of a second of the fused engine

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: Engine, device: torch.device):
        del device  # the engines compute on the CPU
        loaded = load_corpus(corpus)
        self.options, self.seed = config["training"]["options"], seed
        self.lines, self.vocabulary = loaded.splits["lines"], loaded.vocabulary
        self.parts = parts_of_fold(loaded, seed, corpus, "line-epochs")
        lengths = np.diff(self.lines.offsets)[self.parts["train"]]
        self.training_tokens = int((lengths - 1).clip(min=0).sum())
        self.total = self.options["max_epochs"]
        name, options = config["model"]["name"], config["model"]["options"]
        model = initial_model(name, options, len(self.vocabulary), generator_for(seed, "weights"))
        self.model = model.to(dtype_of(config))
        self.parameters = sum(p.numel() for p in self.model.parameters())
        self.kernel = engine_of(engine, "line-epochs", self.model, self.options, choose)
        self.engine = self.kernel.name
        rate = self.options["learning_rate"]
        self.optimiser = self.kernel if self.stacked else torch.optim.Adam(self.model.parameters(), lr=rate, fused=True)
        self.epoch = 0
        self.history: list[dict[str, float]] = []
        self.best: dict[str, Any] | None = None
        self.diverged: dict[str, Any] | None = None
        self.tested: LineLosses | None = None
        self.loss = 0.0  # summed nats of the training lines of this epoch
        self._open("train")

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
        tokens = 0
        while self.next < len(self.batches) and tokens < self.tokens_at_once:
            batch = self.batches[self.next]
            tokens += len(batch)
            if self.part != "train":
                self.found.append((batch.places, *self._read(batch)))
                self.next += 1
                continue
            loss = self._update(batch)
            if not math.isfinite(loss):
                self._diverge("training loss", batch=self.next)
                self._open("test")
            else:
                self.loss += loss
                self.next += 1
        if self.next == len(self.batches):
            self._close()
        return self._note()

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

    def _read(self, batch: PackedBatch) -> tuple[np.ndarray, np.ndarray]:
        """The loss of every row in nats (rows,), and its most probable symbol (rows,) int32."""
        return self.kernel.evaluate(batch)

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
        self._close_epoch(losses)
        self.loss = 0.0
        over = self.best is not None and (self.diverged is not None or self.epoch >= self.total)
        self._open("test" if over else "train")

    def _close_epoch(self, valid: LineLosses) -> None:
        if not math.isfinite(valid.micro):
            self._diverge("validation loss")
            return
        self.history.append({"train": self.loss / self.training_tokens, "valid": valid.micro})
        self.epoch += 1
        if self.best is None or valid.micro < self.best["valid"]:
            kept = {name: value.detach().clone() for name, value in self.readable().state_dict().items()}
            metrics = valid.metrics("valid")
            self.best = {"epoch": self.epoch, "valid": valid.micro, "metrics": metrics, "parameters": kept}

    def _diverge(self, quantity: str, **where: int) -> None:
        """Ends training in this epoch; raises `Diverged` where it is the first."""
        self.diverged = {"epoch": self.epoch + 1, **where, "quantity": quantity}
        if self.best is None:
            raise Diverged(**self.diverged)

    def _note(self) -> str:
        if self.history:
            return f"valid {self.history[-1]['valid']:.4f}, best {self.best['valid']:.4f} nats/token"
        tokens = sum(map(len, self.batches[: self.next])) if self.part == "train" else self.training_tokens
        return f"training loss {self.loss / max(1, tokens):.4f} nats/token"

    def state(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in _KEPT},
            **self.learnt(),
            "found": [tuple(map(torch.from_numpy, columns)) for columns in self.found],
        }

    def restore(self, state: dict[str, Any]) -> None:
        state = copy.deepcopy(state)
        self.epoch, self.best, self.tested = state["epoch"], state["best"], None
        self._open(state["part"])
        for name in _KEPT:
            setattr(self, name, state[name])
        self.found = [tuple(column.numpy() for column in columns) for columns in state["found"]]
        self.restore_learnt(state)

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
