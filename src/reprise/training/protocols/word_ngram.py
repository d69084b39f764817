"""Counting instead of training: the word n-gram models of document 003, section 1.2, for every order up to n."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from reprise.catalogue.models import MODELS
from reprise.data.corpus import SENTENCE_END
from reprise.errors import UserError
from reprise.models.ngram_counts import HeldOut, NGramCounts, Positions
from reprise.models.word_ngram import StupidBackoff
from reprise.options import NATURAL
from reprise.records.record import Outcome
from reprise.training.protocol import load_sentences

HELD_OUT = ("valid", "test")


class WordCounts:
    """Counting instead of training: every piece of work measures one model more.

    `state` holds what was measured alone: what was counted is counted again.
    """

    engine = "numpy"
    total: int  # models

    def __init__(self) -> None:
        self.parameters = 0  # n-grams of all orders whose count is kept
        self.found: list[dict[str, float]] = []  # of every model so far

    @property
    def finished(self) -> bool:
        return len(self.found) >= self.total

    @property
    def done(self) -> float:
        return len(self.found)

    def state(self) -> dict[str, Any]:
        return {"found": self.found, "parameters": self.parameters}

    def restore(self, state: dict[str, Any]) -> None:
        self.found, self.parameters = list(state["found"]), state["parameters"]


DISTRIBUTIONS = ("relative-ngram", "additive-ngram", "backoff-ngram", "kneser-ney")
"""Counted models of which every history is a distribution: the probability of a sentence means something."""


class WordNGramCount(WordCounts):
    """Models of 1, 2, ... words from the first 2^-halvings of the training sentences, twice as many, ..., all of them.

    A piece of work is one order on one part of the text. Nothing is drawn, so that one replica says all. Each split's
    first words are predicted after the boundary word `</s>`, which is predicted and counted itself at the end of every
    sentence; `boundary` says whether a context reaches into the sentence before.
    """

    TRAINS = (*DISTRIBUTIONS, "stupid-backoff")
    PREDICTED = "all"
    OPTIONS = {"boundary": ("sentence", "text"), "halvings": NATURAL}
    CHANCE = False

    unit = "model"

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: str, device: torch.device):
        del seed, engine, device  # nothing is drawn, and numpy counts
        super().__init__()
        options, loaded = config["training"]["options"], load_sentences(corpus, "word-ngram")
        self.model = MODELS[config["model"]["name"]].build(
            vocabulary=len(loaded.vocabulary), **config["model"]["options"]
        )
        end, train = loaded.vocabulary.index(SENTENCE_END), loaded.splits["train"]
        contexts = self.model.order - 1
        self.training, *held = (
            Positions.of(loaded.splits[split], contexts, end, options["boundary"]) for split in ("train", *HELD_OUT)
        )
        self.held = {split: HeldOut(positions) for split, positions in zip(HELD_OUT, held, strict=True)}
        self.source = loaded.facts.get("source_nats", {})
        parts = [train.sentences >> halving for halving in range(options["halvings"], -1, -1)]
        if parts[0] < 1:
            raise UserError(f"{corpus}: {train.sentences} sentences cannot be halved {options['halvings']} times")
        self.words = [int(train.offsets[sentences]) for sentences in parts]
        self.total = len(parts) * self.model.order
        self._counts: NGramCounts | None = None

    def advance(self) -> str:
        """Counts the n-grams of the next model, if they are not counted yet, and reads the held-out text."""
        part, below = divmod(len(self.found), self.model.order)
        if self._counts is None or len(self._counts.training) != self.words[part]:
            self._counts = NGramCounts(self.training.first(self.words[part]), self.model.vocabulary)
        self.found.append(self._measure(self._counts, below + 1))
        if part == len(self.words) - 1:
            self.parameters += len(self._counts.table(below + 1).keys)
        return f"{below + 1}-grams of {self.words[part]:,} words"

    def _measure(self, counts: NGramCounts, n: int) -> dict[str, float]:
        found = {"stored": float(len(counts.table(n).keys))}
        for split, held in self.held.items():
            p = self.model.estimate(counts, held, n)
            undefined, zero = np.isnan(p), p == 0
            some = ~(undefined | zero)
            found |= {
                f"{split}.zero": float(zero.mean()),
                f"{split}.undefined": float(undefined.mean()),
                # Without the words that have no probability this is no cross-entropy of the text.
                f"{split}.nats": float(-np.log(p[some]).mean()) if some.any() else 0.0,
                f"{split}.scored": int(some.sum()),
            }
            if isinstance(self.model, StupidBackoff):
                found[f"{split}.score_sum"] = float(self.model.score_sums(counts, held, n).mean())
        return found

    def outcome(self) -> Outcome:
        """Metrics `<name>_order_<n>` of the test text, the curves over n, and over the number of training words.

        The cross-entropy of a model that gives some word no probability is infinite: it has none here. That of scores
        that are no probabilities is called `score_cross_entropy`.
        """
        outcome, orders = Outcome(), list(range(1, self.model.order + 1))
        whole = self.found[-self.model.order :]
        for split, held in self.held.items():
            n = len(held)
            for name, values in self._by_order(whole, split).items():
                unit = _UNITS.get(name, "nats/token")
                fixed = {"split": split, "metric": name, "unit": unit}
                outcome.curves.append(fixed | {"axis": "order", "x": list(values), "y": list(values.values())})
                if split == "test" and name not in ("zero_share", "undefined_share"):
                    # What only words with a probability have is a mean over these.
                    over = {k: whole[k - 1]["test.scored"] if name == "scored_nats" else n for k in values}
                    outcome.metrics += [
                        fixed | {"metric": f"{name}_order_{k}", "value": value, "n": over[k]}
                        for k, value in values.items()
                    ]
                if name == "cross_entropy" and orders[-1] in values:
                    outcome.metrics.append(fixed | {"value": values[orders[-1]], "n": n})
            if split in self.source:
                source = {"split": split, "metric": "source_entropy", "value": self.source[split]}
                outcome.metrics.append(source | {"unit": "nats/token", "n": n})
        self._sizes(outcome, orders)
        return outcome

    def _by_order(self, models: list[dict[str, float]], split: str) -> dict[str, dict[int, float]]:
        """Every quantity that there is of the split, by order."""
        entropy = "cross_entropy" if self.model.proper else "score_cross_entropy"
        values: dict[str, dict[int, float]] = {
            name: {} for name in ("zero_share", "undefined_share", "unpredicted_share")
        }
        values |= {entropy: {}, "scored_nats": {}, "score_sum": {}}
        for k, model in enumerate(models, 1):
            zero, undefined = model[f"{split}.zero"], model[f"{split}.undefined"]
            values["zero_share"][k], values["undefined_share"][k] = zero, undefined
            values["unpredicted_share"][k] = zero + undefined
            values["scored_nats" if zero + undefined else entropy][k] = model[f"{split}.nats"]
            if f"{split}.score_sum" in model:
                values["score_sum"][k] = model[f"{split}.score_sum"]
        return {name: by_order for name, by_order in values.items() if by_order}

    def _sizes(self, outcome: Outcome, orders: list[int]) -> None:
        """n-grams stored, and how the test text fares, over the number of training words: a curve an order."""
        stored = {"split": "train", "unit": "n-grams"}
        for k in orders:
            models = self.found[k - 1 :: len(orders)]
            values = [model["stored"] for model in models]
            outcome.curves.append(
                stored | {"metric": f"stored_order_{k}", "axis": "words", "x": self.words, "y": values}
            )
            for halvings, words, value in zip(range(len(models) - 1, -1, -1), self.words, values, strict=True):
                name = f"stored_order_{k}" + (f"_halved_{halvings}_times" if halvings else "")
                outcome.metrics.append(stored | {"metric": name, "value": value, "n": words})
            by_size = {words: self._by_order([model], "test") for words, model in zip(self.words, models, strict=True)}
            for name in ("cross_entropy", "unpredicted_share"):
                points = {words: found[name][1] for words, found in by_size.items() if name in found}
                if points:
                    fixed = {"split": "test", "metric": f"{name}_order_{k}", "unit": _UNITS.get(name, "nats/token")}
                    outcome.curves.append(fixed | {"axis": "words", "x": list(points), "y": list(points.values())})


_UNITS = {"zero_share": "share", "undefined_share": "share", "unpredicted_share": "share", "score_sum": "1"}
