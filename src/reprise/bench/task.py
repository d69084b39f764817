"""What every implementation gets: sizes, text, dropout masks and initial weights, as files.

Only numpy is needed to read them: the process of JAX imports no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reprise.bench import task_files

LENGTH = 20
"""The longest subsequence, in words (document 001, section 4)."""

BLOCK = 20
"""Subsequences in one call of a compiled loop, and in the check that comes first."""


@dataclass(frozen=True)
class Workload:
    """A model's sizes and the text it reads. `factors` makes it an m-RNN, else `matrices` is K.

    `sentences`: subsequences end where sentences do, as in training; else all have LENGTH words.
    """

    name: str
    dataset: str
    vocabulary: int
    hidden: int
    matrices: int = 1
    factors: int = 0
    sentences: bool = False

    @property
    def flops_a_token(self) -> int:
        """Of the dense products, forward, backward and update: 6 for each weight that a token uses."""
        H = self.hidden
        return 6 * (H * self.vocabulary + (2 * H * self.factors or H * H))

    def described(self) -> dict[str, Any]:
        """The sizes, for people."""
        return {
            "name": self.name,
            "dataset": self.dataset,
            "vocabulary": self.vocabulary,
            "hidden": self.hidden,
            "matrices": self.matrices if not self.factors else None,
            "factors": self.factors or None,
            "flops_a_token": self.flops_a_token,
        }

    @property
    def tables(self) -> dict[str, str]:
        """Parameters of which a word uses one row alone, and what numbers the rows: word or matrix."""
        if self.factors:
            return {"W_h": "word", "v": "word"}
        if self.matrices == 1:
            return {"W_h": "word"}
        return {"W_h": "word", "b_h": "matrix", "U_h": "matrix"}


class Padded(NamedTuple):
    """Subsequences of equal length, for programs that are compiled for one: filled up at the end."""

    inputs: np.ndarray  # (s, T) int32
    targets: np.ndarray  # (s, T) int32
    masks: np.ndarray  # (s, T, H) float32
    weights: np.ndarray  # (s, T) float32: 0 where filled up, else 1
    last: np.ndarray  # (s,) int32: place of the last word
    reset: np.ndarray  # (s,) bool


@dataclass(frozen=True)
class Task:
    """The arrays of `Subsequences`, one dropout mask a token (n, H), and the readable model's state_dict.

    Engines that draw masks themselves draw these from `key`: counters start at the first token.
    """

    workload: Workload
    inputs: np.ndarray
    targets: np.ndarray
    offsets: np.ndarray
    reset: np.ndarray
    masks: np.ndarray
    weights: Mapping[str, np.ndarray]
    learning_rate: float
    dropout: float
    key: int
    block = BLOCK

    def __len__(self) -> int:
        return len(self.reset)

    def tokens(self, first: int, last: int) -> int:
        """Words of subsequences first .. last-1."""
        return int(self.offsets[last] - self.offsets[first])

    def padded(self) -> Padded:
        """The same subsequences, each filled up to LENGTH words."""
        lengths = np.diff(self.offsets)
        there = np.arange(LENGTH) < lengths[:, None]  # (s, T)

        def fill(values: np.ndarray) -> np.ndarray:
            rows = np.zeros((*there.shape, *values.shape[1:]), values.dtype)
            rows[there] = values
            return rows

        last = (lengths - 1).astype(np.int32)
        weights = there.astype(np.float32)
        return Padded(fill(self.inputs), fill(self.targets), fill(self.masks), weights, last, self.reset)


def write_task(task: Task, folder: Path) -> None:
    """Writes the task into an empty folder."""
    task_files.write(task, folder, mapped=True)


def read_task(folder: Path) -> Task:
    """What `write_task` wrote; weights stay in their files until they are read (hundreds of megabytes)."""
    return Task(**task_files.read(folder, Workload))


def update_norms(before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The Euclidean norm of what was added to each parameter."""
    return {name: float(np.linalg.norm(after[name] - value)) for name, value in before.items()}


def checked(task: Any, implementation: Any) -> dict[str, Any]:
    """What an implementation is checked by, over the first `block` pieces of a task: loss and norms of the updates."""
    loss = implementation.train(0, task.block)
    return {"loss": loss, "update_norms": update_norms(task.weights, implementation.parameters())}
