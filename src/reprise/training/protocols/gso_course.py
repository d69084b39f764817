"""What a training by epochs over the lines of a fold knows of its course: document 000, section 4."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from reprise import counters
from reprise.data.corpus import Corpus
from reprise.evaluation.line_losses import LineLosses
from reprise.models.gso import SymbolModel
from reprise.models.gso_start import initial_model
from reprise.records.record import Outcome
from reprise.training.protocol import Diverged, generator_for
from reprise.training.protocols.folds import parts_of_fold

_ORDER = 3  # stream of the order of the training lines
_SHOWN = 3


class LineCourse:
    """Replica r trains on fold r and is seeded with r: replicas of two experiments are pairs. Protocols inherit it.

    Every epoch reads all training lines in a new random order and is followed by the loss on the validation lines. When
    the last one is over, or has gone astray, the test lines are read with the parameters of the epoch with the lowest
    validation loss ("best-valid"). A loss that is not finite ends training: as long as one epoch was finished the best
    of them counts, and `diverged_epoch` says in which one it happened; else `Diverged` is raised.
    """

    unit = "epoch"

    def __init__(self, options: Mapping[str, Any], seed: int, corpus: Corpus, path: Path) -> None:
        """`options`: of the protocol; `path`: where the corpus lies, for messages."""
        self.options, self.seed = options, seed
        self.lines, self.vocabulary = corpus.splits["lines"], corpus.vocabulary
        self.parts = parts_of_fold(corpus, seed, path, "line-epochs")
        lengths = np.diff(self.lines.offsets)[self.parts["train"]]
        self.training_tokens = int((lengths - 1).clip(min=0).sum())
        self.total = options["max_epochs"]
        self.learning_rate = options["learning_rate"]
        self.epoch = 0
        self.history: list[dict[str, float]] = []
        self.best: dict[str, Any] | None = None
        self.diverged: dict[str, Any] | None = None
        self.tested: LineLosses | None = None

    @property
    def trained(self) -> bool:
        """Whether only the test lines are left to read, under the best parameters."""
        return self.best is not None and (self.diverged is not None or self.epoch >= self.total)

    @property
    def finished(self) -> bool:
        return self.tested is not None

    def order(self) -> np.ndarray:
        """The training lines in the order of this epoch."""
        lines = self.parts["train"]
        numbers = counters.uniform32(counters.key(self.seed, _ORDER, self.epoch), 0, len(lines))
        return lines[np.argsort(numbers, kind="stable")]

    def losses(self, places: np.ndarray, nats: np.ndarray, best: np.ndarray) -> LineLosses:
        """Of a part that was read, in any order."""
        return LineLosses.in_any_order(self.lines, self.vocabulary, places, nats, best)

    def close_epoch(self, loss: float, valid: LineLosses, parameters: Mapping[str, Tensor]) -> None:
        """Takes the summed nats of the training lines, validation losses, and the parameters they were found under.

        A validation loss that is not finite ends training; see `diverge`.
        """
        if not math.isfinite(valid.micro):
            self.diverge("validation loss")
            return
        self.history.append({"train": loss / self.training_tokens, "valid": valid.micro})
        self.epoch += 1
        if self.best is None or valid.micro < self.best["valid"]:
            kept = {name: value.detach().clone() for name, value in parameters.items()}
            metrics = valid.metrics("valid")
            self.best = {"epoch": self.epoch, "valid": valid.micro, "metrics": metrics, "parameters": kept}

    def diverge(self, quantity: str, **where: int) -> None:
        """Ends training in this epoch; raises `Diverged` where it is the first."""
        self.diverged = {"epoch": self.epoch + 1, **where, "quantity": quantity}
        if self.best is None:
            raise Diverged(**self.diverged)

    def schedule_state(self) -> dict[str, Any]:
        """What a checkpoint keeps of the course."""
        return {name: getattr(self, name) for name in ("epoch", "history", "best", "diverged")}

    def restore_schedule(self, state: Mapping[str, Any]) -> None:
        for name in ("epoch", "history", "best", "diverged"):
            setattr(self, name, state[name])

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


def first_model(model: Mapping[str, Any], vocabulary: int, seed: int) -> SymbolModel:
    """The readable model that a configuration names, with a replica's first weights in float32."""
    return initial_model(model["name"], model["options"], vocabulary, generator_for(seed, "weights"))


def _metric(split: str, metric: str, value: float, unit: str, n: int) -> dict[str, Any]:
    return {"split": split, "metric": metric, "value": value, "unit": unit, "n": n}
