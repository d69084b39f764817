"""Document 000's networks for `bench gpu`: stacks of folds, and beside them the eager loop on padded batches.

Replicas of a stack read the same lines, each in batches of its own, as folds do: what their different lengths cost is
in the numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from reprise.bench import gso, gso_peers
from reprise.bench.gso_engines import build_model, with_weights
from reprise.bench.gso_task import BATCH, Task, Workload
from reprise.kernels.stacked_batches import LineBatches
from reprise.kernels.stacked_lines import Room, StackedLines
from reprise.models.gso import GSO, SymbolModel
from reprise.models.gso_start import initialise
from reprise.models.sizes import RATIOS, gso_sizes

BATCHES = 4
FOLDS = 5

expected = gso.expected


def make_task(workload: Workload, folder: Path) -> tuple[Task, dict[str, Any]]:
    """As `gso.make_task`, of fewer batches."""
    return gso.make_task(workload, folder, BATCHES)


class LineStack:
    """Pieces are batches; the first replica reads the task's, and has its weights."""

    warm = 2  # what a batch does once is called in the first and captured in the second

    def __init__(self, task: Task, device: torch.device, models: list[SymbolModel], capture: bool) -> None:
        R, self.block = len(models), len(task)
        orders = [task.training, *(np.random.default_rng(r).permutation(task.training) for r in range(1, R))]
        self.text = LineBatches(task.lines, orders, BATCH, ["mean-tokens"] * R)
        room = Room(BATCH, len(self.text), int(self.text.lengths.max()), part=1)
        self.stack = StackedLines(models, task.lines.tokens, [0.0] * R, room, device, capture)
        self.stack.begin([task.learning_rate] * R, task.epsilon)
        self.stack.enter(self.text)

    def piece_end(self, first: int) -> int:
        return first + 1

    def train(self, first: int, last: int) -> None:
        self.stack.train(self.text, first, last)


def stacks_of(task: Task, stacks: int, replicas: int) -> list[list[SymbolModel]]:
    """The models of each stack: the task's and others of its size, or (0 replicas) Figure 1: the folds of every ratio.

    NotImplementedError where the model has no ratio.
    """
    if replicas:
        return [_alike(task, with_weights(task), replicas) for _ in range(stacks)]
    w = task.workload
    if w.model != "gso" or w.first_order or w.hidden != w.second_order:
        raise NotImplementedError("the sweep is Figure 1's, over |m|/|h|")
    first = with_weights(task)
    budget = sum(p.numel() for p in first.parameters())
    sizes = [gso_sizes(ratio, w.vocabulary, False, False, budget) for ratio in RATIOS if ratio != "1"]
    others = [_started(GSO(w.vocabulary, h, m, False, False, "tanh"), 0) for h, m in sizes]
    return [_alike(task, model, FOLDS) for model in (first, *others)]


def _alike(task: Task, first: SymbolModel, replicas: int) -> list[SymbolModel]:
    """`first`, and others of its size."""
    w = task.workload
    models = [first]
    for seed in range(2, replicas + 1):
        same = w.model != "gso" or first.hidden == w.hidden
        like = build_model(w) if same else GSO(w.vocabulary, first.hidden, first.second_order, False, False, "tanh")
        models.append(_started(like, seed))
    return models


def _started(model: SymbolModel, seed: int) -> SymbolModel:
    multipliers = {"alpha": 1.0, "beta_1": 0.5, "beta_2": 0.5}
    initialise(model, torch.Generator().manual_seed(seed), "orthogonal", "normal", 0.1, multipliers)
    return model


class EagerLines(gso_peers.Eager):
    """The loop of `gso_peers.Eager` on a device."""

    replicas = 1
    warm = 1

    def __init__(self, task: Task, device: torch.device) -> None:
        super().__init__(task, device)
        self.block = 1  # its tokens are counted batch by batch, those of a stack by rounds of all batches

    def train_called(self, piece: int) -> None:
        self.train(piece, piece + 1)


def bytes_a_token(task: Task) -> float:
    """Bytes of the device's memory that a token of one replica costs at least, its share of a step's and a batch's.

    Every step reads the matrices between states forward and backward; states, products and the derivatives by them are
    written and read once; logits are written, turned into derivatives (read and written twice) and read twice. A step
    of Adam writes a gradient, and reads and writes it, both moments and the parameters.
    """
    w, tokens = task.workload, task.tokens(0, len(task))
    between = (2 * w.hidden * w.second_order + w.first_order * w.hidden**2) if w.second_order else w.hidden**2
    rows = 4 * (w.hidden + w.second_order) + 7 * w.vocabulary
    parameters = sum(value.size for value in task.weights.values())
    return 4 * (2 * between / lines_a_step(task) + rows + 8 * parameters * len(task) / tokens)


def lines_a_step(task: Task) -> float:
    """Lines that are read at the same time, on average over the steps of the task's batches."""
    steps = sum(int(task.lengths(i, i + 1).max()) for i in range(len(task)))
    return task.tokens(0, len(task)) / steps
