"""What `bench gpu` times: stacks, called or replayed as graphs, and beside them `gpu_peers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from reprise import counters
from reprise.bench import (
    gated_engines,
    gated_task,
    gpu_books,
    gpu_lines,
    gpu_loglinear,
    gpu_palindromes,
    gso_task,
    llrnn_task,
)
from reprise.bench.ceilings import synchronise
from reprise.bench.engines import build_model
from reprise.bench.gpu_peers import EagerSubsequences, EagerWindows, Library
from reprise.bench.operations import operations_of
from reprise.bench.task import LENGTH, Task
from reprise.bench.tensors import numpy_of, weights_of
from reprise.engines.rntn.subsequences import Subsequences
from reprise.kernels.stacked_subsequences import StackedSubsequences
from reprise.kernels.stacked_windows import StackedWindows
from reprise.models.gated import GRU, LSTM
from reprise.models.gated import initialise as initialise_gated
from reprise.models.rntn import RNTN, initialise

STACKS = {
    "called-1": (1, 1, False),
    "called-4": (1, 4, False),
    "graph-1": (1, 1, True),
    "graph-5": (1, gpu_lines.FOLDS, True),
    "graph-5x1": (gpu_lines.FOLDS, 1, True),
    "graph-8": (1, 8, True),
    "graph-32": (1, 32, True),
    "graph-4x8": (4, 8, True),
    "graph-sweep": (1, 0, True),
}
"""Stacks on streams of their own, replicas of each, and whether they are captured; 0 is a sweep."""

SWEEP = [(K, mapping) for mapping in ("f", "f_mod") for K in (1, 10, 30, 100, 300, 1000, 3000)] + [(10_000, "f")]
"""Document 001, Figure 1: the s-RNN family on the Penn Treebank; and of the gated networks the first four.

That of document 000 is in `gpu_lines`: its shapes differ, a stack each.
"""

_DEVIATION, _RANGE = 0.1**1.5, 0.05

BY_STEPS = {gpu_palindromes.Task: gpu_palindromes, gpu_books.Task: gpu_books, llrnn_task.Task: gpu_loglinear}
"""Tasks whose pieces are steps, and the modules of their implementations."""


def make(name: str, task: Any, device: torch.device) -> Any:
    """An implementation of a task; NotImplementedError where there is none, with the reason."""
    windows, lines = isinstance(task, gated_task.Task), isinstance(task, gso_task.Task)
    own = BY_STEPS.get(type(task))
    if own and name in ("eager", "library"):
        return (own.Eager if name == "eager" else own.Library)(task, device)
    if name == "eager":
        if lines:
            return gpu_lines.EagerLines(task, device)
        return EagerWindows(task, device) if windows else EagerSubsequences(task, device)
    if name == "library":
        if not windows:
            raise NotImplementedError("torch does not have this cell")
        return Library(task, device)
    stacks, replicas, capture = STACKS[name]
    if lines:
        found = gpu_lines.stacks_of(task, stacks, replicas)
        return Stacks([gpu_lines.LineStack(task, device, models, capture) for models in found])
    if name in ("graph-5", "graph-5x1"):
        raise NotImplementedError("five are the folds of document 000")
    if own:
        return Stacks([own.OneStack(task, device, own.models_of(task, replicas), capture) for _ in range(stacks)])
    models, kind = _models(task, replicas), WindowStack if windows else SubsequenceStack
    return Stacks([kind(task, device, models, capture) for _ in range(stacks)])


class Stacks:
    """Stacks at the same time. The first replica has the task's weights; losses are its own."""

    def __init__(self, stacks: list[Any]) -> None:
        self.stacks, self.warm, self.block = stacks, stacks[0].warm, stacks[0].block
        self.replicas = sum(one.stack.R for one in stacks)

    def train(self, first: int, last: int) -> float:
        """SGD on pieces first .. last-1; their summed loss in nats."""
        while first < last:
            # One after another in short stretches, so that all have something to do.
            end = min(last, *(one.piece_end(first) for one in self.stacks))
            for one in self.stacks:
                one.train(first, end)
            first = end
        return [one.stack.numbers(one.stack.take_losses()) for one in self.stacks][0][0]

    def train_called(self, piece: int) -> None:
        """A piece of the first stack without its graph."""
        programs = self.stacks[0].stack.programs
        before, programs.capture = programs.capture, False
        self.stacks[0].train(piece, piece + 1)
        programs.capture = before

    def not_captured(self, device: torch.device) -> str:
        """Why programs of a stack are called that should have become graphs, or ""."""
        all_programs = [one.stack.programs for one in self.stacks]
        trouble = next((programs.trouble for programs in all_programs if programs.trouble), "")
        if device.type == "cuda" and not all(programs.captured for programs in all_programs):
            return trouble or "no program of a stack came up twice"
        return trouble

    def parameters(self) -> dict[str, np.ndarray]:
        """Of the first replica, in the readable model's shapes."""
        return numpy_of(self.stacks[0].stack.export(0))


