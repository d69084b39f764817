"""The stacked LSTM on a book (document 002, question 2.1) for `bench gpu`: stacks, and beside them the eager loop.

Replicas of a stack read windows of their own. RMSProp's epsilon is so large that the first updates are nearly
proportional to the gradients, so that the check of the updates is one of the gradients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reprise import counters
from reprise.bench.task import checked
from reprise.bench.task_files import Described
from reprise.bench.tensors import numpy_of
from reprise.engines.books.layerwise import AutogradEngine
from reprise.kernels.stacked_books import StackedBooks
from reprise.kernels.stacked_tensorflow_rmsprop import Law
from reprise.models.deep_lstm import StackedLSTM, initialise
from reprise.training.rmsprop import TensorFlowRMSProp, clip_by_global_norm

BATCH, LENGTH, CHECKED = 64, 30, 3
"""Windows of a step and their characters (document 002), and steps on which every implementation is checked."""

STEPS = 12
SWEEP = 6
"""Replicas that share a stack in the paper's tier: three of the Fairy Tales and three under other assumptions."""

_CHARACTERS = 500_000
_RATE, _SEED = 0.1, 1
_LAW = Law(clip_norm=5.0, decay=0.96, epsilon=1.0, start=1.0)


@dataclass(frozen=True)
class Workload(Described):
    """Symbols, units of a layer, and layers."""

    name: str
    vocabulary: int
    hidden: int = 128
    layers: int = 2

    @property
    def flops_a_token(self) -> int:
        """Of the dense products, forward, backward and gradients: 6 for each weight that a character uses."""
        return 6 * (4 * self.hidden**2 * (2 * self.layers - 1) + self.hidden * self.vocabulary)


@dataclass(frozen=True)
class Task:
    """A book (n,) and the readable model's state_dict; pieces are steps."""

    workload: Workload
    book: np.ndarray
    weights: Mapping[str, np.ndarray]
    block = CHECKED

    @property
    def places(self) -> int:
        return len(self.book) - LENGTH - 1

    def __len__(self) -> int:
        return STEPS

    def tokens(self, first: int, last: int) -> int:
        """Characters that steps first .. last-1 read."""
        return (last - first) * LENGTH * BATCH


def make_task(workload: Workload, folder: Path) -> tuple[Task, dict[str, Any]]:
    """A task, and facts about it; nothing is written."""
    del folder
    # Characters as frequent as the words of Zipf's law: which they are costs nothing and gains nothing.
    shares = 1 / np.arange(1, workload.vocabulary + 1)
    book = np.random.default_rng(_SEED).choice(workload.vocabulary, _CHARACTERS, p=shares / shares.sum())
    (model,) = _models(workload, 1)
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    task = Task(workload, book.astype(np.int32), weights)
    count = sum(value.size for value in weights.values())
    facts = {"text": "random characters of Zipf's law", "steps": STEPS, "length": LENGTH, "batch": BATCH}
    return task, facts | {"parameters": count}


def expected(task: Task) -> dict[str, Any]:
    """Loss and norms of the updates of the readable model with autograd in double precision."""
    return checked(task, Eager(task, torch.device("cpu"), torch.float64))


class OneStack:
    """Pieces are steps; the first replica reads the task's windows, and has its weights."""

    block, warm = 1, 4

    def __init__(self, task: Task, device: torch.device, models: list[StackedLSTM], capture: bool) -> None:
        R = len(models)
        keys = [[counters.key(_SEED + r, step) for r in range(R)] for step in range(STEPS)]
        self.keys, self.steps = np.array(keys, np.uint64), np.tile(np.arange(STEPS)[:, None], R)
        sizes = task.places, LENGTH, BATCH, STEPS, STEPS
        self.stack = StackedBooks(models, [_LAW] * R, [False] * R, task.book, *sizes, device, capture)
        self.stack.begin([_RATE] * R)

    def piece_end(self, first: int) -> int:
        return first + 1

    def train(self, first: int, last: int) -> None:
        self.stack.feed(self.keys[first:last], self.steps[first:last])
        self.stack.train(last - first, 0)


def models_of(task: Task, replicas: int) -> list[StackedLSTM]:
    """The task's model and others of its size; 0 replicas are the sweep."""
    return _models(task.workload, replicas or SWEEP)


class Eager:
    """The readable model with autograd; its windows are found beforehand."""

    replicas = block = warm = 1

    def __init__(self, task: Task, device: torch.device, dtype: torch.dtype = torch.float32) -> None:
        book, within = torch.from_numpy(task.book).long(), torch.arange(LENGTH + 1)[:, None]
        self.spans = []
        for step in range(STEPS):
            numbers = counters.uniform32(counters.key(_SEED, step), 0, BATCH).astype(np.int64)
            places = torch.from_numpy(numbers) * task.places >> 32
            self.spans.append(book[within + places].to(device))
        (model,) = models_of(task, 1)
        self.model = model.to(device=device, dtype=dtype)
        self.kernel = AutogradEngine(self.model)
        how = {"decay": _LAW.decay, "epsilon": _LAW.epsilon, "start": _LAW.start}
        self.optimiser = TensorFlowRMSProp(self.model.parameters(), learning_rate=_RATE, **how)

    def train(self, first: int, last: int) -> float:
        """Steps first .. last-1; their summed loss in nats."""
        total = 0.0
        for span in self.spans[first:last]:
            loss, _ = self.kernel.loss_and_gradients(span[:-1], span[1:], self.model.initial_state(BATCH))
            total += loss
            clip_by_global_norm(self.model.parameters(), _LAW.clip_norm)
            self.optimiser.step()
        return total

    def train_called(self, piece: int) -> None:
        self.train(piece, piece + 1)

    def parameters(self) -> dict[str, np.ndarray]:
        return numpy_of(self.model.state_dict())


class Library:
    """None: torch's LSTM has no other function than tanh."""

    def __init__(self, task: Task, device: torch.device) -> None:
        raise NotImplementedError("torch does not have this cell")


def bytes_a_token(task: Task) -> float:
    """Bytes of the device's memory that a character of one replica costs, its share of a step's.

    Every step of time reads the matrix between states, there and back; gates and the derivatives by them are written
    and read a dozen times in all, logits are written, turned into derivatives (read and written twice) and read twice.
    RMSProp writes a gradient, and reads and writes it, the mean squares and the parameters.
    """
    w = task.workload
    parameters = sum(value.size for value in task.weights.values())
    states = w.layers * (2 * 4 * w.hidden**2 / BATCH + 12 * 4 * w.hidden)
    return 4 * (states + 7 * w.vocabulary + 6 * parameters / task.tokens(0, 1))


def _models(workload: Workload, replicas: int) -> list[StackedLSTM]:
    models = []
    for seed in range(_SEED, _SEED + replicas):
        laws = "glorot-uniform", "fan-in-truncated-normal"
        models.append(StackedLSTM(workload.vocabulary, workload.hidden, workload.layers, "relu", 1.0, *laws))
        initialise(models[-1], torch.Generator().manual_seed(seed))
    return models
