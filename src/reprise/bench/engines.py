"""Reprise's engines as implementations to be timed."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from reprise.bench.task import Task, Workload
from reprise.bench.tensors import numpy_of, weights_of
from reprise.engines.rntn import choose_engine
from reprise.engines.rntn.subsequences import Subsequences
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN

torch.set_num_threads(1)


class Engine:
    """The engine called `name` on a task, in the way the training protocol calls it."""

    block = 1

    def __init__(self, task: Task, name: str) -> None:
        self.task = task
        self.data = Subsequences(task.inputs, task.targets, task.offsets, task.reset)
        model = build_model(task.workload)
        model.load_state_dict(weights_of(task))
        self.engine = choose_engine(name, model)

    def train(self, first: int, last: int) -> float:
        """SGD on subsequences first .. last-1; their summed loss in nats."""
        return self.engine.train(
            self.data.slice(first, last),
            learning_rate=self.task.learning_rate,
            reduction="sum",
            dropout=self.task.dropout,
            key=self.task.key,
        )

    def parameters(self) -> dict[str, np.ndarray]:
        """In the readable model's shapes."""
        return numpy_of(self.engine.export())


def build_model(workload: Workload) -> nn.Module:
    """The readable model, its parameters zero."""
    if workload.factors:
        return MRNN(workload.vocabulary, workload.hidden, workload.factors)
    return RNTN(workload.vocabulary, workload.hidden, workload.matrices)


def fused(task: Task) -> Engine:
    return Engine(task, "fused")
