"""What stacks are set against on a GPU: the readable models with autograd, and torch's own LSTM (cuDNN)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from reprise.bench import gated_engines, gated_task
from reprise.bench.engines import build_model
from reprise.bench.task import Task
from reprise.bench.tensors import numpy_of, weights_of, words_of
from reprise.engines.gated import choose as gated
from reprise.engines.rntn.reference import ReferenceEngine
from reprise.engines.rntn.subsequences import Subsequences


class EagerSubsequences:
    """The readable model, a step a subsequence."""

    replicas = block = 1
    warm = 30
    remark = "waits for the device in every subsequence: two copies of words out of pageable memory, and the loss read"

    def __init__(self, task: Task, device: torch.device) -> None:
        self.task, self.data = task, Subsequences(task.inputs, task.targets, task.offsets, task.reset)
        model = build_model(task.workload)
        model.load_state_dict(weights_of(task))
        self.engine = ReferenceEngine(model.to(device))

    def train(self, first: int, last: int) -> float:
        """SGD on subsequences first .. last-1; their summed loss in nats."""
        task = self.task
        how = {"learning_rate": task.learning_rate, "reduction": "sum", "dropout": task.dropout, "key": task.key}
        return self.engine.train(self.data.slice(first, last), **how)

    def train_called(self, piece: int) -> None:
        self.train(piece, piece + 1)

    def parameters(self) -> dict[str, np.ndarray]:
        return numpy_of(self.engine.export())


class EagerWindows:
    """The readable gated model, a step a window; the masks are made beforehand."""

    replicas = block = 1
    warm = 3

    def __init__(self, task: gated_task.Task, device: torch.device) -> None:
        self.task = task
        self.x, self.y = (words.to(device) for words in words_of(task))
        self.masks = [tuple(m.to(device) for m in gated_engines.masks(task, w)) for w in range(len(task))]
        self.kernel = gated.ReferenceEngine(gated_engines.build_model(task).to(device))
        self.kernel.reset(task.x.shape[2])

    def train(self, first: int, last: int) -> float:
        """SGD on windows first .. last-1; their summed loss in nats."""
        how = {"learning_rate": self.task.learning_rate, "clip_norm": self.task.clip_norm, "reduction": "sum-steps"}
        return sum(self.kernel.train(self.x[w], self.y[w], self.masks[w], **how) for w in range(first, last))

    def train_called(self, piece: int) -> None:
        self.train(piece, piece + 1)

    def parameters(self) -> dict[str, np.ndarray]:
        return numpy_of(self.kernel.export())


class Library(gated_engines.Library):
    """`nn.LSTM` with autograd on a device, for K = 1: cuDNN on a GPU. The masks are made beforehand."""

    replicas = 1
    warm = 3

    def __init__(self, task: gated_task.Task, device: torch.device) -> None:
        super().__init__(task)
        self.x, self.y, self.lstm = self.x.to(device), self.y.to(device), self.lstm.to(device)
        self.p = {name: value.detach().to(device).requires_grad_() for name, value in self.p.items()}
        self.trained = [*self.p.values(), *(p for p in self.lstm.parameters() if p.requires_grad)]
        self.state = tuple(s.to(device) for s in self.state)
        self.made = [tuple(m.to(device) for m in gated_engines.masks(task, w)) for w in range(len(task))]

    def masks(self, window: int) -> tuple[Tensor, Tensor]:
        return self.made[window]

    def train_called(self, piece: int) -> None:
        self.train(piece, piece + 1)

    def parameters(self) -> dict[str, np.ndarray]:
        on_cpu = Library.__new__(Library)
        on_cpu.task, on_cpu.lstm = self.task, self.lstm.cpu()
        on_cpu.p = {name: value.detach().cpu() for name, value in self.p.items()}
        found = {k: np.array(v) for k, v in gated_engines.Library.parameters(on_cpu).items()}
        self.lstm.to(self.x.device)
        return found
