"""Training of the translation model of document 003, section 2.6: batches of pairs, Adam, clipped gradients.

What is made as large as it can be is the likelihood of the targets, a pair counting as one:

    max over theta of 1/N sum over n of log p_theta(y^(n) | x^(n))      (26)
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reprise.data.corpus import SENTENCE_END, UNKNOWN, Split
from reprise.data.pairs.pairs import SPLITS, is_parallel, lines_of_test, source_of
from reprise.engines.lecture.translation import translator_of
from reprise.engines.optimisers import clip_by_global_norm
from reprise.engines.stack import Stack
from reprise.errors import UserError
from reprise.evaluation.bleu_counts import bleu_counts
from reprise.evaluation.greedy import greedy
from reprise.models.translation import initialise
from reprise.options import COUNT
from reprise.records.record import Outcome
from reprise.training.protocol import Diverged, Engine, Learner, dtype_of, engine_of, generator_for, load_corpus
from reprise.training.protocols.tagging import SentenceSGD
from reprise.units import perplexity

_SORTED_TOGETHER = 20
"""Batches whose pairs are sorted by length before they are cut, so that little of a batch is padding."""
_PADDING = 0  # any word would do: what is read there is never used
_READ_TOGETHER = 100
"""Pairs that are read at once where nothing is trained."""
_SHOWN = 5
"""Test pairs that are shown with their translations, at equal distances in the text."""
_PARTS = ("train", "valid", "test", "translate")
_KEPT = ("epoch", "part", "next", "nats", "history", "best", "test_loss", "translations")


@dataclass(frozen=True)
class PairBatch:
    """B pairs with sources of at most T words and targets of at most U, `</s>` counted; N words are predicted."""

    source: Tensor  # (T, B) int64
    lengths: Tensor  # (B,) int64, of the sources
    before: Tensor  # (U, B) int64: the word before each target word, `</s>` before the first
    places: Tensor  # (N,) int64: where the targets stand in (U, B), row by row; the rest is padding
    targets: Tensor  # (N,) int64


@dataclass(frozen=True)
class Pairs:
    """The pairs of one split; `end` is the number of `</s>`, which closes every target."""

    source: Split
    target: Split
    end: int

    def __len__(self) -> int:
        return self.target.sentences

    @property
    def tokens(self) -> int:
        """Target words that are predicted."""
        return len(self.target.tokens)

    @property
    def source_words(self) -> np.ndarray:
        return np.diff(self.source.offsets)

    def shuffled(self, size: int, generator: torch.Generator) -> list[np.ndarray]:
        """All pairs in a random order, cut into batches of `size` of which the last may be smaller.

        The order is sorted by length, a stretch of batches at a time, and the batches are put into an order of their
        own: how long a batch's sentences are says nothing about the next one's.
        """
        order = torch.randperm(len(self), generator=generator).numpy()
        stretch = size * _SORTED_TOGETHER
        order = np.concatenate(
            [self._by_length(order[i : i + stretch]) for i in range(0, len(order), stretch)] or [order]
        )
        batches = _cut(order, size)
        return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]

    def in_order(self, size: int) -> list[np.ndarray]:
        """All pairs by length, for reading without training."""
        return _cut(self._by_length(np.arange(len(self))), size)

    def _by_length(self, numbers: np.ndarray) -> np.ndarray:
        lengths = np.diff(self.target.offsets)[numbers], self.source_words[numbers]
        return numbers[np.lexsort(lengths)]

    def batch(self, numbers: np.ndarray) -> PairBatch:
        """The pairs of these numbers, padded."""
        sources, targets = ([_sentence(split, i) for i in numbers] for split in (self.source, self.target))
        read, written = _padded(sources), _padded(targets)
        before = np.concatenate([np.full((1, len(numbers)), self.end), written[:-1]])
        lengths = np.array([len(target) for target in targets])
        places = np.flatnonzero(np.arange(len(written))[:, None] < lengths)
        return PairBatch(
            torch.from_numpy(read),
            torch.tensor([len(source) for source in sources]),
            torch.from_numpy(before),
            torch.from_numpy(places),
            torch.from_numpy(written.ravel()[places]),
        )


def _cut(order: np.ndarray, size: int) -> list[np.ndarray]:
    return [order[i : i + size] for i in range(0, len(order), size)]


def _sentence(split: Split, number: int) -> np.ndarray:
    return split.tokens[split.offsets[number] : split.offsets[number + 1]]


def _padded(sentences: Sequence[np.ndarray]) -> np.ndarray:
    """Sentences as columns, (longest, B) int64."""
    padded = np.full((max(map(len, sentences)), len(sentences)), _PADDING, np.int64)
    for column, sentence in enumerate(sentences):
        padded[: len(sentence), column] = sentence
    return padded


class Translation(Learner):
    """Epochs over the training pairs in an order of their own each, every one followed by the validation pairs.

    Training ends after `patience` epochs in a row whose validation loss is not below the lowest before them, or after
    `max_epochs`. Then the test pairs are read, and their sources translated, with the parameters of the epoch of lowest
    validation loss. The decoder reads the words of the given target before each word, when it translates its own. The
    test's sources are translated by the likeliest word at each time, `<unk>` excepted, up to `output_limit` words.
    """

    TRAINS = ("translation",)
    PREDICTED = "all, each after the true ones before it"
    GPU = True
    OPTIONS = {**SentenceSGD.OPTIONS, "output_limit": COUNT}

    unit = "epoch"
    batches_at_once = 5  # a call of `advance`: well below a second

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: Engine, device: torch.device):
        del device  # networks of this size are made for a CPU
        self.corpus = load_corpus(corpus)
        if not is_parallel(self.corpus):
            raise UserError(f"{corpus}: no parallel text; the protocol translation needs one, such as multi30k")
        source, self.end = source_of(self.corpus), self.corpus.vocabulary.index(SENTENCE_END)
        self.pairs = {s: Pairs(source.splits[s], self.corpus.splits[s], self.end) for s in SPLITS}
        self.pairs["translate"] = self.pairs["test"]
        self.options, self.seed = config["training"]["options"], seed
        self.total = self.options["max_epochs"]
        vocabularies = len(source.vocabulary), len(self.corpus.vocabulary)
        made = translator_of("reference" if isinstance(engine, Stack) else engine)
        self.model = made(*vocabularies, **config["model"]["options"])
        initialise(self.model, generator_for(seed, "weights"))
        self.model.to(dtype_of(config))
        self.parameters = sum(p.numel() for p in self.model.parameters())
        self.kernel = engine_of(engine, "translation", self.model, self.options, lambda _, model: model)
        self.engine = self.kernel.name
        rate = self.options["learning_rate"]
        self.optimiser = self.kernel if self.stacked else torch.optim.Adam(self.model.parameters(), lr=rate, fused=True)
        self.epoch = 0
        self.history: list[dict[str, float]] = []  # nats/token by split
        self.best: dict[str, Any] = {}  # epoch (from 1), valid, parameters
        self.test_loss = math.nan
        self.translations: dict[int, list[int]] = {}  # by number of the pair
        self._open("train")

    @property
    def finished(self) -> bool:
        return len(self.translations) == len(self.pairs["test"])

    @property
    def done(self) -> float:
        if self.part in ("test", "translate"):
            return self.epoch
        share = self.next / len(self.batches)
        return self.epoch + (0.95 * share if self.part == "train" else 0.95 + 0.05 * share)

    def advance(self) -> str:
        """Reads the next batches of the part whose turn it is. Raises `Diverged`."""
        for numbers in self.batches[self.next : self.next + self.batches_at_once]:
            batch = self.pairs[self.part].batch(numbers)
            if self.part == "translate":
                barred = [self.corpus.vocabulary.index(UNKNOWN)]
                found = greedy(self.model, batch.source, batch.lengths, self.end, self.options["output_limit"], barred)
                self.translations |= dict(zip(numbers.tolist(), found, strict=True))
            else:
                self.nats += (self._update if self.part == "train" else self._read)(batch)
            self.next += 1
        if not math.isfinite(self.nats):
            raise Diverged(epoch=self.epoch + 1, batch=self.next, quantity=f"{self.part} loss")
        note = self._note()
        if self.next == len(self.batches):
            self._close()
        return note

    def _update(self, batch: PairBatch) -> float:
        """One step; the summed nats before it."""
        if self.stacked:
            return self.kernel.update(batch, self.options["learning_rate"])
        nats = self._nats_of(batch)
        self.optimiser.zero_grad()
        (nats / len(batch.lengths)).backward()  # (26)
        clip_by_global_norm(self.model.parameters(), self.options["clip_norm"])
        self.optimiser.step()
        return nats.item()

    @torch.no_grad()
    def _read(self, batch: PairBatch) -> float:
        """Summed nats."""
        return self.kernel.read(batch) if self.stacked else self._nats_of(batch).item()

    def _nats_of(self, batch: PairBatch) -> Tensor:
        h, _ = self.model.decode(batch.before, *self.model.encode(batch.source, batch.lengths))
        return self.model.nats(h.flatten(0, 1).index_select(0, batch.places), batch.targets)

    def _open(self, part: str) -> None:
        """Begins to read a part; the test comes with the best epoch's parameters."""
        self.part, self.next, self.nats = part, 0, 0.0
        if part == "train":
            generator = generator_for(self.seed, f"order {self.epoch}")
            self.batches = self.pairs[part].shuffled(self.options["batch_size"], generator)
            return
        if part in ("test", "translate"):
            self.take_parameters(self.best["parameters"])
        self.batches = self.pairs[part].in_order(_READ_TOGETHER)

    def _close(self) -> None:
        """Goes on to the next part; after the validation pairs the epoch is over."""
        loss = self.nats / self.pairs[self.part].tokens
        if self.part == "train":
            self.history.append({"train": loss})
        elif self.part == "valid":
            self.history[-1]["valid"] = loss
            self.epoch += 1
            if not self.best or loss < self.best["valid"]:
                parameters = {name: value.clone() for name, value in self.readable().state_dict().items()}
                self.best = {"epoch": self.epoch, "valid": loss, "parameters": parameters}
            if self.epoch < self.total and self.epoch - self.best["epoch"] < self.options["patience"]:
                self._open("train")
                return
        elif self.part == "test":
            self.test_loss = loss
        if self.part != _PARTS[-1]:
            self._open(_PARTS[_PARTS.index(self.part) + 1])

    def _note(self) -> str:
        if self.best:
            return f"valid ppl {perplexity(self.best['valid']):.2f}"
        pairs = self.next * self.options["batch_size"]
        return f"training loss {self.nats / pairs:.2f} nats/pair" if self.part == "train" else "first epoch"

    def state(self) -> dict[str, Any]:
        return {
            **self.learnt(),
            **{name: getattr(self, name) for name in _KEPT},
        }

    def restore(self, state: dict[str, Any]) -> None:
        state = copy.deepcopy(state)
        self.epoch, self.best = state["epoch"], state["best"]
        self._open(state["part"])
        for name in _KEPT:
            setattr(self, name, state[name])
        self.restore_learnt(state)

    def outcome(self) -> Outcome:
        """Losses of the best epoch and of every epoch; all translations of the test, and a few beside their texts."""
        epochs = list(range(1, self.epoch + 1))
        fixed = {"metric": "cross_entropy", "unit": "nats/token", "axis": "epoch", "x": epochs}
        history = self.history[: self.epoch]
        outcome = Outcome(curves=[fixed | {"split": s, "y": [h[s] for h in history]} for s in ("train", "valid")])
        if not self.finished:
            return outcome
        best = self.best["epoch"]
        for split, loss in (*self.history[best - 1].items(), ("test", self.test_loss)):
            outcome.metrics.append(_metric(split, "cross_entropy", loss, "nats/token", self.pairs[split].tokens))
        outcome.metrics.append(_metric("valid", "best_epoch", best, "epoch", 1))
        outcome.metrics.append(_metric("train", "epochs", self.epoch, "epoch", 1))
        outcome.samples = self._samples()
        return outcome

    def _samples(self) -> list[dict[str, Any]]:
        words, lines = self.corpus.vocabulary, lines_of_test(self.corpus)
        texts = [" ".join(words[i] for i in self.translations[n]) for n in range(len(lines))]
        counts = bleu_counts(texts, [target for _, target in lines], self.corpus.facts["lowercase"])
        source_words = self.pairs["test"].source_words.tolist()
        every = {"kind": "translations", "split": "test", "decoder": "greedy", "texts": texts, **counts}
        chosen = range(0, len(lines), max(1, len(lines) // _SHOWN))[:_SHOWN]
        shown = [
            {"kind": "example", "line": n + 1, "source": lines[n][0], "reference": lines[n][1], "text": texts[n]}
            for n in chosen
        ]
        return [every | {"source_words": source_words}, *shown]


def _metric(split: str, metric: str, value: float, unit: str, n: int) -> dict[str, Any]:
    return {"split": split, "metric": metric, "value": value, "unit": unit, "n": n}
