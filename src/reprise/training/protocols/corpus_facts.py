"""An experiment that trains nothing: its record holds the numbers of a corpus, so that tables of data come from run
records like all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from reprise.data.corpus import Corpus
from reprise.errors import UserError
from reprise.records.record import Outcome

ALL = "all"
"""The split of facts about the entire corpus."""


class CorpusFacts:
    """Reads the corpus and states its facts, the same for every replica."""

    unit = "corpus"
    total = 1
    parameters = 0
    engine = "none"

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: str, device: torch.device):
        del seed, engine, device  # nothing is drawn or computed
        if corpus is None:
            dataset = config["data"]["dataset"]
            raise UserError(f"protocol corpus-facts: the dataset {dataset} has no corpus; name one that has")
        self.corpus = corpus
        self.metrics: list[dict[str, Any]] | None = None

    @property
    def finished(self) -> bool:
        return self.metrics is not None

    @property
    def done(self) -> float:
        return float(self.finished)

    def advance(self) -> str:
        self.metrics = corpus_metrics(Corpus.load(self.corpus))
        return f"{len(self.metrics)} facts"

    def state(self) -> dict[str, Any]:
        return {"metrics": self.metrics}

    def restore(self, state: dict[str, Any]) -> None:
        self.metrics = state["metrics"]

    def outcome(self) -> Outcome:
        return Outcome(metrics=self.metrics or [])


def corpus_metrics(corpus: Corpus) -> list[dict[str, Any]]:
    """A metric a number among `corpus.facts`, named by the keys that lead to it, joined by dots.

    {"tokens": {"train": 5}} with a split called train is the metric tokens of the split train; all others are of
    the split "all", and {"corpus": {"tokens": 9}} is the metric tokens of it. Texts and lists are passed over.
    """
    metrics = []
    for keys, value in _numbers(corpus.facts, ()):
        split = ALL
        if len(keys) == 2 and keys[1] in corpus.splits:
            keys, split = keys[:1], keys[1]
        elif keys[0] == "corpus":
            keys = keys[1:]
        metrics.append({"split": split, "metric": ".".join(keys), "value": value, "unit": "1", "n": 1})
    return metrics


def _numbers(facts: Mapping[str, Any], before: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float]]:
    for key, fact in facts.items():
        if isinstance(fact, Mapping):
            yield from _numbers(fact, (*before, key))
        elif isinstance(fact, int | float) and not isinstance(fact, bool):
            yield (*before, key), fact
