"""How often a language model finds the agreeing form more probable: the pairs of `minimal_pairs`, judged.

The log-probabilities of both forms are taken after the words before them; a form that only equals the other one counts
half. What is reported is a share for every group of pairs. Beside it stands the share that the form more frequent in
the entire corpus would give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reprise.data.corpus import Corpus
from reprise.records.record import make_metric

METRIC, BY_FREQUENCY = "agreement", "agreement_by_frequency"
SPLIT = "tests"
ALL = "all"
_NAMES = ("split", "position", "right", "wrong", "kind", "feature", "distance")


@dataclass(frozen=True)
class MinimalPairs:
    """P minimal pairs: the split and place of each, both forms, and the groups that it belongs to."""

    splits: list[str]
    split: np.ndarray  # (P,) number in `splits`, and so on
    position: np.ndarray
    right: np.ndarray
    wrong: np.ndarray
    groups: dict[str, np.ndarray]  # name -> (P,) bool
    by_frequency: np.ndarray  # (P,) log of how much more frequent the right form is

    def __len__(self) -> int:
        return len(self.right)

    @classmethod
    def from_corpus(cls, corpus: Corpus, window: int) -> MinimalPairs | None:
        """Take the pairs of a corpus with `window` words before them in their split; None where it has no pairs."""
        if "agreement_right" not in corpus.extra or "agreement" not in corpus.facts:
            return None
        arrays = {name: corpus.extra[f"agreement_{name}"] for name in _NAMES}
        evaluated = arrays["position"] >= window
        arrays = {name: values[evaluated] for name, values in arrays.items()}
        facts, counts = corpus.facts["agreement"], corpus.extra["corpus_counts"]
        frequency = np.log(counts[arrays["right"]]) - np.log(counts[arrays["wrong"]])
        groups = dict(_make_groups(arrays, facts, window))
        places = (arrays[name] for name in ("split", "position", "right", "wrong"))
        return cls(facts["splits"], *places, groups, frequency)

    def make_metrics(self, margins: np.ndarray) -> list[dict[str, Any]]:
        """Return the share of each group by `margins` (P,), log p(right) - log p(wrong)."""
        shares = {m: (x > 0) + 0.5 * (x == 0) for m, x in ((METRIC, margins), (BY_FREQUENCY, self.by_frequency))}
        return [
            make_metric(SPLIT, f"{measure}/{name}", float(share[members].mean()), "share", int(members.sum()))
            for measure, share in shares.items()
            for name, members in self.groups.items()
            if members.any()
        ]


def name_group(feature: str = ALL, kind: str = ALL, distance: str = ALL) -> str:
    """Name a group of pairs: the end of its metrics' names."""
    return f"{feature}/{kind}/{distance}"


def list_distances(window: int) -> dict[str, tuple[int, int]]:
    """Return the names of distances and their bounds; what stands farther away than the window is not read."""
    return {"1": (1, 1), "2": (2, 2), f"3-{window}": (3, window), f"over {window}": (window + 1, 10**9)}


def _make_groups(
    arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any], window: int
) -> Iterator[tuple[str, np.ndarray]]:
    every = np.ones(len(arrays["kind"]), bool)
    features = {ALL: every} | {name: arrays["feature"] == i for i, name in enumerate(facts["features"])}
    kinds = {name: arrays["kind"] == i for i, name in enumerate(facts["kinds"])}
    d = arrays["distance"]
    spans = {name: (d >= low) & (d <= high) for name, (low, high) in list_distances(window).items()}
    for feature, bears in features.items():
        yield name_group(feature), bears
        yield from ((name_group(feature, kind), bears & members) for kind, members in kinds.items())
        yield from ((name_group(feature, ALL, span), bears & members) for span, members in spans.items())
