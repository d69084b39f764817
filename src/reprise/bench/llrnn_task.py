"""What every implementation of document 004's models gets: windows, what is known of the types, initial weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reprise.bench import task_files
from reprise.bench.task_files import Described

WINDOW, SIZE, LAYERS = 8, 256, 2
"""Words of a window, size of embedding and states, LSTM layers (document 004, section 5.3)."""

CHECKED = 3
"""Batches on which every implementation is checked; RMSprop's first step alone shows little but signs."""


@dataclass(frozen=True)
class Workload(Described):
    """A model of `top` frequent types (0: the softmax RNN) and the windows of a batch."""

    name: str
    batch: int
    top: int
    vocabulary: int = 42_598
    tags: int = 72
    size: int = SIZE

    @property
    def features(self) -> int:
        """Rows of the output layer: features, or types."""
        return self.top + 1 + self.tags if self.top else self.vocabulary

    @property
    def flops_a_token(self) -> int:
        """Of a target's dense products, forward, backward and update: 6 for each weight, in each of the 8 steps."""
        return 6 * self.size * (WINDOW * LAYERS * 8 * self.size + self.features)

    @property
    def options(self) -> dict[str, Any]:
        """Those of the model."""
        kinds = ("features", "log-linear", "corpus") if self.top else ("one-hot", "softmax", "none")
        found = dict(zip(("input", "output", "background"), kinds, strict=True))
        found |= {"features_from": "corpus", "top_types": self.top, "word_identity": bool(self.top)}
        return found | {"embedding_size": self.size, "hidden_size": self.size, "layers": LAYERS}

    def described(self) -> dict[str, Any]:
        """The sizes, for people."""
        return super().described() | {"features": self.features}


@dataclass(frozen=True)
class Task:
    """Windows x (n, WINDOW, B) and targets y (n, B), int32; pieces are batches.

    counts (V,), tag_indptr and tag_indices: corpus counts and tags of the types; weights: the readable model's
    state_dict.
    """

    workload: Workload
    x: np.ndarray
    y: np.ndarray
    counts: np.ndarray
    tag_indptr: np.ndarray
    tag_indices: np.ndarray
    weights: Mapping[str, np.ndarray]
    learning_rate: float
    rho: float
    epsilon: float
    block = CHECKED

    def __len__(self) -> int:
        return len(self.x)

    def tokens(self, first: int, last: int) -> int:
        """Targets of batches first .. last-1."""
        return self.y[first:last].size

    @property
    def rates(self) -> dict[str, float]:
        return {"learning_rate": self.learning_rate, "rho": self.rho, "epsilon": self.epsilon}


def write_task(task: Task, folder: Path) -> None:
    """Writes the task into an empty folder."""
    task_files.write(task, folder)


def read_task(folder: Path) -> Task:
    """What `write_task` wrote."""
    return Task(**task_files.read(folder, Workload))
