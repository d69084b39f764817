"""What every implementation of document 000's networks gets: lines, initial weights, Adam's numbers.

Only numpy is needed to read them: the process of JAX imports no torch.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reprise.bench.task_files import Described
from reprise.data.corpus import Corpus, Split

BATCH = 64
"""Lines of a batch (document 000, section 4)."""

VOCABULARY = {"characters": 27, "bigrams": 703}
NOTHING = -1
"""The target where a line is filled up."""


@dataclass(frozen=True)
class Workload(Described):
    """A model of document 000 and the lines it reads.

    `model` is "gso", with `second_order` (m) and, where `first_order` is true, with D and E; "first-order", or
    "mi-rnn", the general one. `tokens` is "characters" or "bigrams". `length` predictions a line, or those it has (0).
    `indexing`: the loop that indexes is timed as well, which takes minutes.
    """

    name: str
    model: str
    hidden: int
    second_order: int = 0
    first_order: bool = False
    tokens: str = "characters"
    length: int = 0
    indexing: bool = False

    @property
    def vocabulary(self) -> int:
        return VOCABULARY[self.tokens]

    @property
    def flops_a_token(self) -> int:
        """Of the dense products, forward, backward and gradients: 6 for each weight that a token uses."""
        h, m = self.hidden, self.second_order
        recurrent = 2 * h * m + self.first_order * h * h if self.model == "gso" else h * h
        return 6 * (recurrent + h * self.vocabulary)

    def described(self) -> dict[str, Any]:
        """The sizes, for people."""
        return super().described() | {"vocabulary": self.vocabulary}


class Padded(NamedTuple):
    """A batch as one would feed it to a framework: every line filled up to the longest."""

    inputs: np.ndarray  # (T, BATCH) int32
    targets: np.ndarray  # (T, BATCH) int32, NOTHING where filled up


@dataclass(frozen=True)
class Task:
    """The corpus's training lines, BATCH a batch in their order, and the readable model's state_dict.

    Pieces are batches. Adam minimises the mean loss of a batch's predictions; its epsilon is so large that the first
    updates are nearly proportional to the gradients, so that the check of the updates is one of the gradients.
    """

    workload: Workload
    corpus: Path
    weights: Mapping[str, np.ndarray]
    lines: Split
    training: np.ndarray  # numbers of the training lines
    learning_rate: float
    epsilon: float

    @property
    def block(self) -> int:
        return len(self)

    def __len__(self) -> int:
        return len(self.training) // BATCH

    def lengths(self, first: int, last: int) -> np.ndarray:
        """Predictions of each line of batches first .. last-1."""
        return np.diff(self.lines.offsets)[self.training[first * BATCH : last * BATCH]] - 1

    def tokens(self, first: int, last: int) -> int:
        """Predictions of batches first .. last-1."""
        return int(self.lengths(first, last).sum())

    def padded(self, batch: int) -> Padded:
        lengths, lines = self.lengths(batch, batch + 1), self.training[batch * BATCH : (batch + 1) * BATCH]
        inputs = np.zeros((lengths.max(), BATCH), np.int32)
        targets = np.full_like(inputs, NOTHING)
        for i, (first, length) in enumerate(zip(self.lines.offsets[lines], lengths, strict=True)):
            tokens = self.lines.tokens[first : first + length + 1]
            inputs[:length, i], targets[:length, i] = tokens[:-1], tokens[1:]
        return Padded(inputs, targets)


def write_task(
    folder: Path, workload: Workload, corpus: Corpus, weights: Mapping[str, np.ndarray], rate: float, epsilon: float
) -> Task:
    """Writes a task into an empty folder and reads it; the corpus has one fold, in `extra["part"]`."""
    corpus.save(folder / "corpus.npz")
    np.savez(folder / "weights.npz", **weights)
    facts = {"workload": dataclasses.asdict(workload), "learning_rate": rate, "epsilon": epsilon}
    (folder / "task.json").write_text(json.dumps(facts), encoding="utf-8")
    return read_task(folder)


def read_task(folder: Path) -> Task:
    """What `write_task` wrote."""
    facts = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    workload = Workload(**facts.pop("workload"))
    corpus = Corpus.load(folder / "corpus.npz")
    with np.load(folder / "weights.npz") as arrays:
        weights = dict(arrays)
    training = np.flatnonzero(corpus.extra["part"][0] == 0)
    return Task(workload, folder / "corpus.npz", weights, corpus.splits["lines"], training, **facts)
