"""Document 004's networks for `bench gpu`: stacks, and beside them the readable model with autograd.

Replicas of a stack read the same windows, each in an order of its own. RMSprop's epsilon is so large that the first
updates are nearly proportional to the gradients, so that the check of the updates is one of the gradients.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reprise.bench import llrnn
from reprise.bench.llrnn_engines import build_model
from reprise.bench.llrnn_task import LAYERS, WINDOW, Task, Workload
from reprise.bench.tensors import numpy_of, words_of
from reprise.engines.loglinear.choose import ReferenceEngine
from reprise.kernels.stacked_loglinear import Room, StackedLogLinear
from reprise.kernels.stacked_loglinear_text import WindowPieces
from reprise.models.loglinear import LogLinearRNN, initialise

BATCHES = 12
SWEEP = (10_000, 5_000, 3_000, 2_000, 1_000, 500, 10)
"""Document 004, Table 4: the other M, which share a stack with the task's."""

_RATE, _EPSILON = 0.01, 0.01

expected = llrnn.expected


def make_task(workload: Workload, folder: Path) -> tuple[Task, dict[str, Any]]:
    """As `llrnn.make_task`, of fewer batches and with the large epsilon."""
    task, facts = llrnn.make_task(workload, folder, BATCHES)
    return dataclasses.replace(task, learning_rate=_RATE, epsilon=_EPSILON), facts


class OneStack:
    """Pieces are batches; the first replica reads the task's in their order, and has its weights."""

    block, warm = 1, 4

    def __init__(self, task: Task, device: torch.device, models: list[LogLinearRNN], capture: bool) -> None:
        R, (n, T, B) = len(models), task.x.shape
        # Every window with its target by itself, one after the other.
        windows = np.concatenate([task.x, task.y[:, None]], 1).transpose(0, 2, 1)  # (n, B, T + 1)
        first = (T + 1) * np.arange(n * B)
        orders = [first, *(np.random.default_rng(r).permutation(first) for r in range(1, R))]
        self.text = WindowPieces(np.stack(orders), (T, B), (T, B))
        room = Room(((T, B),), n * B, n)
        self.stack = StackedLogLinear(models, windows.ravel(), False, room, device, capture)
        self.stack.begin([task.learning_rate] * R, [task.rho] * R, [task.epsilon] * R)
        self.stack.enter(self.text)

    def piece_end(self, first: int) -> int:
        return first + 1

    def train(self, first: int, last: int) -> None:
        self.stack.train(self.text, first, last)


def models_of(task: Task, replicas: int) -> list[LogLinearRNN]:
    """The task's model and others of its M; with 0 replicas those of the other M of Table 4.

    NotImplementedError where the model has no M.
    """
    top, types = task.workload.top, len(task.counts)
    if not replicas and not top:
        raise NotImplementedError("the sweep is Table 4's, over M")
    tops = [top] * (replicas - 1) if replicas else [min(M, types) for M in SWEEP]
    models = [build_model(task)]
    for seed, M in enumerate(tops, 2):
        other = dataclasses.replace(task, weights={}, workload=dataclasses.replace(task.workload, top=M))
        models.append(build_model(other))
        initialise(models[-1], torch.Generator().manual_seed(seed))
    return models


class Eager:
    """The readable model with autograd, features and their scores by `torch.sparse`."""

    replicas = block = warm = 1

    def __init__(self, task: Task, device: torch.device) -> None:
        self.rates = task.rates
        self.x, self.y = (words.to(device) for words in words_of(task))
        self.kernel = ReferenceEngine(build_model(task).to(device))

    def train(self, first: int, last: int) -> float:
        """RMSprop on batches first .. last-1; their summed loss in nats."""
        return sum(self.kernel.train(self.x[i], self.y[i], **self.rates) for i in range(first, last))

    def train_called(self, piece: int) -> None:
        self.train(piece, piece + 1)

    def parameters(self) -> dict[str, np.ndarray]:
        return numpy_of(self.kernel.export())


class Library:
    """None: torch's LSTM does not have Keras' hard sigmoid."""

    def __init__(self, task: Task, device: torch.device) -> None:
        raise NotImplementedError("torch does not have this cell")


def targets_a_step(task: Task) -> float:
    """A batch's targets, by its steps of time."""
    return task.workload.batch / WINDOW


def bytes_a_token(task: Task) -> float:
    """Bytes of the device's memory that a target of one replica costs at least, its share of a step's.

    Every step of time reads the matrices between states, there and back; gates and the derivatives by them are written
    and read a dozen times in all; scores are written, turned into derivatives (read and written twice) and read twice.
    RMSprop writes a gradient, and reads and writes it, the means and the parameters, all of them in every step.
    """
    w = task.workload
    parameters = sum(value.size for value in task.weights.values())
    states = WINDOW * LAYERS * (2 * 4 * w.size**2 / w.batch + 12 * 4 * w.size)
    return 4 * (states + 7 * w.features + 6 * parameters / w.batch)
