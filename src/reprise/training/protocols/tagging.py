"""A tag for every word, and a label for every sentence: document 003, sections 2.5 and 2.2."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise.catalogue.models import MODELS
from reprise.data.corpus import SPLITS, Corpus, Split
from reprise.data.treebank.tagged import KINDS, most_frequent_tags
from reprise.engines.choice import reference_alone
from reprise.engines.optimisers import clip_by_global_norm
from reprise.errors import UserError
from reprise.models.bidirectional import initialise
from reprise.options import COUNT, POSITIVE
from reprise.records.record import Outcome
from reprise.training.protocol import Diverged, Engine, Learner, dtype_of, engine_of, generator_for, load_corpus

_POOL = 50  # batches whose sentences are sorted by length together: little padding, and batches that still differ
_READING = 64
"""Sentences that are evaluated at once."""
_PROGRESS = {"train": (0.0, 0.9), "valid": (0.9, 0.05), "test": (0.95, 0.05)}
"""Where in an epoch's time each text begins, and what share of it it takes."""


@dataclass(frozen=True)
class Batch:
    """B sentences, the longest of T words; the word at (t, b) is the token `places[t, b]` of its split.

    Where `present` is false there is none: `words` and `places` are 0 there.
    """

    numbers: np.ndarray  # (B,) int64: which sentences
    words: Tensor  # (T, B) int64
    present: Tensor  # (T, B) bool
    places: Tensor  # (T, B) int64


def batch_of(split: Split, numbers: np.ndarray) -> Batch:
    """The sentences of these numbers side by side."""
    starts, lengths = split.offsets[numbers], np.diff(split.offsets)[numbers]
    t = np.arange(lengths.max())[:, None]
    present = t < lengths
    places = np.where(present, starts + t, 0)
    words = np.where(present, split.tokens[places], 0)
    return Batch(numbers, torch.from_numpy(words).long(), torch.from_numpy(present), torch.from_numpy(places))


def in_order_of_length(split: Split, size: int) -> list[np.ndarray]:
    """The numbers of all sentences, the shortest first, so many at a time."""
    return _cut(np.argsort(np.diff(split.offsets), kind="stable"), size)


def shuffled(split: Split, size: int, generator: torch.Generator) -> list[np.ndarray]:
    """The numbers of all sentences in a random order of batches of sentences of like length.

    Sentences are shuffled, sorted by length within pools of fifty batches, cut, and the batches shuffled.
    """
    numbers = torch.randperm(split.sentences, generator=generator).numpy()
    lengths = np.diff(split.offsets)
    pools = (pool[np.argsort(lengths[pool], kind="stable")] for pool in _cut(numbers, size * _POOL))
    batches = [batch for pool in pools for batch in _cut(pool, size)]
    return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]


def _cut(numbers: np.ndarray, size: int) -> list[np.ndarray]:
    return [numbers[first : first + size] for first in range(0, len(numbers), size)]


@dataclass(frozen=True)
class Items:
    """What is classified in a split, words or sentences: classes, groups, and what guessing without context says."""

    classes: np.ndarray  # (n,) int
    groups: np.ndarray  # (n,) int, numbers of the protocol's `groups`
    guesses: np.ndarray  # (n,) int

    def __len__(self) -> int:
        return len(self.classes)


