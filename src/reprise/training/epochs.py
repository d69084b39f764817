"""Trainings by epochs, and the learning rate's schedule of document 001, section 4."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reprise.data.corpus import SENTENCE_END, SPLITS, Corpus
from reprise.records.record import Outcome, make_curve, make_metric
from reprise.training.protocol import Diverged, Learner, PieceOfWork, run_alone
from reprise.units import convert_to_perplexity

FINISHED = "finished"
"""The value of `part` when there is nothing left to read."""
_TRAINING_COST = 3
"""Training on a token takes about so many times as long as reading it."""


class Epochs(Learner):
    """Epochs, each of which reads the texts of PARTS in turn; after the last epoch those of LAST_PARTS are read once.

        train, valid, test: end_epoch; then train again, or, once `is_last_epoch`: begin_last_parts,
            the LAST_PARTS, "finished"

    Attributes:
        part: The text that is being read.
        next: The index of the part's next unit: batch, step or subsequence.
        sums: Nats of each part of this epoch so far.
        counts: How many tokens of each part are predicted.
        history: Losses of every finished epoch, nats/token by part. The best epoch is the first with the lowest
            validation loss.
    """

    PARTS = SPLITS
    LAST_PARTS: tuple[str, ...] = ()
    TRAINED_PARTS: tuple[str, ...] = ("train",)
    """Parts that read the training text."""
    HISTORY_METRICS: tuple[str, ...] = ("best_epoch",)
    """Metrics that need more than one epoch: `measure`, which has one, leaves them out."""
    NEXT_UNIT = "batch"
    """The unit of `next`, for the message of a `Diverged`."""
    LOSS_NAMES: Mapping[str, str] = {}
    """Names of the parts' losses in that message, where they are not "<part> loss"."""
    CHECKPOINT_ATTRIBUTES = ("epoch", "part", "next", "sums", "history", "best")

    unit = "epoch"
    piece_size: int  # how far `next` goes in a piece of work: about a second, so that signals and saves need not wait
    counts: Mapping[str, int]

    def __init__(self, *arguments: Any) -> None:
        self.epoch, self.part = 0, self.PARTS[0]
        self.sums: dict[str, float] = {}
        self.history: list[dict[str, float]] = []
        self.best: dict[str, Tensor] | None = None  # the best epoch's parameters, where that is what is reported
        super().__init__(*arguments)
        self.begin_part(self.part)

    def begin_part(self, part: str) -> None:
        """Begin to read a part."""
        self.part, self.next = part, 0

    @abstractmethod
    def get_length(self) -> int:
        """Return the length of the part, in units of `next`."""

    @abstractmethod
    def process_next(self) -> PieceOfWork:
        """Train on, or evaluate, what comes next, and move `next` on; return the nats of it."""

    @abstractmethod
    def describe_progress(self) -> str:
        """Return a note on how far the training is, such as the losses of the last epoch."""

    @property
    def total(self) -> int:
        return self.options["max_epochs"]

    @property
    def finished(self) -> bool:
        return self.part == FINISHED

    @property
    def done(self) -> float:
        if self.part not in self.PARTS:
            return self.epoch
        costs = {part: self.counts[part] * (_TRAINING_COST if part == "train" else 1) for part in self.PARTS}
        before = sum(costs[part] for part in self.PARTS[: self.PARTS.index(self.part)])
        return self.epoch + (before + costs[self.part] * self.next / max(1, self.get_length())) / sum(costs.values())

    def get_part_nats(self) -> float:
        """Return the nats of the part so far."""
        return self.sums.get(self.part, 0.0)

    def run_piece(self) -> PieceOfWork:
        """Train on, or evaluate, what comes next; return `describe_progress()`. Raises `Diverged`."""
        part, last = self.part, min(self.next + self.piece_size, self.get_length())
        while self.part == part and self.next < last:
            nats = yield from self.process_next()
            self.sums[self.part] = self.get_part_nats() + nats
        if not math.isfinite(self.get_part_nats()):
            # What is read at the end is of the last epoch.
            epoch, quantity = (
                self.epoch + (self.part in self.PARTS),
                self.LOSS_NAMES.get(self.part, f"{self.part} loss"),
            )
            raise Diverged(epoch=epoch, **{self.NEXT_UNIT: self.next}, quantity=quantity)
        if self.next >= self.get_length():
            self.end_part()
        return self.describe_progress()

    def end_part(self) -> None:
        """Go on to the next part: after the last one of an epoch to the first again, or to LAST_PARTS."""
        order = (*self.PARTS, *self.LAST_PARTS, FINISHED)
        if self.part != self.PARTS[-1]:
            self.begin_part(order[order.index(self.part) + 1])
            return
        self.end_epoch()
        self.sums = {}
        if self.is_last_epoch:
            self.begin_last_parts()
        else:
            self.begin_part(self.PARTS[0])

    def end_epoch(self) -> None:
        """Take the losses of the epoch that ends into the history. A protocol may raise `Diverged`."""
        self.history.append(self.compute_losses())
        self.epoch += 1

    def compute_losses(self) -> dict[str, float]:
        """Return the losses of the epoch that ends, nats/token by part."""
        return {part: self.sums[part] / self.counts[part] for part in self.PARTS}

    def begin_last_parts(self) -> None:
        """Begin what is read after the last epoch."""
        self.begin_part((*self.LAST_PARTS, FINISHED)[0])

    def measure(self, report_progress: Callable[[str], None]) -> Outcome:
        """Read every part once that is not trained on; return their metrics."""
        self.sums = dict.fromkeys(self.TRAINED_PARTS, 0.0)
        self.read_parts(report_progress)
        self.end_epoch()
        for part in self.LAST_PARTS:
            self._read_part(part, report_progress)
        self.begin_part(FINISHED)
        outcome = self.make_outcome()
        outcome.metrics = [
            m for m in outcome.metrics if m["split"] != "train" and m["metric"] not in self.HISTORY_METRICS
        ]
        return outcome

    def read_parts(self, report_progress: Callable[[str], None]) -> None:
        """Read PARTS that are not trained on, one after the other, and take their sums of nats."""
        for part in self.PARTS:
            self._read_part(part, report_progress)

    def _read_part(self, part: str, report_progress: Callable[[str], None]) -> None:
        if part in self.TRAINED_PARTS:
            return
        self.begin_part(part)
        while self.next < self.get_length():
            report_progress(f"{part} text: {self.next / self.get_length():.0%}")
            nats = run_alone(self.process_next())
            self.sums[part] = self.get_part_nats() + nats

    def keep_best(self) -> None:
        """Keep the parameters of the epoch that has ended, where it is the best so far."""
        if self.best_epoch == self.epoch:
            self.best = self.copy_parameters()

    def get_reported_parameters(self) -> dict[str, Tensor]:
        return self.copy_parameters() if self.best is None else self.best

    @property
    def reported_position(self) -> dict[str, int]:
        return {self.unit: self.epoch if self.best is None else self.best_epoch}

    @property
    def best_epoch(self) -> int:
        """Return the best epoch, from 1."""
        return 1 + min(range(self.epoch), key=lambda i: self.history[i]["valid"])

    @property
    def is_last_epoch(self) -> bool:
        """Return whether this was the last epoch: the most allowed, or `patience` epochs since the best."""
        return self.epoch >= self.total or self.epoch - self.best_epoch >= self.options["patience"]

    def restore(self, state: Mapping[str, Any]) -> None:
        self.epoch = state["epoch"]
        self.begin_part(state["part"])
        super().restore(state)

    def make_curves(self, *parts: str) -> Outcome:
        """Make an outcome with the losses of these parts, epoch by epoch."""
        outcome, epochs = Outcome(), range(1, len(self.history) + 1)
        for part in parts:
            losses = [epoch[part] for epoch in self.history]
            outcome.curves.append(make_curve(part, "cross_entropy", "nats/token", "epoch", epochs, losses))
        return outcome

    def add_epoch_counts(self, outcome: Outcome) -> None:
        outcome.metrics.append(make_metric("valid", "best_epoch", self.best_epoch, "epoch", 1))
        outcome.metrics.append(make_metric("train", "epochs", self.epoch, "epoch", 1))


