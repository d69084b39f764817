"""Counting instead of training: the n-gram yardstick on one fold of the lines of document 000."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from reprise.data.text.character_lines import LINES_SPLIT, TEST, TRAIN, VALID
from reprise.evaluation.line_losses import LineLosses
from reprise.models.ngram_counts import HeldOut
from reprise.records.record import Outcome, make_curve
from reprise.training.protocol import Pieces

COUNTED = {"train": (TRAIN,), "train-and-valid": (TRAIN, VALID)}
HELD_OUT = {"valid": VALID, "test": TEST}


class NGramCount(Pieces):
    """Orders 1, 2, ... of the model, one a call: counted on the training lines of fold `seed`, held to the others.

    A replica is a fold. Where the validation lines are counted as well, only the test lines are held out.
    """

    unit = "order"

    def prepare(self) -> None:
        loaded = self.load_corpus()
        self.select_lines_by_part(loaded)  # refuses a corpus without such a fold
        part, self.lines, self.vocabulary = (
            loaded.extra["part"][self.seed],
            loaded.splits[LINES_SPLIT],
            loaded.vocabulary,
        )
        self.model = self.build_model(vocabulary=len(loaded.vocabulary))
        counted = COUNTED[self.options["counted_lines"]]
        training, _ = self.model.list_predictions(self.lines, np.isin(part, counted))
        self.counts = self.model.count(training)
        held_out = {split: part == value for split, value in HELD_OUT.items() if value not in counted}
        predicted = {split: self.model.list_predictions(self.lines, chosen) for split, chosen in held_out.items()}
        self.held_out = {split: (HeldOut(positions), places) for split, (positions, places) in predicted.items()}
        self.total = self.model.order
        self.parameter_count = 0  # n-grams whose count is kept
        self.probabilities: dict[str, np.ndarray] = {}

    def advance(self) -> str:
        """Count the next order and interpolate it with those below."""
        n, losses = len(self.results) + 1, {}
        for split, (held_out, _) in self.held_out.items():
            self.probabilities[split] = p = self.model.estimate(self.counts, held_out, n)
            losses[split] = float(-np.log(p).mean())
        self.parameter_count += len(self.counts.table(n).keys)
        self.results.append(losses)
        return f"{len(self.results)}-gram: test {losses['test']:.4f} nats/token"

    def restore(self, state: Mapping[str, Any]) -> None:
        """Count again: that takes no longer than to keep and to read all probabilities."""
        for _ in state["results"]:
            self.advance()

    def make_outcome(self) -> Outcome:
        """Return entropies of the full order, as of the networks, and curves over orders and over places in words."""
        outcome = Outcome()
        for split, (_, places) in self.held_out.items():
            nats, no_predictions = -np.log(self.probabilities[split]), np.zeros(0, np.int32)
            of_lines = LineLosses(self.lines, self.vocabulary, places, nats, no_predictions)
            outcome.metrics += of_lines.make_metrics(split)
            values, orders = [losses[split] for losses in self.results], range(1, len(self.results) + 1)
            outcome.curves.append(make_curve(split, "cross_entropy", "nats/token", "order", orders, values))
            if split == "test":
                outcome.curves += of_lines.make_position_curves(split)
        return outcome