@dataclass
class Results:
    """Epoch by epoch and split by split: summed nats, then the right answers of every group.

    `item` is what is classified, for the units: "tag" or "sentence".
    """

    item: str
    groups: Sequence[str]
    items: Mapping[str, Items]
    history: list[dict[str, list[float]]] = field(default_factory=list)  # the last epoch may lack splits

    @property
    def epochs(self) -> int:
        """How many are whole."""
        return len(self.history) - bool(self.history and SPLITS[-1] not in self.history[-1])

    @property
    def best(self) -> int:
        """The first whole epoch of the highest validation accuracy, from 0."""
        return max(range(self.epochs), key=lambda i: sum(self.history[i]["valid"][1:]))

    def add(self, split: str, found: list[float]) -> None:
        """Takes what was found in a split of this epoch; `SPLITS[0]` begins the next."""
        if split == SPLITS[0]:
            self.history.append({})
        self.history[-1][split] = found

    def accuracy(self, epoch: int, split: str) -> float:
        return sum(self.history[epoch][split][1:]) / len(self.items[split])

    def outcome(self, parameters_without_vectors: int) -> Outcome:
        """Accuracies, over all and by group, and loss of the best epoch; those of guessing; curves over epochs.

        Nothing but curves where no epoch is whole.
        """
        outcome, whole = Outcome(), range(self.epochs)
        for split in SPLITS:
            n = len(self.items[split])
            for metric, unit, values in (
                ("accuracy", "share", [self.accuracy(epoch, split) for epoch in whole]),
                ("log_loss", f"nats/{self.item}", [self.history[epoch][split][0] / n for epoch in whole]),
            ):
                fixed = {"split": split, "metric": metric, "unit": unit}
                outcome.curves.append(fixed | {"axis": "epoch", "x": [epoch + 1 for epoch in whole], "y": values})
                if whole:
                    outcome.metrics.append(fixed | {"value": values[self.best], "n": n})
            if whole and split != "train":
                outcome.metrics += self._by_group(split, "accuracy", self.history[self.best][split][1:])
                outcome.metrics += self._guessing(split)
        if whole:
            outcome.metrics.append(_metric("valid", "best_epoch", self.best + 1, "epoch", 1))
            outcome.metrics.append(_metric("train", "epochs", self.epochs, "epoch", 1))
            count = ("parameters_without_vectors", parameters_without_vectors, "parameters")
            outcome.metrics.append(_metric("train", *count, 1))
        return outcome

    def _guessing(self, split: str) -> list[dict[str, Any]]:
        items = self.items[split]
        right = np.bincount(items.groups[items.guesses == items.classes], minlength=len(self.groups)).tolist()
        whole = _metric(split, "guessing", sum(right) / len(items), "share", len(items))
        return [whole, *self._by_group(split, "guessing", right)]

    def _by_group(self, split: str, metric: str, right: Sequence[float]) -> list[dict[str, Any]]:
        sizes = np.bincount(self.items[split].groups, minlength=len(self.groups)).tolist()
        return [
            _metric(split, f"{metric}_{group}", count / size, "share", size)
            for group, count, size in zip(self.groups, right, sizes, strict=True)
            if size
        ]


def _metric(split: str, metric: str, value: float, unit: str, n: int) -> dict[str, Any]:
    return {"split": split, "metric": metric, "value": value, "unit": unit, "n": n}