def lay_out_streams(text: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Cut a text (n,) into `count` streams: its words and the word after each, (steps, count) each.

    What remains, fewer than `count` words at the end, is left out.
    """
    steps = (len(text) - 1) // count
    x, y = (part[: steps * count].view(count, steps).T.contiguous() for part in (text[:-1], text[1:]))
    return x, y


def cut_streams(corpus: Corpus, streams: int) -> dict[str, tuple[Tensor, Tensor]]:
    """Cut every split into words and next words `lay_out_streams`: `streams` of the training text, one of the others.

    Where the text has sentences, `</s>` is read before the first word; of running text the first word is only read.
    """
    start = [corpus.vocabulary.index(SENTENCE_END)] if corpus.boundaries == SENTENCE_END else []
    texts = {s: torch.from_numpy(np.append(start, corpus.splits[s].tokens).astype(np.int32)) for s in SPLITS}
    return {split: lay_out_streams(text, streams if split == "train" else 1) for split, text in texts.items()}


class BatchEpochs(Epochs):
    """Epochs whose parts are lists of batches, which `make_batches` makes of a part by seed and epoch alone.

    LAST_PARTS are read with the parameters of the best epoch.
    """

    batches: Sequence[Any]

    def begin_part(self, part: str) -> None:
        super().begin_part(part)
        self.batches = () if part == FINISHED else self.make_batches(part)

    @abstractmethod
    def make_batches(self, part: str) -> Sequence[Any]:
        """Return the batches of a part, each of which `process_next` reads at once."""

    def get_length(self) -> int:
        return len(self.batches)

    def end_epoch(self) -> None:
        super().end_epoch()
        self.keep_best()

    def begin_last_parts(self) -> None:
        if self.LAST_PARTS:
            self.load_parameters(self.best)
        super().begin_last_parts()


class RateSchedule(Epochs):
    """Epochs with a learning rate for each; what is reported is the best epoch ("best-valid").

    `source`: the text's true entropy by split, nats per token.
    """

    CHECKPOINT_ATTRIBUTES = (*Epochs.CHECKPOINT_ATTRIBUTES, "learning_rate", "failures")
    LOSS_NAMES = {"train": "training loss"}

    def set_up_schedule(self, counts: Mapping[str, int], corpus: Corpus) -> None:
        """Take the numbers of predicted words of each text, before the first epoch."""
        self.counts, self.source = counts, corpus.facts.get("source_nats", {})
        self.learning_rate, self.failures = self.options["learning_rate"], 0

    @abstractmethod
    def update_learning_rate(self, losses: Mapping[str, float]) -> None:
        """Set the next epoch's learning rate by the losses of this one; undo its updates where the schedule says so."""

    def end_epoch(self) -> None:
        """Take the epoch's losses. Raises `Diverged` unless all are finite."""
        losses = self.compute_losses()
        for split in SPLITS:
            if not math.isfinite(losses[split]):
                raise Diverged(epoch=self.epoch + 1, quantity=f"{split} loss")
        self.update_learning_rate(losses)
        self.history.append({"learning_rate": self.learning_rate, **losses})
        self.epoch += 1
        self.keep_best()

    def describe_progress(self) -> str:
        """Describe the last epoch."""
        if not self.history:
            words = self.counts[self.part] * self.next / self.get_length()
            return f"{self.part} loss {self.get_part_nats() / words:.4f} nats/token" if words else f"{self.part} text"
        last = self.history[-1]
        valid, test = (convert_to_perplexity(last[split]) for split in ("valid", "test"))
        return f"valid ppl {valid:.2f}, test ppl {test:.2f}, next learning rate {self.learning_rate:g}"

    def make_outcome(self) -> Outcome:
        """Report the losses at the best epoch, and the curve of every epoch."""
        outcome, rates = self.make_curves(*SPLITS), [epoch["learning_rate"] for epoch in self.history]
        outcome.curves.append(make_curve("train", "next_learning_rate", "1", "epoch", range(1, self.epoch + 1), rates))
        if self.history:
            best = self.history[self.best_epoch - 1]
            for name, values in (("cross_entropy", {s: best[s] for s in SPLITS}), ("source_entropy", self.source)):
                outcome.metrics += [make_metric(s, name, v, "nats/token", self.counts[s]) for s, v in values.items()]
            self.add_epoch_counts(outcome)
        return outcome


class HalvingSchedule(RateSchedule):
    """Halve the learning rate when validation improves too little, and stop after `patience` such epochs.

    Schedule `halve-below-ratio` (document 001, section 4): r is the ratio of the last epoch's PPL to this one's, on the
    validation text. r < `halving_ratio` halves the learning rate. After `patience` such epochs in a row training stops.
    The test loss that counts is that of the epoch with the lowest validation loss.

    Schedule `rnnlm`, that of Mikolov's toolkit, from which the paper's 1.003 seems to come: r is the ratio of the
    cross-entropies. From the first r < `halving_ratio` on every epoch halves the learning rate. The `patience`-th such
    epoch (the toolkit's second), in a row or not, is the last. An epoch that made the validation loss worse is undone.
    """

    CHECKPOINT_ATTRIBUTES = (*RateSchedule.CHECKPOINT_ATTRIBUTES, "kept")

    kept: dict[str, Tensor] | None = None
    """The parameters that an undone epoch goes back to."""

    @property
    def is_last_epoch(self) -> bool:
        return self.epoch >= self.total or self.failures >= self.options["patience"]

    def update_learning_rate(self, losses: Mapping[str, float]) -> None:
        before, now = self.history[-1]["valid"] if self.history else math.inf, losses["valid"]
        if self.options["schedule"] == "rnnlm":
            self._follow_toolkit(before, now)
        else:
            self._follow_paper(before, now)

    def _follow_paper(self, before: float, now: float) -> None:
        """Halve the learning rate where the validation perplexity fell by less than the ratio."""
        # The cap keeps the exponential finite and lies beyond every ratio that could be asked for.
        if math.exp(min(before - now, 700.0)) < self.options["halving_ratio"]:
            self.failures += 1
            self.learning_rate /= 2
        else:
            self.failures = 0

    def _follow_toolkit(self, before: float, now: float) -> None:
        """Halve the learning rate from the first small fall of the cross-entropy on; undo an epoch that raised it."""
        self.failures += before < self.options["halving_ratio"] * now
        if self.failures:
            self.learning_rate /= 2
        if now > before:
            self.load_parameters(self.kept)
        else:
            self.kept = self.copy_parameters()
