"""The learning rate's schedule and the outcome of trainings by epochs: document 001, section 4."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from reprise.records.record import Outcome
from reprise.training.protocol import Diverged
from reprise.units import perplexity

SPLITS = ("train", "valid", "test")


class HalvingSchedule:
    """Counts epochs, halves the learning rate, stops, and keeps each epoch's losses; protocols inherit it.

    Schedule `halve-below-ratio` (document 001, section 4): with r = PPL of the epoch before / PPL now on the validation
    text, r < `halving_ratio` halves the learning rate; after `patience` such epochs in a row training stops. The test
    loss that counts is that of the epoch with the lowest validation loss.

    Schedule `rnnlm`, that of Mikolov's toolkit, from which the paper's 1.003 seems to come: r is the ratio of the
    cross-entropies; from the first r < `halving_ratio` on every epoch halves the learning rate, the `patience`-th such
    epoch (the toolkit's second), in a row or not, is the last; an epoch that made the validation loss worse is undone.
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

    def close_epoch(self, losses: Mapping[str, float]) -> bool:
        """Takes an epoch's `losses`, nats/token by split; True where the rule undoes the epoch's updates.

        Raises `Diverged` where a loss is not finite.
        """
        for split in SPLITS:
            if not math.isfinite(losses[split]):
                raise Diverged(epoch=self.epoch + 1, quantity=f"{split} loss")
        undo = False
        if self.history:
            before, now = self.history[-1]["valid"], losses["valid"]
            if self.options["schedule"] == "rnnlm":
                undo = self._halve_as_rnnlm(before, now)
            else:
                self._halve_below_ratio(before, now)
        self.history.append({"learning_rate": self.learning_rate, **losses})
        self.epoch += 1
        return undo

    def _halve_below_ratio(self, before: float, now: float) -> None:
        # the cap keeps the exponential finite and lies beyond every ratio that could be asked for
        if math.exp(min(before - now, 700.0)) < self.options["halving_ratio"]:
            self.learning_rate /= 2
            self.failures += 1
        else:
            self.failures = 0

    def _halve_as_rnnlm(self, before: float, now: float) -> bool:
        self.failures += before < self.options["halving_ratio"] * now
        if self.failures:
            self.learning_rate /= 2
        return now > before

    def note(self) -> str:
        """What the last epoch brought, for the progress line."""
        last = self.history[-1]
        return (
            f"valid ppl {perplexity(last['valid']):.2f}, test ppl {perplexity(last['test']):.2f}, "
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


class HalvingPasses(HalvingSchedule):
    """An epoch in passes over one text after another, each in pieces, with `losses` summed a split.

    `split` and `next`, the piece of it that comes next, say where it stands.
    """

    split: str
    next: int
    losses: dict[str, float]

    def _close_split(self) -> None:
        """Goes on to the next text; after the last one the epoch is over."""
        self.next = 0
        if self.split != SPLITS[-1]:
            self.split = SPLITS[SPLITS.index(self.split) + 1]
            return
        self.close_epoch({split: self.losses[split] / self.counts[split] for split in SPLITS})
        self.split, self.losses = "train", dict.fromkeys(SPLITS, 0.0)
