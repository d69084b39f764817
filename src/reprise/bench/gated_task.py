"""What every implementation of the gated language models gets: windows of words, initial weights, dropout's key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reprise.bench import task_files
from reprise.bench.task_files import Described

STEPS, STREAMS, EMBEDDING = 35, 20, 650
"""Steps of a window, streams read in parallel, and embedding size (document 001, section 4)."""

CHECKED = 3
"""Windows on which every implementation is checked; their state is carried from one to the next."""


@dataclass(frozen=True)
class Workload(Described):
    """A gated network's sizes; `cell` is "gru" or "lstm", `matrices` is K."""

    name: str
    cell: str
    hidden: int
    matrices: int = 1
    vocabulary: int = 10_000
    dataset: str = "ptb"
    embedding: int = EMBEDDING

    @property
    def flops_a_token(self) -> int:
        """Of the dense products, forward, backward and update: 6 for each weight that a token uses."""
        gates = {"gru": 3, "lstm": 4}[self.cell]
        return 6 * (gates * self.hidden * (self.embedding + self.hidden) + self.hidden * self.vocabulary)


@dataclass(frozen=True)
class Task:
    """Windows x -> y, int32 (n, STEPS, STREAMS), and the readable model's state_dict; pieces are windows."""

    workload: Workload
    x: np.ndarray
    y: np.ndarray
    weights: Mapping[str, np.ndarray]
    learning_rate: float
    dropout: float
    clip_norm: float
    key: int
    block = CHECKED

    def __len__(self) -> int:
        return len(self.x)

    def tokens(self, first: int, last: int) -> int:
        """Words of windows first .. last-1."""
        return self.x[first:last].size


def write_task(task: Task, folder: Path) -> None:
    """Writes the task into an empty folder."""
    task_files.write(task, folder)


def read_task(folder: Path) -> Task:
    """What `write_task` wrote."""
    return Task(**task_files.read(folder, Workload))
