"""Training on a GPU: the engine `stacked` with one replica, eight, and as many as memory holds, beside PyTorch's ways.

The tasks are those of the other benchmarks; where no GPU is visible the command says so.
"""

from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks import gated, gso, loglinear, rntn, tasks
from reprise.errors import UserError

ON_GPU = True
"""The peak of a core says nothing of these speeds."""
GOALS: tuple[Any, ...] = ()
SHOWN: tuple[Any, ...] = ()
MOST = 256
"""Replicas that are tried at most."""

_NAMES = ("ptb-h100-k1", "ptb-h100-k100", "ptb-h100-k10000", "full-394", "first-order-680", "m2500-b32", "softmax-b32")
WORKLOADS = gated.WORKLOADS + tuple(w for some in (rntn, gso, loglinear) for w in some.WORKLOADS if w.name in _NAMES)


def make_task(workload: Any, *rest: Any) -> tuple[Any, dict[str, Any]]:
    """See `benchmarks.BENCHES`."""
    return tasks.family_of(workload).make_task(workload, *rest)


def device() -> str:
    """`UserError` where torch has no GPU."""
    import torch

    if not torch.cuda.is_available():
        raise UserError("gpu: no GPU is visible to torch; run it on a machine that has one")
    return "cuda"


class Stacked(tasks.Implementation):
    """`replicas` copies of the task in one stack; 0 for as many, by doubling, as train a piece in memory."""

    def __init__(self, task: Any, replicas: int) -> None:
        self.task, self.family, self.model = task, tasks.family_of(task), tasks.readable(task)
        self.replicas = replicas or self._most()
        self._make(self.replicas)

    def _make(self, replicas: int) -> None:
        import torch

        from reprise.engines.stack import Stack

        self.stack = Stack(torch.device(device()))
        members = [self.family.make_member(self.stack, self.model) for _ in range(replicas)]
        self.engines = [self.family.Engine(self.task, "stacked", member=member) for member in members]

    def _most(self) -> int:
        import torch

        from reprise.engines.stack import OutOfMemory

        fits, more = 1, 2
        while more <= MOST:
            try:
                self._make(more)
                self.train(0, 1)
            except OutOfMemory:
                break
            fits, more = more, 2 * more
        del self.stack, self.engines
        torch.cuda.empty_cache()
        return fits

    def train(self, first: int, last: int) -> float:
        """All replicas train on the pieces; the summed loss of one."""
        rounds = zip(*(engine.calls(first, last) for engine in self.engines), strict=True)
        return sum(self.stack.answer(requests)[0] for requests in rounds)

    def parameters(self) -> dict[str, np.ndarray]:
        """Those of one replica, in the readable model's shapes."""
        return self.engines[0].parameters()


def eager(task: Any) -> tasks.Implementation:
    """The readable model with autograd, on the GPU."""
    return tasks.family_of(task).Engine(task, "reference", on=device())


def compiled(task: Any) -> tasks.Implementation:
    """What torch compiles: the readable model of a gated network, else the peer of the family."""
    import torch

    family = tasks.family_of(task)
    if family is gated:
        engine = eager(task)
        engine.kernel.model.forward = torch.compile(engine.kernel.model.forward, mode="reduce-overhead")
        return engine
    if family is loglinear:
        made = peer(task, "Dense" if task.workload.top else "Eager")
        made.loss = torch.compile(made.loss)
        return made
    return peer(task, "CompiledRows" if family is rntn else "Compiled")


def cudnn(task: Any) -> tasks.Implementation:
    """`nn.LSTM` and `nn.RNN`, where they compute the same."""
    if tasks.family_of(task) in (rntn, loglinear):
        raise NotImplementedError("cuDNN does not have this network")
    return peer(task, "Library")


def peer(task: Any, name: str) -> Any:
    """A peer of the task's family, its tensors on the GPU: they are made there unless they say otherwise."""
    import torch

    peers = import_module(tasks.family_of(task).__name__.replace("benchmarks", "benchmarks.peers"))
    with torch.device(device()):
        return getattr(peers, name)(task)


one, eight, most = (partial(Stacked, replicas=replicas) for replicas in (1, 8, 0))
