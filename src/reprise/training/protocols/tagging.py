"""A tag for every word, and a label for every sentence: document 003, sections 2.5 and 2.2."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from reprise.data.corpus import SPLITS, Corpus, Split
from reprise.data.treebank.tagged import KINDS, find_most_frequent_tags
from reprise.engines.choice import choose_reference
from reprise.errors import UserError
from reprise.models.bidirectional import initialise
from reprise.records.record import Outcome, make_curve, make_metric
from reprise.training.epochs import BatchEpochs
from reprise.training.protocol import PieceOfWork

# Batches whose sentences are sorted by length together: little padding, and batches that still differ.
_POOL_BATCHES = 50
_READ_BATCH_SIZE = 64
"""Sentences that are evaluated at once."""


@dataclass(frozen=True)
class SentenceBatch:
    """B sentences, the longest of T words; the word at (t, b) is the token `places[t, b]` of its split.

    Where `present` is false there is none: `words` and `places` are 0 there.
    """

    numbers: np.ndarray  # (B,) int64: which sentences
    words: Tensor  # (T, B) int64
    present: Tensor  # (T, B) bool
    places: Tensor  # (T, B) int64


def make_batch(split: Split, numbers: np.ndarray) -> SentenceBatch:
    """Put the sentences of these numbers side by side."""
    starts, lengths = split.offsets[numbers], np.diff(split.offsets)[numbers]
    t = np.arange(lengths.max())[:, None]
    present = t < lengths
    places = np.where(present, starts + t, 0)
    words = np.where(present, split.tokens[places], 0)
    return SentenceBatch(numbers, torch.from_numpy(words).long(), torch.from_numpy(present), torch.from_numpy(places))


def cut_batches(numbers: np.ndarray, size: int) -> list[np.ndarray]:
    """Cut numbers into arrays of `size`; the last may be shorter."""
    return [numbers[first : first + size] for first in range(0, len(numbers), size)]


def sort_shortest_first(numbers: np.ndarray, *lengths: np.ndarray) -> np.ndarray:
    """Sort the numbers of sentences, the shortest first, by the last of their lengths, then by those before it."""
    return numbers[np.lexsort([each[numbers] for each in lengths])]


def shuffle_batches(size: int, pool: int, generator: torch.Generator, *lengths: np.ndarray) -> list[np.ndarray]:
    """Shuffle all sentences of these lengths into batches of sentences of like length, in random order.

    Sentences are shuffled, sorted by length within pools of so many batches, and cut; then the batches are shuffled. So
    the length of a batch's sentences says nothing about the next one's.
    """
    numbers = torch.randperm(len(lengths[0]), generator=generator).numpy()
    pools = (sort_shortest_first(some, *lengths) for some in cut_batches(numbers, size * pool))
    batches = [batch for some in pools for batch in cut_batches(some, size)]
    return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]


class Items(NamedTuple):
    """The items of a split to classify, words or sentences: classes, groups, and guesses without context."""

    classes: np.ndarray  # (n,) int
    groups: np.ndarray  # (n,) int, numbers of the protocol's `groups`
    guesses: np.ndarray  # (n,) int


class SentenceEpochs(BatchEpochs):
    """Train for epochs over the training sentences, each followed by the validation and the test text.

    Every epoch reads all sentences once, in batches of its own. Training ends after `patience` epochs in a row without
    a new highest validation accuracy, or after `max_epochs`. The first epoch with the highest is reported. The training
    loss of an epoch is the mean over its batches, each under the weights before its step.
    """

    CHECKPOINT_ATTRIBUTES = (*BatchEpochs.CHECKPOINT_ATTRIBUTES, "right")

    piece_size = 8
    groups: tuple[str, ...]
    classifies_words: bool  # whether words are classified, or sentences

    def prepare(self) -> None:
        loaded = self.load_corpus()
        if "tags.train" not in loaded.extra:
            raise UserError(f"{self.path}: its words bear no tags; give the experiment a dataset of tagged sentences")
        self.splits = loaded.splits
        self.items = {split: self.make_items(loaded, split) for split in SPLITS}
        self.counts = {split: len(items.classes) for split, items in self.items.items()}
        model = self.build_model(vocabulary=len(loaded.vocabulary), classes=self.count_classes(loaded))
        initialise(model, self.make_generator("weights"))
        self.build_engine(model, choose_reference)
        self.use_adam(fused=True)
        self.right: list[dict[str, list[int]]] = []  # answers by split and group, of every epoch

    @abstractmethod
    def make_items(self, corpus: Corpus, split: str) -> Items:
        """Return the items of a split that are classified."""

    @abstractmethod
    def count_classes(self, corpus: Corpus) -> int:
        """Count the classes of the corpus."""

    @property
    def best_epoch(self) -> int:
        return 1 + max(range(self.epoch), key=lambda i: self._accuracy(i, "valid"))

    def _accuracy(self, epoch: int, split: str) -> float:
        return sum(self.right[epoch][split]) / self.counts[split]

    def make_batches(self, part: str) -> list[np.ndarray]:
        """Return numbers of sentences."""
        lengths = np.diff(self.splits[part].offsets)
        if part == "train":
            return shuffle_batches(
                self.options["batch_size"], _POOL_BATCHES, self.make_generator(f"order {self.epoch}"), lengths
            )
        return cut_batches(sort_shortest_first(np.arange(len(lengths)), lengths), _READ_BATCH_SIZE)

    def begin_part(self, part: str) -> None:
        super().begin_part(part)
        if part == "train":
            self.right.append({split: [0] * len(self.groups) for split in SPLITS})

    def process_next(self) -> PieceOfWork:
        batch = make_batch(self.splits[self.part], self.batches[self.next])
        self.next += 1
        items, numbers = self.items[self.part], batch.numbers
        if self.classifies_words:
            numbers = batch.places[batch.present].numpy()
        y = torch.from_numpy(items.classes[numbers]).long()
        loss, classes = yield (self.update if self.part == "train" else self.read)(batch.words, batch.present, y)
        right = np.bincount(items.groups[numbers][(classes == y).numpy()], minlength=len(self.groups))
        self.right[self.epoch][self.part] = np.add(self.right[self.epoch][self.part], right).tolist()
        return loss * len(numbers)

    def loss(self, words: Tensor, present: Tensor, y: Tensor) -> tuple[Tensor, tuple[float, Tensor]]:
        """Compute the mean loss of classes y (n,), its value in nats, and the likeliest classes (n,)."""
        logits = self.model(words, present)  # (n, K), or (T, B, K)
        if self.classifies_words:
            logits = logits[present]
        loss = functional.cross_entropy(logits, y)
        return loss, (loss.item(), logits.argmax(1))

    def describe_progress(self) -> str:
        if self.epoch:
            return f"validation accuracy {self._accuracy(self.epoch - 1, 'valid'):.4f}"
        return f"epoch 1, {self.part} text"

    def make_outcome(self) -> Outcome:
        """Report accuracies, over all and by group, and loss of the best epoch; those of guessing; curves over epochs.

        Nothing but curves where no epoch is whole.
        """
        outcome, unit = Outcome(), "nats/tag" if self.classifies_words else "nats/sentence"
        for split, items in self.items.items():
            n = self.counts[split]
            losses = [epoch[split] for epoch in self.history]
            accuracies = [self._accuracy(epoch, split) for epoch in range(self.epoch)]
            for name, unit_of, values in (("accuracy", "share", accuracies), ("log_loss", unit, losses)):
                outcome.curves.append(make_curve(split, name, unit_of, "epoch", range(1, self.epoch + 1), values))
                if self.epoch:
                    outcome.metrics.append(make_metric(split, name, values[self.best_epoch - 1], unit_of, n))
            if self.epoch and split != "train":
                guessed = items.groups[items.guesses == items.classes]
                right = np.bincount(guessed, minlength=len(self.groups)).tolist()
                outcome.metrics += self._make_group_metrics(split, "accuracy", self.right[self.best_epoch - 1][split])
                outcome.metrics.append(make_metric(split, "guessing", sum(right) / n, "share", n))
                outcome.metrics += self._make_group_metrics(split, "guessing", right)
        if self.epoch:
            self.add_epoch_counts(outcome)
            rest = self.parameter_count - self.model.network.x.numel()
            outcome.metrics.append(make_metric("train", "parameters_without_vectors", rest, "parameters", 1))
        return outcome

    def _make_group_metrics(self, split: str, name: str, right: Sequence[float]) -> list[dict[str, Any]]:
        sizes = np.bincount(self.items[split].groups, minlength=len(self.groups)).tolist()
        scored = zip(self.groups, right, sizes, strict=True)
        return [make_metric(split, f"{name}_{group}", count / n, "share", n) for group, count, n in scored if n]


class Tagging(SentenceEpochs):
    """Section 2.5: the tag of each word, the mean loss over the words of a batch.

    Words are grouped by what training shows of them: always the same tag, several, or nothing. Guessing takes the
    word's most frequent tag.
    """

    groups, classifies_words = KINDS, True

    def make_items(self, corpus: Corpus, split: str) -> Items:
        guesses = find_most_frequent_tags(corpus)[corpus.splits[split].tokens]
        return Items(corpus.extra[f"tags.{split}"], corpus.extra[f"kinds.{split}"], guesses)

    def count_classes(self, corpus: Corpus) -> int:
        return len(corpus.facts["tags"])


class SentenceLabels(SentenceEpochs):
    """Section 2.2: the label of each sentence, from one vector that represents it.

    Sentences are grouped into those no longer than the median of their split, and longer ones. Guessing takes the more
    frequent label.
    """

    groups, classifies_words = ("short", "long"), False

    def make_items(self, corpus: Corpus, split: str) -> Items:
        lengths = np.diff(corpus.splits[split].offsets)
        labels = corpus.extra[f"labels.{split}"]
        guess = int(2 * corpus.extra["labels.train"].sum() > len(corpus.extra["labels.train"]))
        return Items(labels, (lengths > np.median(lengths)).astype(np.int64), np.full_like(labels, guess))

    def count_classes(self, corpus: Corpus) -> int:
        return 2