class SubsequenceStack:
    """Pieces are subsequences."""

    block = 1
    warm = 200

    def __init__(self, task: Task, device: torch.device, models: list[RNTN], capture: bool) -> None:
        R = len(models)
        self.stack = StackedSubsequences(models, ["sum"] * R, [task.dropout] * R, LENGTH, device, capture)
        self.text = self.stack.text(Subsequences(task.inputs, task.targets, task.offsets, task.reset))
        keys = [task.key, *(counters.key(r, 0) for r in range(1, R))]
        self.stack.begin([task.learning_rate] * R, keys)

    def piece_end(self, first: int) -> int:
        return self.text.piece_end(first, self.stack.capacity)

    def train(self, first: int, last: int) -> None:
        self.stack.train(self.text, first, last)


class WindowStack:
    """Pieces are windows."""

    block = 1
    warm = 4

    def __init__(self, task: gated_task.Task, device: torch.device, models: list[Any], capture: bool) -> None:
        R, (n, self.steps, B) = len(models), task.x.shape
        how = (["sum-steps"] * R, [task.dropout] * R, [task.clip_norm] * R)
        self.stack = StackedWindows(models, *how, self.steps, B, device, capture)
        self.text = self.stack.text(*(torch.from_numpy(w.reshape(n * self.steps, B)) for w in (task.x, task.y)))
        keys = [(counters.key(seed, 1), counters.key(seed, 2)) for seed in (task.key, *range(1000, 999 + R))]
        self.stack.begin([task.learning_rate] * R, keys)
        self.stack.reset(B)

    def piece_end(self, first: int) -> int:
        return first + 1

    def train(self, first: int, last: int) -> None:
        self.stack.train(self.text, first * self.steps, last * self.steps)


def _models(task: Any, replicas: int) -> list[Any]:
    """The task's model and others of its size, or those of a sweep."""
    workload = task.workload
    if isinstance(task, gated_task.Task):
        cell = {"gru": GRU, "lstm": LSTM}[workload.cell]
        first = gated_engines.build_model(task)
        if not replicas and workload.matrices == 1:
            raise NotImplementedError("one matrix is no sweep")
        others = [1, 10, 30] if not replicas else [workload.matrices] * (replicas - 1)
        sizes = workload.vocabulary, workload.embedding, workload.hidden
        models = [first, *(cell(*sizes, K) for K in others)]
        for seed, model in enumerate(models[1:], 2):
            initialise_gated(model, _RANGE, torch.Generator().manual_seed(seed))
        return models
    first = build_model(workload)
    first.load_state_dict(weights_of(task))
    others = SWEEP if not replicas else [(workload.matrices, "f")] * (replicas - 1)
    V, H = workload.vocabulary, workload.hidden
    models = [first, *(RNTN(V, H, min(K, V), mapping) for K, mapping in others)]
    for seed, model in enumerate(models[1:], 2):
        initialise(model, _DEVIATION, torch.Generator().manual_seed(seed))
    return models


def bytes_a_token(task: Any) -> float:
    """Bytes of the device's memory that a word of one replica costs at least, its share of a piece's.

    The softmax layer's weights are read forward and backward, read and written by the step; logits are written, turned
    into derivatives (read and written twice) and read twice. A clipped step besides writes a gradient of every
    parameter and reads it twice.
    """
    w = task.workload
    if type(task) in BY_STEPS:
        return BY_STEPS[type(task)].bytes_a_token(task)
    if isinstance(task, gso_task.Task):
        return gpu_lines.bytes_a_token(task)
    if isinstance(task, gated_task.Task):
        words = task.x.shape[1] * task.x.shape[2]
        parameters = sum(value.size for value in task.weights.values())
        return 4 * (7 * parameters / words + 7 * w.vocabulary)
    words = task.tokens(0, len(task)) / len(task)
    return 4 * (4 * w.hidden * w.vocabulary / words + 7 * w.vocabulary)


def kernels_of(work: Callable[[], None], device: torch.device) -> int | None:
    """Kernels that `work` launches on a GPU, as its profiler counts them; on a CPU the operations that would be."""
    if device.type == "cpu":
        return operations_of(work)
    from torch.profiler import ProfilerActivity, profile

    try:
        synchronise(device)
        with profile(activities=[ProfilerActivity.CUDA]) as found:
            work()
            synchronise(device)
        events = [event for event in found.events() if event.device_type.name == "CUDA"]
        # Where the driver keeps its counters to itself, the profiler sees nothing and does not say so.
        return sum(not event.name.startswith(("Memcpy", "Memset")) for event in events) or None
    except RuntimeError:  # where the profiler may not look
        return None
