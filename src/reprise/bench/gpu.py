"""Training of document 001's gated language models on a GPU: one replica, eight, and as many as memory holds.

The tasks are those of `gated`. Never run on a GPU; where none is visible the command says so.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from reprise.bench import gated, tasks
from reprise.bench.gated import WORKLOADS, Task, Workload, expected, make_task
from reprise.errors import UserError

__all__ = ["GOALS", "ON_GPU", "SHOWN", "WORKLOADS", "Stacked", "Task", "Workload", "expected", "make_task"]

ON_GPU = True
"""The peak of a core says nothing of these speeds."""
GOALS: tuple[Any, ...] = ()
SHOWN: tuple[Any, ...] = ()
MOST = 256
"""Replicas that are tried at most."""


def device() -> str:
    """`UserError` where torch has no GPU."""
    import torch

    if not torch.cuda.is_available():
        raise UserError("bench gpu: no GPU is visible to torch; run it on a machine that has one")
    return "cuda"


class Stacked(tasks.Implementation):
    """`replicas` copies of the task in one stack; 0 for as many, by doubling, as train a window in memory."""

    def __init__(self, task: Task, replicas: int, on: str | None = None) -> None:
        self.task, self.on = task, on or device()
        self.x, self.y = tasks.words_of(task)
        self.replicas = replicas or self._most()
        self._make(self.replicas)

    def _make(self, replicas: int) -> None:
        import torch

        from reprise.engines.stack import Stack, join

        model = gated.build_model(self.task.workload)
        model.load_state_dict(tasks.weights_of(self.task))
        self.stack = Stack(torch.device(self.on))
        options = {"loss_reduction": "sum-steps", "clip_norm": self.task.clip_norm}
        self.members = [join(self.stack, "batched-sgd", model, options) for _ in range(replicas)]
        for member in self.members:
            member.reset(self.task.x.shape[2])

    def _most(self) -> int:
        import torch

        from reprise.engines.stack import OutOfMemory

        fits, more = 1, 2
        while more <= MOST:
            try:
                self._make(more)
                self.step(0)
            except OutOfMemory:
                break
            fits, more = more, 2 * more
        del self.stack, self.members
        torch.cuda.empty_cache()
        return fits

    def step(self, window: int) -> float:
        """All replicas train on the window; the summed loss of one."""
        masks = tuple(mask.to(self.on) for mask in self.task.masks(window))
        how = {"learning_rate": self.task.learning_rate, "reduction": "sum-steps", "clip_norm": self.task.clip_norm}
        replicas = [_Replica(member, (self.x[window], self.y[window], masks), how) for member in self.members]
        losses = self.stack.advance(replicas)
        return losses[0]

    def parameters(self) -> dict[str, np.ndarray]:
        """Those of one replica, in the readable model's shapes."""
        return tasks.numpy_of(self.members[0].export())


class _Replica:
    """What a stack advances."""

    def __init__(self, kernel: Any, batch: tuple[Any, ...], how: dict[str, Any]) -> None:
        self.kernel, self.batch, self.how = kernel, batch, how

    def advance(self) -> float:
        return self.kernel.train(*self.batch, **self.how)


class Compiled(gated.Engine):
    """The readable model on the GPU, compiled by torch (`reduce-overhead`, which captures CUDA graphs)."""

    def __init__(self, task: Task) -> None:
        import torch

        super().__init__(task, "reference", on=device())
        self.kernel.model.forward = torch.compile(self.kernel.model.forward, mode="reduce-overhead")


def eager(task: Task) -> gated.Engine:
    """The readable model with autograd, on the GPU."""
    return gated.Engine(task, "reference", on=device())


def cudnn(task: Task) -> tasks.Implementation:
    """`nn.LSTM` on the GPU."""
    from reprise.bench.peers.gated import Library

    return Library(task, on=device())


one = partial(Stacked, replicas=1)
eight = partial(Stacked, replicas=8)
most = partial(Stacked, replicas=0)
