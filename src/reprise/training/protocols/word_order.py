"""Scores of word orders and of words: document 003, section 1.1, with the n-gram models of section 1.2."""

import math

import numpy as np
import torch

from reprise.data.corpus import SENTENCE_END, UNKNOWN, Split
from reprise.data.synthetic.phrases import CHANGES, PHRASES, name_metric
from reprise.errors import UserError
from reprise.models.ngram_counts import HeldOut, NGramCounts, Positions
from reprise.records.record import Outcome, make_metric
from reprise.training.protocol import Pieces


class WordOrder(Pieces):
    """Count the training text and give sentences their log-probability under the models of 1, 2, ... words.

    A sentence is its words and `</s>`; boundary words stand before it. Scored are the notes' phrases and the sentences
    of the test text. The sentences are also scored with their words shuffled and with two neighbours exchanged. These
    are redrawn until the words are in another order; sentences that have none are left out. Words are changed the same
    way for all models of a replica. A piece of work is one order.
    """

    unit = "order"

    def prepare(self) -> None:
        loaded = self.load_words(running=False)
        self.ids = {word: i for i, word in enumerate(loaded.vocabulary)}
        # Where no word stands for unknown ones, they are one more word, which training lacks.
        self.unknown = self.ids.setdefault(UNKNOWN, len(self.ids))
        self.model = self.build_model(vocabulary=len(self.ids))
        self.total = self.model.order
        self.end = loaded.vocabulary.index(SENTENCE_END)
        self.counts = NGramCounts(self._make_positions(loaded.splits["train"]), self.model.vocabulary)
        sentences = split_sentences(loaded.splits["test"])
        changed = [change_order(words, self.make_generator(f"sentence {i}")) for i, words in enumerate(sentences)]
        usable = [i for i, orders in enumerate(changed) if orders]
        if not usable:
            raise UserError(f"{self.path}: no test sentence has two different words to exchange; use more text")
        self.texts = {"original": self._hold_out([sentences[i] for i in usable])}
        self.texts |= {name: self._hold_out([changed[i][k] for i in usable]) for k, name in enumerate(CHANGES)}
        spelled = ([self.ids.get(word, self.unknown) for word in phrase.split()] for phrase in PHRASES)
        self.phrases = dict(zip(PHRASES, map(np.array, spelled), strict=True))
        self.texts["phrases"] = self._hold_out(list(self.phrases.values()))

    @property
    def parameter_count(self) -> int:
        """Count the stored n-grams, of the orders that were counted."""
        return sum(len(self.counts.table(n).keys) for n in range(1, len(self.results) + 1))

    def _make_positions(self, split: Split) -> Positions:
        return Positions.from_split(split, self.model.order - 1, self.end, "sentence")

    def _hold_out(self, sentences: list[np.ndarray]) -> tuple[HeldOut, np.ndarray]:
        """Return the sentences, `</s>` put behind each, and their bounds."""
        split = Split.from_id_lists([np.append(words, self.end) for words in sentences])
        return HeldOut(self._make_positions(split)), split.offsets

    def advance(self) -> str:
        """Score all sentences under the model of the next order."""
        n = len(self.results) + 1
        scores = {}
        for name, (held_out, offsets) in self.texts.items():
            p = self.model.estimate(self.counts, held_out, n)
            with np.errstate(divide="ignore"):  # a model without smoothing has zeros
                scores[name] = sum_within(np.log(np.nan_to_num(p)), offsets)
        original = scores["original"]
        numbers: dict[str, float] = {}
        for name in CHANGES:
            numbers[f"above_{name}"] = float((original > scores[name]).mean())
            numbers[f"tied_with_{name}"] = float((original == scores[name]).mean())
        for phrase, score in zip(self.phrases, scores["phrases"], strict=True):
            numbers[phrase] = float(score)
        self.results.append(numbers)
        return f"order {n}: {numbers['above_shuffled']:.4f} above a random order"

    def make_outcome(self) -> Outcome:
        """Return shares of the test sentences by order, and the phrases' log-probabilities where they are finite."""
        outcome, sentences = Outcome(), len(self.texts["original"][1]) - 1
        for n, numbers in enumerate(self.results, 1):
            for name, value in numbers.items():
                order = f"{name_metric(name)}_order_{n}"
                if name not in self.phrases:
                    outcome.metrics.append(make_metric("test", order, value, "share", sentences))
                elif math.isfinite(value):
                    outcome.metrics.append(make_metric("phrases", order, value, "nats", len(self.phrases[name]) + 1))
        return outcome


def split_sentences(split: Split) -> list[np.ndarray]:
    """Return the words of every sentence, without its `</s>`."""
    return [words[:-1] for words in np.split(split.tokens.astype(np.int64), split.offsets[1:-1])]


def sum_within(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Sum the values between consecutive offsets with `math.fsum`, which does not depend on their order.

    values (n,), offsets (s + 1,) -> (s,).
    """
    return np.array([math.fsum(values[a:b]) for a, b in zip(offsets, offsets[1:], strict=False)])


def change_order(words: np.ndarray, generator: torch.Generator) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the words in another order, and with two neighbours exchanged; None where all words are alike."""
    borders = np.flatnonzero(words[1:] != words[:-1])
    if not len(borders):
        return None
    order = words
    while np.array_equal(order, words):
        order = words[torch.randperm(len(words), generator=generator).numpy()]
    place = borders[int(torch.randint(len(borders), (), generator=generator))]
    swapped = words.copy()
    swapped[[place, place + 1]] = words[[place + 1, place]]
    return order, swapped
