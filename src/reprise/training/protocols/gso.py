"""Epochs over lines in random batches, Adam, the best validation loss: the training of document 000, section 4."""

import math
from itertools import accumulate, islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reprise import counters
from reprise.engines.clipping import clip_gradients
from reprise.engines.gso import choose_engine
from reprise.engines.gso.packing import PackedBatch, pack_lines, sort_longest_first
from reprise.evaluation.line_losses import LineLosses
from reprise.models.gso_initialisation import make_initial_model
from reprise.records.record import Outcome, make_metric
from reprise.training.epochs import FINISHED, BatchEpochs
from reprise.training.protocol import Diverged, PieceOfWork

_ORDER = 3  # stream of the order of the training lines
_SAMPLE_COUNT = 3
_READ_BATCH_SIZE = 64


class LineEpochs(BatchEpochs):
    """Train replica r on fold r, seeded with r: replicas of two experiments are pairs.

    Every epoch reads all training lines in a new random order, and then the validation lines. After the last one, or
    once training became unstable, the test lines are read. Their model is that of the best epoch, the one with the
    lowest validation loss ("best-valid"). A loss that is not finite ends training. If an epoch was finished before, the
    best of these counts, and `diverged_epoch` is the one that diverged. Otherwise `Diverged` is raised.

    Raises:
        UserError: There is no corpus, or it has no such fold.
    """

    PARTS, LAST_PARTS = ("train", "valid"), ("test",)
    CHECKPOINT_ATTRIBUTES = (*BatchEpochs.CHECKPOINT_ATTRIBUTES, "line_losses", "best_metrics", "diverged")

    tokens_per_piece = 20_000  # a call of `advance`: about a third of a second of the fused engine

    def prepare(self) -> None:
        loaded = self.load_corpus()
        self.lines, self.vocabulary = loaded.splits["lines"], loaded.vocabulary
        self.parts = self.select_lines_by_part(loaded)
        lengths = np.diff(self.lines.offsets)
        self.counts = {part: int((lengths[lines] - 1).clip(min=0).sum()) for part, lines in self.parts.items()}
        model = self.config["model"]
        start = make_initial_model(
            model["name"], model["options"], len(self.vocabulary), self.make_generator("weights")
        )
        self.build_engine(start, choose_engine)
        self.use_adam(fused=True)
        self.best_metrics: list[dict[str, Any]] = []  # of the best epoch's validation
        self.diverged: dict[str, Any] | None = None

    @property
    def piece_size(self) -> int:
        """Return how many of the next batches have `tokens_per_piece` tokens or more together."""
        tokens = accumulate(map(len, islice(self.batches, self.next, None)))
        return next((count for count, n in enumerate(tokens, 1) if n >= self.tokens_per_piece), len(self.batches))

    @property
    def is_last_epoch(self) -> bool:
        return self.diverged is not None or self.epoch >= self.total

    def process_next(self) -> PieceOfWork:
        """Train on a batch, or read one: then the nats of each line are kept, and summed when all lines are read."""
        batch = self.batches[self.next]
        if self.part != "train":
            nats, likeliest = yield self.engine.evaluate(batch)
            self.line_losses.append(tuple(map(torch.from_numpy, (batch.places, nats, likeliest))))
        elif not math.isfinite(loss := (yield self.update(batch, self.options["loss_reduction"]))):
            self._diverge("training loss", batch=self.next)
            self.begin_last_parts()
            return 0.0
        self.next += 1
        return loss if self.part == "train" else 0.0

    def differentiate(self, batch: PackedBatch, reduction: str) -> float:
        """Leave the gradients of a batch in the parameters; return the summed loss in nats."""
        return self.engine.train(batch, reduction)

    def clip(self) -> None:
        """Shorten the gradients to the configured norm; 0 is none."""
        if self.options["clip_norm"]:
            clip_gradients(self.model.parameters(), self.options["clip_norm"], by_rows=True)

    def begin_part(self, part: str) -> None:
        super().begin_part(part)
        if part != FINISHED:
            self.line_losses: list[tuple[Tensor, Tensor, Tensor]] = []  # places, nats, most probable symbols

    def make_batches(self, part: str) -> list[PackedBatch]:
        lines = self.parts[part]
        if part != "train":
            return pack_lines(self.lines, sort_longest_first(self.lines, lines), _READ_BATCH_SIZE)
        numbers = counters.draw_uniform32(counters.compute_key(self.seed, _ORDER, self.epoch), 0, len(lines))
        return pack_lines(self.lines, lines[np.argsort(numbers, kind="stable")], self.options["batch_size"])

    def collect_line_losses(self) -> LineLosses:
        """Return the losses of the part that has been read, in the order of the text."""
        places, nats, best = (torch.cat(column).numpy() for column in zip(*self.line_losses, strict=True))
        order = np.argsort(places)
        return LineLosses(self.lines, self.vocabulary, places[order], nats[order].astype(np.float64), best[order])

    def compute_next_log_p(self, symbols: Tensor) -> Tensor:
        return torch.log_softmax(self.get_readable_model()(symbols[:, None])[-1, 0], -1)

    def compute_losses(self) -> dict[str, float]:
        return {"train": self.sums["train"] / self.counts["train"], "valid": self.collect_line_losses().micro}

    def end_epoch(self) -> None:
        valid = self.collect_line_losses()
        if not math.isfinite(valid.micro):
            self._diverge("validation loss")
            return
        super().end_epoch()
        if self.best_epoch == self.epoch:
            self.best_metrics = valid.make_metrics("valid")

    def _diverge(self, quantity: str, **place: int) -> None:
        """End training in this epoch; raise `Diverged` where it is the first."""
        self.diverged = {"epoch": self.epoch + 1, **place, "quantity": quantity}
        if not self.history:
            raise Diverged(**self.diverged)

    def describe_progress(self) -> str:
        if self.history:
            best = self.history[self.best_epoch - 1]["valid"]
            return f"valid {self.history[-1]['valid']:.4f}, best {best:.4f} nats/token"
        tokens = sum(map(len, self.batches[: self.next])) if self.part == "train" else self.counts["train"]
        return f"training loss {self.sums.get('train', 0.0) / max(1, tokens):.4f} nats/token"

    def make_outcome(self) -> Outcome:
        """Report the best epoch's entropies, curves over epochs and positions in words, and test predictions."""
        outcome = self.make_curves(*self.PARTS)
        if not self.finished:
            return outcome
        tested = self.collect_line_losses()
        outcome.metrics = tested.make_metrics("test") + self.best_metrics
        # Of the training lines the mean over the epoch, under parameters that changed all the while.
        train = self.history[self.best_epoch - 1]["train"]
        outcome.metrics.append(make_metric("train", "cross_entropy", train, "nats/token", self.counts["train"]))
        self.add_epoch_counts(outcome)
        if self.diverged:
            outcome.metrics.append(make_metric("train", "diverged_epoch", self.diverged["epoch"], "epoch", 1))
        outcome.curves += tested.make_position_curves("test")
        outcome.samples = tested.make_samples("test", self.parts["test"], _SAMPLE_COUNT)
        return outcome
