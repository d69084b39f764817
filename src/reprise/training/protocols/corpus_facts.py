"""An experiment that trains nothing: its record holds the numbers of a corpus.

So tables of data come from run records like all others.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from reprise.data.corpus import Corpus
from reprise.errors import UserError
from reprise.records.record import Outcome, make_metric
from reprise.training.protocol import Pieces

ALL = "all"
"""The split of facts about the entire corpus."""


class CorpusFacts(Pieces):
    """Read the corpus and state its facts, the same for every replica."""

    unit = "corpus"
    total = 1
    engine_name = "none"

    def prepare(self) -> None:
        if self.path is None:
            dataset = self.config["data"]["dataset"]
            raise UserError(f"protocol corpus-facts: the dataset {dataset} has no corpus; name one that has")

    def advance(self) -> str:
        self.results.append(list_corpus_metrics(self.load_corpus()))
        return f"{len(self.results[0])} facts"

    def make_outcome(self) -> Outcome:
        return Outcome(metrics=self.results[0])


def list_corpus_metrics(corpus: Corpus) -> list[dict[str, Any]]:
    """Return a metric a number among `corpus.facts`, named by the keys that lead to it, joined by dots.

    {"tokens": {"train": 5}} with a split called train is the metric tokens of the split train. All others are of the
    split "all": {"corpus": {"tokens": 9}} is the metric tokens of it. Texts and lists are passed over.
    """
    metrics = []
    for keys, value in _list_numbers(corpus.facts, ()):
        if len(keys) == 2 and keys[1] in corpus.splits:
            name, split = keys
        else:
            name, split = ".".join(keys[1:] if keys[0] == "corpus" else keys), ALL
        metrics.append(make_metric(split, name, value, "1", 1))
    return metrics


def _list_numbers(facts: Mapping[str, Any], before: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float]]:
    for key, fact in facts.items():
        if isinstance(fact, Mapping):
            yield from _list_numbers(fact, (*before, key))
        elif isinstance(fact, int | float) and not isinstance(fact, bool):
            yield (*before, key), fact