class SentenceSGD(Learner, ABC):
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
    GPU = True

    unit = "epoch"
    batches_at_once = 8  # a call: below a second
    groups: tuple[str, ...]
    item: str  # what is classified: "tag" or "sentence"
    model_name: str  # what can be trained so
    protocol: str

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: Engine, device: torch.device):
        del device  # batches of sentences of such small networks are fastest on the CPU
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
        self.kernel = engine_of(engine, self.protocol, self.model, self.options, reference_alone)
        self.engine = self.kernel.name
        rate = self.options["learning_rate"]
        self.optimiser = self.kernel if self.stacked else torch.optim.Adam(self.model.parameters(), lr=rate, fused=True)
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
    def logits_of(self, batch: Batch) -> Tensor:
        """Logits (n, K) of the items in the batch."""

    @abstractmethod
    def numbers_of(self, batch: Batch) -> np.ndarray:
        """The numbers of these items in their split, (n,)."""

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
            self._count(batch_of(self.splits[self.split], numbers))
            self.next += 1
            if not math.isfinite(self.found[0]):
                raise Diverged(epoch=self.epoch + 1, batch=self.next, quantity=f"{self.split} loss")
        note = self._note()
        if self.next == len(self.batches()):
            self._close_split()
        return note

    def _count(self, batch: Batch) -> None:
        items, numbers = self.results.items[self.split], self.numbers_of(batch)
        y = torch.from_numpy(items.classes[numbers]).long()
        loss, classes = (self._update if self.split == "train" else self._read)(batch, y)
        right = items.groups[numbers][(classes == y).numpy()]
        self.found[0] += loss * len(numbers)
        for group, count in enumerate(np.bincount(right, minlength=len(self.groups)).tolist()):
            self.found[1 + group] += count

    def _update(self, batch: Batch, y: Tensor) -> tuple[float, Tensor]:
        """One step on the classes y (n,) of a batch: the mean loss, nats, before it, and the likeliest classes (n,)."""
        if self.stacked:
            return self.kernel.update(batch.words, batch.present, y, self.options["learning_rate"])
        logits = self.logits_of(batch)
        loss = functional.cross_entropy(logits, y)
        self.optimiser.zero_grad()
        loss.backward()
        clip_by_global_norm(self.model.parameters(), self.options["clip_norm"])  # Algorithm 1
        self.optimiser.step()
        return loss.item(), logits.argmax(1)

    @torch.no_grad()
    def _read(self, batch: Batch, y: Tensor) -> tuple[float, Tensor]:
        """The same without a step."""
        if self.stacked:
            return self.kernel.read(batch.words, batch.present, y)
        logits = self.logits_of(batch)
        return functional.cross_entropy(logits, y).item(), logits.argmax(1)

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
            **self.learnt(),
            "split": self.split,
            "next": self.next,
            "found": list(self.found),
            "history": self.results.history,
        }

    def restore(self, state: dict[str, Any]) -> None:
        state = copy.deepcopy(state)
        self.restore_learnt(state)
        self.split, self.next, self.found = state["split"], state["next"], state["found"]
        self.results.history = state["history"]

    def outcome(self) -> Outcome:
        """See `Results.outcome`."""
        return self.results.outcome(self.parameters - self.model.network.x.numel())


class Tagging(SentenceSGD):
    """Section 2.5: the tag of each word, the mean loss over the words of a batch.

    Words are grouped by what training shows of them: always the same tag, several, or nothing. Guessing takes the
    word's most frequent tag.
    """

    TRAINS = ("tagger",)
    PREDICTED = "a tag for every one"

    groups, item, model_name, protocol = KINDS, "tag", "tagger", "tagging"

    def items_of(self, corpus: Corpus, split: str) -> Items:
        """See `SentenceSGD`."""
        guesses = most_frequent_tags(corpus)[corpus.splits[split].tokens]
        return Items(corpus.extra[f"tags.{split}"], corpus.extra[f"kinds.{split}"], guesses)

    def classes_of(self, corpus: Corpus) -> int:
        """See `SentenceSGD`."""
        return len(corpus.facts["tags"])

    def logits_of(self, batch: Batch) -> Tensor:
        """See `SentenceSGD`."""
        return self.model(batch.words, batch.present)[batch.present]

    def numbers_of(self, batch: Batch) -> np.ndarray:
        """See `SentenceSGD`."""
        return batch.places[batch.present].numpy()


class SentenceLabels(SentenceSGD):
    """Section 2.2: the label of each sentence, from one vector that represents it.

    Sentences are grouped into those no longer than the median of their split, and longer ones. Guessing takes the more
    frequent label.
    """

    TRAINS = ("sentence-classifier",)
    PREDICTED = "a label for every sentence"

    groups, item, model_name = ("short", "long"), "sentence", "sentence-classifier"
    protocol = "sentence-labels"

    def items_of(self, corpus: Corpus, split: str) -> Items:
        """See `SentenceSGD`."""
        lengths = np.diff(corpus.splits[split].offsets)
        labels = corpus.extra[f"labels.{split}"]
        guess = int(2 * corpus.extra["labels.train"].sum() > len(corpus.extra["labels.train"]))
        return Items(labels, (lengths > np.median(lengths)).astype(np.int64), np.full_like(labels, guess))

    def classes_of(self, corpus: Corpus) -> int:
        """See `SentenceSGD`."""
        return 2

    def logits_of(self, batch: Batch) -> Tensor:
        """See `SentenceSGD`."""
        return self.model(batch.words, batch.present)

    def numbers_of(self, batch: Batch) -> np.ndarray:
        """See `SentenceSGD`."""
        return batch.numbers
