"""Stopping after epochs without improvement, and what is reported then: document 004, section 5.4."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from reprise.records.record import Outcome
from reprise.training.protocol import Diverged

SPLITS = ("train", "valid", "test1", "test2")
BOTH, TESTS = "tests", ("test1", "test2")
"""The split of what is measured on both tests together, every token counting the same."""


class EarlyStopping:
    """Counts epochs and keeps their losses; protocols inherit it.

    Training ends after `patience` epochs in a row whose validation loss is not below the lowest before them, or after
    `max_epochs`. Reported are the losses of the last epoch, as of a training whose weights are not taken back
    (`cross_entropy`), and those of the epoch with the lowest validation loss (`cross_entropy_best`). The training loss
    of an epoch is the mean over its batches, each under the weights before its step, as Keras shows it.
    """

    unit = "epoch"

    def __init__(self, options: Mapping[str, Any], counts: Mapping[str, int]) -> None:
        """`options`: of the protocol; `counts`: predicted tokens a split."""
        self.options, self.counts = options, counts
        self.total = options["max_epochs"]
        self.epoch = self.failures = 0
        self.history: list[dict[str, float]] = []

    @property
    def stopped(self) -> bool:
        return self.epoch >= self.total or self.failures >= self.options["patience"]

    @property
    def best(self) -> int:
        """The epoch of the lowest validation loss, the first of equals; from 0."""
        return min(range(len(self.history)), key=lambda i: self.history[i]["valid"])

    def close_epoch(self, losses: Mapping[str, float]) -> None:
        """Takes an epoch's `losses`, nats/token by split. Raises `Diverged` where one is not finite."""
        for split in SPLITS:
            if not math.isfinite(losses[split]):
                raise Diverged(epoch=self.epoch + 1, quantity=f"{split} loss")
        self.history.append(dict(losses))
        self.failures = len(self.history) - 1 - self.best
        self.epoch += 1

    def note(self) -> str:
        """What the last epoch brought, for the progress line."""
        if not self.history:
            return "first epoch"
        last = self.history[-1]
        return f"nats/token: train {last['train']:.3f}, valid {last['valid']:.3f}, test1 {last['test1']:.3f}"

    def stopping_state(self) -> dict[str, Any]:
        """What a checkpoint keeps of it."""
        return {"epoch": self.epoch, "failures": self.failures, "history": self.history}

    def restore_stopping(self, state: Mapping[str, Any]) -> None:
        for name in ("epoch", "failures", "history"):
            setattr(self, name, state[name])

    def losses(self) -> Outcome:
        """The metrics that the class describes, and a curve a split."""
        epochs = list(range(1, len(self.history) + 1))
        curves = [
            {
                "split": split,
                "metric": "cross_entropy",
                "unit": "nats/token",
                "axis": "epoch",
                "x": epochs,
                "y": [h[split] for h in self.history],
            }
            for split in SPLITS
        ]
        if not self.history:
            return Outcome(curves=curves)
        metrics = [
            self.entropy(split, metric, self._loss(epoch, split))
            for metric, epoch in (("cross_entropy", -1), ("cross_entropy_best", self.best))
            for split in (*SPLITS, BOTH)
        ]
        metrics.append({"split": "valid", "metric": "best_epoch", "value": self.best + 1, "unit": "epoch", "n": 1})
        metrics.append({"split": "train", "metric": "epochs", "value": self.epoch, "unit": "epoch", "n": 1})
        return Outcome(metrics=metrics, curves=curves)

    def entropy(self, split: str, metric: str, value: float) -> dict[str, Any]:
        return {"split": split, "metric": metric, "value": value, "unit": "nats/token", "n": self._count(split)}

    def _count(self, split: str) -> int:
        return sum(self.counts[s] for s in TESTS) if split == BOTH else self.counts[split]

    def _loss(self, epoch: int, split: str) -> float:
        losses = self.history[epoch]
        if split != BOTH:
            return losses[split]
        return sum(losses[s] * self.counts[s] for s in TESTS) / self._count(BOTH)
