"""Counting instead of training: the word n-gram models of document 003, section 1.2, for every order up to n."""

from typing import Any

import numpy as np

from reprise.data.corpus import SENTENCE_END
from reprise.errors import UserError
from reprise.models.ngram_counts import HeldOut, NGramCounts, Positions
from reprise.models.word_ngram import StupidBackoff
from reprise.records.record import Outcome, make_curve, make_metric
from reprise.training.protocol import Pieces

HELD_OUT = ("valid", "test")
_SHARES = ("zero_share", "undefined_share", "unpredicted_share")
_UNITS = dict.fromkeys(_SHARES, "share")
_UNITS |= dict.fromkeys(("cross_entropy", "score_cross_entropy", "scored_nats"), "nats/token") | {"score_sum": "1"}
"""Units of the quantities that a model may have, in the order of a record."""


class WordNGramCount(Pieces):
    """Estimate models of 1, 2, ... words from the first 2^-halvings of the training sentences, twice as many, ..., all.

    A piece of work is one order on one part of the text. Nothing is drawn, so one replica says all. Each split's first
    words are predicted after the boundary word `</s>`. At the end of every sentence `</s>` itself is predicted and
    counted. `boundary` says whether a context reaches into the sentence before.
    """

    unit = "model"

    def prepare(self) -> None:
        loaded, halvings = self.load_words(running=False), self.options["halvings"]
        self.model = self.build_model(vocabulary=len(loaded.vocabulary))
        end, train = loaded.vocabulary.index(SENTENCE_END), loaded.splits["train"]
        self.training, *held_out = (
            Positions.from_split(loaded.splits[split], self.model.order - 1, end, self.options["boundary"])
            for split in ("train", *HELD_OUT)
        )
        self.held_out = {split: HeldOut(positions) for split, positions in zip(HELD_OUT, held_out, strict=True)}
        self.source = loaded.facts.get("source_nats", {})
        parts = [train.sentence_count >> halving for halving in range(halvings, -1, -1)]
        if parts[0] < 1:
            raise UserError(f"{self.path}: {train.sentence_count} sentences cannot be halved {halvings} times")
        self.words = [int(train.offsets[sentences]) for sentences in parts]
        self.total = len(parts) * self.model.order
        self._counts: NGramCounts | None = None

    @property
    def parameter_count(self) -> int:
        """Count the n-grams of all orders in the whole text."""
        return sum(int(model["stored"]) for model in self.results[self.total - self.model.order :])

    def advance(self) -> str:
        """Count the n-grams of the next model, if they are not counted yet, and read the held-out text."""
        part, below = divmod(len(self.results), self.model.order)
        if self._counts is None or len(self._counts.training) != self.words[part]:
            self._counts = NGramCounts(self.training.take(slice(self.words[part])), self.model.vocabulary)
        self.results.append(self._measure(self._counts, below + 1))
        return f"{below + 1}-grams of {self.words[part]:,} words"

    def _measure(self, counts: NGramCounts, n: int) -> dict[str, Any]:
        """Return what is `stored`, and by split the quantities that the model has, and how many words are `scored`."""
        measured: dict[str, Any] = {"stored": float(len(counts.table(n).keys))}
        entropy = "cross_entropy" if self.model.is_normalised else "score_cross_entropy"
        for split, held_out in self.held_out.items():
            p = self.model.estimate(counts, held_out, n)
            undefined, zero = np.isnan(p), p == 0
            some = ~(undefined | zero)
            shares = float(zero.mean()), float(undefined.mean())
            # Without the words that have no probability this is no cross-entropy of the text.
            nats = {entropy if some.all() else "scored_nats": float(-np.log(p[some]).mean())} if some.any() else {}
            measured[split] = {
                "scored": int(some.sum()),
                **dict(zip(_SHARES, (*shares, sum(shares)), strict=True)),
                **nats,
            }
            if isinstance(self.model, StupidBackoff):
                measured[split]["score_sum"] = float(self.model.compute_score_sums(counts, held_out, n).mean())
        return measured

    def make_outcome(self) -> Outcome:
        """Return metrics `<name>_order_<n>` of the test text, the curves over n, and over the number of training words.

        The cross-entropy of a model that gives some word no probability is infinite: it has none here. That of scores
        that are no probabilities is called `score_cross_entropy`.
        """
        outcome, highest = Outcome(), self.model.order
        whole = self.results[-highest:]
        for split, held_out in self.held_out.items():
            n = len(held_out)
            for name, unit in _UNITS.items():
                values = {k: model[split][name] for k, model in enumerate(whole, 1) if name in model[split]}
                if not values:
                    continue
                outcome.curves.append(make_curve(split, name, unit, "order", values, list(values.values())))
                if split == "test" and name not in ("zero_share", "undefined_share"):
                    for k, value in values.items():
                        # What only words with a probability have is a mean over these.
                        over = whole[k - 1]["test"]["scored"] if name == "scored_nats" else n
                        outcome.metrics.append(make_metric(split, f"{name}_order_{k}", value, unit, over))
                if name == "cross_entropy" and highest in values:
                    outcome.metrics.append(make_metric(split, name, values[highest], unit, n))
            if split in self.source:
                outcome.metrics.append(make_metric(split, "source_entropy", self.source[split], "nats/token", n))
        for k in range(1, highest + 1):
            self._add_sizes(outcome, k)
        return outcome

    def _add_sizes(self, outcome: Outcome, k: int) -> None:
        """Add the n-grams of order k stored, and how the test text fares, over the number of training words."""
        models, name = self.results[k - 1 :: self.model.order], f"stored_order_{k}"
        values = [model["stored"] for model in models]
        outcome.curves.append(make_curve("train", name, "n-grams", "words", self.words, values))
        for halvings, words, value in zip(range(len(models) - 1, -1, -1), self.words, values, strict=True):
            halved = f"_halved_{halvings}_times" if halvings else ""
            outcome.metrics.append(make_metric("train", name + halved, value, "n-grams", words))
        for quantity in ("cross_entropy", "unpredicted_share"):
            sized_models = zip(self.words, models, strict=True)
            points = {words: model["test"][quantity] for words, model in sized_models if quantity in model["test"]}
            if points:
                y = list(points.values())
                outcome.curves.append(make_curve("test", f"{quantity}_order_{k}", _UNITS[quantity], "words", points, y))
