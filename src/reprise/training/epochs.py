"""Trainings by epochs, and the learning rate's schedule of document 001, section 4."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from reprise.data.corpus import SPLITS, Corpus
from reprise.options import COUNT, NOT_NEGATIVE
from reprise.records.record import Outcome, curve, metric
from reprise.training.protocol import Diverged, Learner
from reprise.units import perplexity

SCHEDULE = {
    "schedule": ("halve-below-ratio",),
    "halving_ratio": NOT_NEGATIVE,
    "patience": COUNT,
    "max_epochs": COUNT,
}
"""Options of protocols by the `HalvingSchedule`."""


class Epochs(Learner):
    """Epochs that read their PARTS one after the other, a piece of `part` at a time; `next` says which comes next.

    `history` holds the losses of every finished epoch, nats/token by part. The best epoch is the first of the lowest
    validation loss.
    """

    PARTS = SPLITS
    NEXT = "batch"
    """What `next` counts, in the words of a `Diverged`."""
    LOSS: Mapping[str, str] = {}
    """The losses of parts, in its words, if not "<part> loss"."""

    unit = "epoch"
    at_once: int  # of what `next` counts, in a call: about a second, so that signals and saves need not wait
    shares: Mapping[str, float]  # of an epoch's time, by part

    def __init__(self, *arguments: Any) -> None:
        self.epoch = self.next = 0
        self.part = self.PARTS[0]
        self.history: list[dict[str, float]] = []
        super().__init__(*arguments)

    @abstractmethod
    def length(self) -> int:
        """Of the part, in what `next` counts."""

    @abstractmethod
    def read(self) -> None:
        """Trains on, or evaluates, what comes next, and moves `next` on."""

    @abstractmethod
    def summed(self) -> float:
        """Nats of the part so far."""

    @abstractmethod
    def close(self) -> None:
        """Goes on from a part that has been read."""

    @abstractmethod
    def note(self) -> str: ...

    @property
    def total(self) -> int:
        return self.options["max_epochs"]

    @property
    def done(self) -> float:
        if self.part not in self.PARTS:
            return self.epoch
        before = sum(self.shares[part] for part in self.PARTS[: self.PARTS.index(self.part)])
        return self.epoch + before + self.shares[self.part] * self.next / max(1, self.length())

    def advance(self) -> str:
        """Trains on, or evaluates, what comes next. Raises `Diverged`."""
        last = min(self.next + self.at_once, self.length())
        while self.next < last:
            self.read()
        self.check()
        if self.next >= self.length():
            self.close()
        return self.note()

    def check(self) -> None:
        """Raises `Diverged` unless the loss is finite."""
        if not math.isfinite(self.summed()):
            # What is read at the end is of the last epoch.
            epoch = self.epoch + (self.part in self.PARTS)
            raise Diverged(
                epoch=epoch, **{self.NEXT: self.next}, quantity=self.LOSS.get(self.part, f"{self.part} loss")
            )

    @property
    def best_epoch(self) -> int:
        """The best epoch, from 1."""
        return 1 + min(range(self.epoch), key=lambda i: self.history[i]["valid"])

    @property
    def stale(self) -> bool:
        """Whether there are to be no more epochs: enough of them, or `patience` since the best."""
        return self.epoch >= self.total or self.epoch - self.best_epoch >= self.options["patience"]

    def curves(self, *parts: str) -> Outcome:
        """An outcome with the losses of these parts, epoch by epoch."""
        outcome, finished = Outcome(), self.history[: self.epoch]
        for part in parts:
            values = [losses[part] for losses in finished]
            outcome.curves.append(
                curve(part, "cross_entropy", "nats/token", "epoch", range(1, len(values) + 1), values)
            )
        return outcome

    def count_epochs(self, outcome: Outcome) -> None:
        outcome.metrics.append(metric("valid", "best_epoch", self.best_epoch, "epoch", 1))
        outcome.metrics.append(metric("train", "epochs", self.epoch, "epoch", 1))


def shares_of(counts: Mapping[str, int]) -> dict[str, float]:
    """The tokens of each part, as shares of them all."""
    return {part: count / sum(counts.values()) for part, count in counts.items()}


class HalvingSchedule(Epochs):
    """Halves the learning rate, and stops; what is reported is the best epoch ("best-valid").

    Schedule `halve-below-ratio` (document 001, section 4): with r = PPL of the epoch before / PPL now on the validation
    text, r < `halving_ratio` halves the learning rate; after `patience` such epochs in a row training stops. The test
    loss that counts is that of the epoch with the lowest validation loss.

    Schedule `rnnlm`, that of Mikolov's toolkit, from which the paper's 1.003 seems to come: r is the ratio of the
    cross-entropies; from the first r < `halving_ratio` on every epoch halves the learning rate, the `patience`-th such
    epoch (the toolkit's second), in a row or not, is the last; an epoch that made the validation loss worse is undone.

    `losses` are the summed nats of this epoch by part, `counts` its predicted words, `source` the text's own entropy.
    """

    KEPT = ("part", "next", "losses", "learning_rate", "epoch", "failures", "history")
    LOSS = {"train": "training loss"}

    def begin(self, counts: Mapping[str, int], corpus: Corpus) -> None:
        self.counts, self.shares = counts, shares_of(counts)
        self.source = corpus.facts.get("source_nats", {})
        self.learning_rate, self.failures = self.options["learning_rate"], 0
        self.losses = dict.fromkeys(SPLITS, 0.0)

    @property
    def finished(self) -> bool:
        return self.epoch >= self.total or self.failures >= self.options["patience"]

    def summed(self) -> float:
        return self.losses[self.part]

    def close(self) -> None:
        """Goes on to the next text; after the last one the epoch is over."""
        self.next = 0
        if self.part != SPLITS[-1]:
            self.part = SPLITS[SPLITS.index(self.part) + 1]
            return
        self.close_epoch({split: self.losses[split] / self.counts[split] for split in SPLITS})
        self.part, self.losses = SPLITS[0], dict.fromkeys(SPLITS, 0.0)

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
                undo = now > before
                self.failures += before < self.options["halving_ratio"] * now
                halve = self.failures > 0
            else:
                # The cap keeps the exponential finite and lies beyond every ratio that could be asked for.
                halve = math.exp(min(before - now, 700.0)) < self.options["halving_ratio"]
                self.failures = self.failures + 1 if halve else 0
            if halve:
                self.learning_rate /= 2
        self.history.append({"learning_rate": self.learning_rate, **losses})
        self.epoch += 1
        return undo

    def note(self) -> str:
        """What the last epoch brought."""
        if not self.history:
            words = self.counts[self.part] * self.next / self.length()
            return f"{self.part} loss {self.summed() / words:.4f} nats/token" if words else f"{self.part} text"
        last = self.history[-1]
        return (
            f"valid ppl {perplexity(last['valid']):.2f}, test ppl {perplexity(last['test']):.2f}, "
            f"next learning rate {self.learning_rate:g}"
        )

    def outcome(self) -> Outcome:
        """Losses at the best epoch, and the curve of every epoch."""
        outcome, rates = self.curves(*SPLITS), [epoch["learning_rate"] for epoch in self.history]
        outcome.curves.append(curve("train", "next_learning_rate", "1", "epoch", range(1, self.epoch + 1), rates))
        if self.history:
            best = self.history[self.best_epoch - 1]
            for name, values in (("cross_entropy", {s: best[s] for s in SPLITS}), ("source_entropy", self.source)):
                outcome.metrics += [metric(s, name, v, "nats/token", self.counts[s]) for s, v in values.items()]
            self.count_epochs(outcome)
        return outcome
