"""Counting instead of training: the n-gram yardstick on one fold of the lines of document 000."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from reprise.catalogue.models import MODELS
from reprise.data.text.character_lines import SPLIT, TEST, TRAIN, VALID
from reprise.evaluation.line_losses import LineLosses
from reprise.records.record import Outcome
from reprise.training.protocol import load_corpus, parts_of_fold

COUNTED = {"train": (TRAIN,), "train-and-valid": (TRAIN, VALID)}
HELD_OUT = {"valid": VALID, "test": TEST}


class NGramCount:
    """Orders 1, 2, ... of the model, one a call: counted on the training lines of fold `seed`, held to the others.

    A replica is a fold. Where the validation lines are counted as well, only the test lines are held out.
    """

    TRAINS = ("n-gram",)
    PREDICTED = "all but the first of every line"
    OPTIONS = {"counted_lines": ("train", "train-and-valid")}

    unit = "order"

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: str, device: torch.device):
        loaded = load_corpus(corpus)
        parts_of_fold(loaded, seed, corpus, "ngram")  # refuses a corpus without such a fold
        part, self.lines, self.vocabulary = loaded.extra["part"][seed], loaded.splits[SPLIT], loaded.vocabulary
        self.model = MODELS[config["model"]["name"]].build(
            vocabulary=len(loaded.vocabulary), **config["model"]["options"]
        )
        counted = COUNTED[config["training"]["options"]["counted_lines"]]
        self.training = self.model.predictions(self.lines, np.isin(part, counted))
        self.held_out = {
            split: self.model.predictions(self.lines, part == value)
            for split, value in HELD_OUT.items()
            if value not in counted
        }
        self.total = self.model.order
        self.engine = "numpy"
        self.parameters = 0  # n-grams whose count is kept
        self.order = 0
        self.probabilities = {split: self.model.uniform(held_out) for split, held_out in self.held_out.items()}
        self.losses: dict[str, list[float]] = {split: [] for split in self.held_out}

    @property
    def finished(self) -> bool:
        return self.order >= self.total

    @property
    def done(self) -> float:
        return self.order

    def advance(self) -> str:
        """Counts the next order and interpolates it with those below."""
        counts = self.model.count(self.training, self.order)
        for split, held_out in self.held_out.items():
            self.probabilities[split] = counts.interpolate(held_out, self.probabilities[split])
            self.losses[split].append(float(-np.log(self.probabilities[split]).mean()))
        self.parameters += len(counts.ngrams)
        self.order += 1
        return f"{self.order}-gram: test {self.losses['test'][-1]:.4f} nats/token"

    def state(self) -> dict[str, Any]:
        return {
            "order": self.order,
            "parameters": self.parameters,
            "losses": self.losses,
            "probabilities": {split: torch.from_numpy(p) for split, p in self.probabilities.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.order, self.parameters, self.losses = state["order"], state["parameters"], state["losses"]
        self.probabilities = {split: p.numpy() for split, p in state["probabilities"].items()}

    def outcome(self) -> Outcome:
        """Entropies of the full order, as of the networks, the curve over orders, and that over positions in words."""
        outcome = Outcome()
        for split, held_out in self.held_out.items():
            nats, shown = -np.log(self.probabilities[split]), np.zeros(0, np.int32)  # no prediction is shown
            losses = LineLosses(self.lines, self.vocabulary, held_out.places, nats, shown)
            outcome.metrics += losses.metrics(split)
            fixed = {"split": split, "metric": "cross_entropy", "unit": "nats/token", "axis": "order"}
            outcome.curves.append(fixed | {"x": list(range(1, self.order + 1)), "y": self.losses[split]})
            if split == "test":
                outcome.curves += losses.by_position(split)
        return outcome
