"""What is classified in sentences, how an epoch fared, and which epoch is reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reprise.data.treebank.tagged import SPLITS
from reprise.records.record import Outcome


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
