"""Reprise's engines of document 000's networks as implementations to be timed, and its whole epochs."""

from __future__ import annotations

import numpy as np
import torch

from reprise.bench.gso_task import BATCH, Task, Workload
from reprise.bench.tensors import weights_of
from reprise.engines.gso.choose import choose_packed_engine
from reprise.engines.gso.packing import pack
from reprise.models.gso import GSO, FirstOrder, MultiplicativeIntegration, SymbolModel
from reprise.training.protocols.gso import LineEpochs

torch.set_num_threads(1)


def build_model(w: Workload) -> SymbolModel:
    """The readable model, its parameters zero."""
    if w.model == "gso":
        return GSO(w.vocabulary, w.hidden, w.second_order, w.first_order, w.first_order, "tanh")
    if w.model == "first-order":
        return FirstOrder(w.vocabulary, w.hidden, "tanh")
    return MultiplicativeIntegration(w.vocabulary, w.hidden, "tanh", "general")


def with_weights(task: Task) -> SymbolModel:
    """The readable model with the task's weights."""
    model = build_model(task.workload)
    model.load_state_dict(weights_of(task))
    return model


class Engine:
    """The engine called `name` in the way the training protocol calls it, on batches that are packed already."""

    def __init__(self, task: Task, name: str, model: SymbolModel | None = None) -> None:
        self.block = len(task)
        self.batches = pack(task.lines, task.training, BATCH)
        self.model = model or with_weights(task)
        self.kernel = choose_packed_engine(name, self.model)
        rate, epsilon = task.learning_rate, task.epsilon
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=rate, eps=epsilon, fused=True)

    def train(self, first: int, last: int) -> float:
        """Adam on batches first .. last-1; their summed loss in nats."""
        total = 0.0
        for i in range(first, last):
            total += self.kernel.train(self.batches[i], "mean-tokens")
            self.optimiser.step()
        return total

    def parameters(self) -> dict[str, np.ndarray]:
        """In the readable model's shapes."""
        return {name: value.numpy().copy() for name, value in self.model.state_dict().items()}


class Epochs:
    """Whole epochs of the training protocol: order, packing, training, validation, the best parameters kept.

    The first call, which is checked, trains on the task's own batches.
    """

    def __init__(self, task: Task) -> None:
        self.block, self.task = len(task), task
        self.first = Engine(task, "auto")
        self.training: LineEpochs | None = None

    def train(self, first: int, last: int) -> float:
        """One epoch, whatever its numbers; the summed loss of its training lines in nats."""
        if self.training is None:
            self.training = LineEpochs(_protocol(self.task.workload), 0, self.task.corpus, "auto", torch.device("cpu"))
            return self.first.train(first, last)
        epoch = self.training.epoch
        while self.training.epoch == epoch:
            self.training.advance()
        return self.training.history[-1]["train"] * self.training.training_tokens

    def parameters(self) -> dict[str, np.ndarray]:
        """After the first call."""
        return self.first.parameters()


def _protocol(w: Workload) -> dict:
    """The configuration of an experiment like the workload, without an end."""
    start = {"hidden_size": w.hidden, "activation": "tanh", "matrix_law": "orthogonal"}
    bias = "f" if w.model == "gso" else "b"
    start |= {f"{bias}_law": "normal", f"{bias}_std": 0.1}
    if w.model == "gso":
        start |= {"second_order_size": w.second_order, "input_term": w.first_order, "recurrent_term": w.first_order}
    if w.model == "mi-rnn":
        start |= {"form": "general", "alpha": 1.0, "beta_1": 0.5, "beta_2": 0.5}
    training = {
        "batch_size": BATCH,
        "optimiser": "adam",
        "learning_rate": 0.001,
        "clip_norm": 0.0,
        "max_epochs": 10**9,
        "loss_reduction": "mean-tokens",
        "selection": "best-valid",
    }
    return {"model": {"name": w.model, "options": start}, "training": {"options": training}, "precision": "float32"}


def fused(task: Task) -> Engine:
    return Engine(task, "fused")
