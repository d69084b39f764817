"""Training on whole sentences with labels, by epochs that stop early: the taggers of document 003, section 2.5, and its
representations of sentences, section 2.2. The notes give no recipe; this one is ours.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise.catalogue.models import MODELS
from reprise.data.corpus import Corpus
from reprise.data.treebank.tagged import SPLITS
from reprise.engines.choice import no_engine
from reprise.errors import UserError
from reprise.models.bidirectional import initialise
from reprise.options import COUNT, POSITIVE
from reprise.records.record import Outcome
from reprise.training.protocol import Diverged, dtype_of, generator_for, load_corpus
from reprise.training.protocols.sentence_batches import Batch, batch_of, in_order_of_length, shuffled
from reprise.training.protocols.sentence_results import Items, Results
from reprise.training.rmsprop import clip_by_global_norm

_READING = 64
"""Sentences that are evaluated at once."""
_PROGRESS = {"train": (0.0, 0.9), "valid": (0.9, 0.05), "test": (0.95, 0.05)}
"""Where in an epoch's time each text begins, and what share of it it takes."""


class SentenceSGD(ABC):
    """Epochs over the training sentences, each followed by the validation and the test text.

    Every epoch reads all sentences once, in batches of its own. It ends after `patience` epochs in a row whose
    validation accuracy is not above the highest before them, or after `max_epochs`; what is reported is the first epoch
    with the highest. The training loss of an epoch is the mean over its batches, each under the weights before its
    step.
    """

    OPTIONS = {
        "batch_size": COUNT,
        "optimiser": ("adam",),
        "learning_rate": POSITIVE,
        "clip_norm": POSITIVE,
        "patience": COUNT,
        "max_epochs": COUNT,
    }

    unit = "epoch"
    engine = "reference"
    batches_at_once = 8  # a call: below a second
    groups: tuple[str, ...]
    item: str  # what is classified: "tag" or "sentence"
    model_name: str  # what can be trained so

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: str, device: torch.device):
        del device  # batches of sentences of such small networks are fastest on the CPU
        if engine not in ("auto", self.engine):
            raise no_engine(engine, [self.engine])
        loaded = load_corpus(corpus)
        if "tags.train" not in loaded.extra:
            raise UserError(f"{corpus}: its words bear no tags; give the experiment a dataset of tagged sentences")
        self.options, self.seed = config["training"]["options"], seed
        self.splits = loaded.splits
        items = {split: self.items_of(loaded, split) for split in SPLITS}
        self.results = Results(self.item, self.groups, items)
        model = config["model"]
        if model["name"] != self.model_name:
            raise UserError(f"model {model['name']}: this protocol trains the model {self.model_name}; name that one")
        self.model: nn.Module = MODELS[model["name"]].build(
            vocabulary=len(loaded.vocabulary), classes=self.classes_of(loaded), **model["options"]
        )
        initialise(self.model, generator_for(seed, "weights"))
        self.model.to(dtype_of(config))
        self.parameters = sum(p.numel() for p in self.model.parameters())
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=self.options["learning_rate"], fused=True)
        self.total = self.options["max_epochs"]
        self.split, self.next = "train", 0  # the text that is read, and the batch that comes next
        self.found = self._nothing()
        self._batches: tuple[tuple[int, str], list[np.ndarray]] | None = None

    @abstractmethod
    def items_of(self, corpus: Corpus, split: str) -> Items:
        """What is classified in the split."""

    @abstractmethod
    def classes_of(self, corpus: Corpus) -> int:
        """How many classes there are."""

    @abstractmethod
    def classify(self, batch: Batch) -> tuple[Tensor, np.ndarray]:
        """Logits (n, K) of the items in the batch, and their numbers in the split (n,)."""

    @property
    def epoch(self) -> int:
        """How many epochs are over."""
        return self.results.epochs

    @property
    def finished(self) -> bool:
        stale = self.epoch - 1 - self.results.best if self.epoch else 0
        between = self.next == 0 and self.split == SPLITS[0]
        return between and (stale >= self.options["patience"] or self.epoch >= self.total)

    @property
    def done(self) -> float:
        begins, share = _PROGRESS[self.split]
        return self.epoch + begins + share * self.next / len(self.batches())

    def batches(self) -> list[np.ndarray]:
        """The sentences of the text that is read, in this epoch's order, which follows from seed and epoch alone."""
        if self._batches is None or self._batches[0] != (self.epoch, self.split):
            split, size = self.splits[self.split], self.options["batch_size"]
            if self.split == "train":
                made = shuffled(split, size, generator_for(self.seed, f"order {self.epoch}"))
            else:
                made = in_order_of_length(split, _READING)
            self._batches = (self.epoch, self.split), made
        return self._batches[1]

    def advance(self) -> str:
        """Trains on, or evaluates, the next batches. Raises `Diverged`."""
        last = min(self.next + self.batches_at_once, len(self.batches()))
        for numbers in self.batches()[self.next : last]:
            self._read(batch_of(self.splits[self.split], numbers))
            self.next += 1
            if not math.isfinite(self.found[0]):
                raise Diverged(epoch=self.epoch + 1, batch=self.next, quantity=f"{self.split} loss")
        note = self._note()
        if self.next == len(self.batches()):
            self._close_split()
        return note

    def _read(self, batch: Batch) -> None:
        training, items = self.split == "train", self.results.items[self.split]
        with torch.set_grad_enabled(training):
            logits, numbers = self.classify(batch)
            y = torch.from_numpy(items.classes[numbers]).long()
            loss = functional.cross_entropy(logits, y)
        if training:
            self.optimiser.zero_grad()
            loss.backward()
            clip_by_global_norm(self.model.parameters(), self.options["clip_norm"])  # Algorithm 1
            self.optimiser.step()
        right = items.groups[numbers][(logits.argmax(1) == y).numpy()]
        self.found[0] += loss.item() * len(numbers)
        for group, count in enumerate(np.bincount(right, minlength=len(self.groups)).tolist()):
            self.found[1 + group] += count

    def _close_split(self) -> None:
        """Goes on to the next text; after the last one the epoch is over."""
        self.results.add(self.split, self.found)
        self.next, self.found = 0, self._nothing()
        self.split = SPLITS[(SPLITS.index(self.split) + 1) % len(SPLITS)]

    def _nothing(self) -> list[float]:
        """Summed nats, then right answers by group."""
        return [0.0] * (1 + len(self.groups))

    def _note(self) -> str:
        if self.epoch:
            return f"validation accuracy {self.results.accuracy(self.epoch - 1, 'valid'):.4f}"
        return f"epoch 1, {self.split} text"

    def state(self) -> dict[str, Any]:
        return {
            "parameters": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "split": self.split,
            "next": self.next,
            "found": list(self.found),
            "history": self.results.history,
        }

    def restore(self, state: dict[str, Any]) -> None:
        state = copy.deepcopy(state)
        self.model.load_state_dict(state["parameters"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.split, self.next, self.found = state["split"], state["next"], state["found"]
        self.results.history = state["history"]

    def outcome(self) -> Outcome:
        """See `Results.outcome`."""
        return self.results.outcome(self.parameters - self.model.network.x.numel())
