"""The learning rate's schedule and the outcome of trainings by epochs: document 001, section 4."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from reprise.training.protocol import Diverged, Outcome

SPLITS = ("train", "valid", "test")


class HalvingSchedule:
    """Counts epochs, halves the learning rate, stops, and keeps each epoch's losses; protocols inherit it.

    Schedule `halve-below-ratio` (document 001, section 4): with r = PPL of the epoch before / PPL now on the validation
    text, r < `halving_ratio` halves the learning rate; after `patience` such epochs in a row training stops. The test
    loss that counts is that of the epoch with the lowest validation loss.
    """

    unit = "epoch"

    def __init__(self, options: Mapping[str, Any], counts: Mapping[str, int], source: Mapping[str, float]):
        """`options`: of the protocol; `counts`: predicted words a split; `source`: the text's own entropy, if known."""
        self.options, self.counts, self.source = options, counts, source
        self.total = options["max_epochs"]
        self.learning_rate = options["learning_rate"]
        self.epoch = self.failures = 0
        self.history: list[dict[str, float]] = []

    @property
    def finished(self) -> bool:
        return self.epoch >= self.total or self.failures >= self.options["patience"]

    def close_epoch(self, losses: Mapping[str, float]) -> None:
        """Takes an epoch's `losses`, nats/token by split. Raises `Diverged` where one is not finite."""
        for split in SPLITS:
            if not math.isfinite(losses[split]):
                raise Diverged(epoch=self.epoch, quantity=f"{split} loss")
        if self.history:
            # the cap keeps the exponential finite and lies beyond every ratio that could be asked for
            ratio = math.exp(min(self.history[-1]["valid"] - losses["valid"], 700.0))
            if ratio < self.options["halving_ratio"]:
                self.learning_rate /= 2
                self.failures += 1
            else:
                self.failures = 0
        self.history.append({"learning_rate": self.learning_rate, **losses})
        self.epoch += 1

    def note(self) -> str:
        """What the last epoch brought, for the progress line."""
        last = self.history[-1]
        return (
            f"valid ppl {math.exp(last['valid']):.2f}, test ppl {math.exp(last['test']):.2f}, "
            f"next learning rate {self.learning_rate:g}"
        )

    def schedule_state(self) -> dict[str, Any]:
        """What a checkpoint keeps of the schedule."""
        return {
            "learning_rate": self.learning_rate,
            "epoch": self.epoch,
            "failures": self.failures,
            "history": self.history,
        }

    def restore_schedule(self, state: Mapping[str, Any]) -> None:
        for name in ("learning_rate", "epoch", "failures", "history"):
            setattr(self, name, state[name])

    def outcome(self) -> Outcome:
        """Losses at the epoch with the lowest validation loss (best-valid) and the curve of every epoch."""
        epochs = list(range(1, len(self.history) + 1))
        curves = [
            _curve(split, "cross_entropy", "nats/token", epochs, [h[split] for h in self.history]) for split in SPLITS
        ]
        rates = [h["learning_rate"] for h in self.history]
        curves.append(_curve("train", "next_learning_rate", "1", epochs, rates))
        if not self.history:
            return Outcome(curves=curves)
        best = min(range(len(self.history)), key=lambda i: self.history[i]["valid"])
        metrics = [self._entropy(s, "cross_entropy", self.history[best][s]) for s in SPLITS]
        # Where the text was generated, what the best possible model would lose on it.
        metrics += [self._entropy(s, "source_entropy", value) for s, value in self.source.items()]
        metrics.append({"split": "valid", "metric": "best_epoch", "value": best + 1, "unit": "epoch", "n": 1})
        metrics.append({"split": "train", "metric": "epochs", "value": self.epoch, "unit": "epoch", "n": 1})
        return Outcome(metrics=metrics, curves=curves)

    def _entropy(self, split: str, metric: str, value: float) -> dict[str, Any]:
        n = self.counts[split]
        return {"split": split, "metric": metric, "value": value, "unit": "nats/token", "n": n}


def _curve(split: str, metric: str, unit: str, x: list[int], y: list[float]) -> dict[str, Any]:
    return {"split": split, "metric": metric, "unit": unit, "axis": "epoch", "x": x, "y": y}
