"""Training on a GPU: the engine `stacked` with one replica, eight, and as many as memory holds, beside PyTorch's ways.

The tasks are those of the other benchmarks; where no GPU is visible the command says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from reprise.bench import gated, gso, loglinear, rntn, tasks
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
    """See `reprise.bench.Bench`."""
    return tasks.family_of(workload).make_task(workload, *rest)


def device() -> str:
    """`UserError` where torch has no GPU."""
    import torch

    if not torch.cuda.is_available():
        raise UserError("bench gpu: no GPU is visible to torch; run it on a machine that has one")
    return "cuda"


class Way(NamedTuple):
    """How a family trains in a stack: a protocol, its options, and what a replica does with pieces first .. last-1."""

    protocol: str
    options: dict[str, Any]
    train: Callable[[Any, int, int], float]


def _rntn(task: rntn.Task) -> Way:
    from reprise.engines.rntn import Subsequences

    data = Subsequences(task.inputs, task.targets, task.offsets, task.reset)
    how = {"learning_rate": task.learning_rate, "reduction": "sum", "dropout": task.dropout, "key": task.key}
    train = lambda member, first, last: member.train(data.slice(first, last), **how)  # noqa: E731
    return Way("subsequence-sgd", {"loss_reduction": "sum"}, train)


def _gated(task: gated.Task) -> Way:
    x, y = tasks.words_of(task)
    how = {"learning_rate": task.learning_rate, "reduction": "sum-steps", "clip_norm": task.clip_norm}

    def train(member: Any, first: int, last: int) -> float:
        if not member.state:
            member.reset(x.shape[2])
        return sum(member.train(x[i], y[i], task.masks(i), **how) for i in range(first, last))

    return Way("batched-sgd", {"loss_reduction": "sum-steps", "clip_norm": task.clip_norm}, train)


def _gso(task: gso.Task) -> Way:
    from reprise.engines.gso.packing import pack

    batches = pack(task.lines, task.training, gso.BATCH)

    def train(member: Any, first: int, last: int) -> float:
        return sum(member.update(batches[i], "mean-tokens", task.learning_rate) for i in range(first, last))

    return Way("line-epochs", {"epsilon": task.epsilon}, train)


def _loglinear(task: loglinear.Task) -> Way:
    x, y = tasks.words_of(task)
    train = lambda member, first, last: sum(member.train(x[i], y[i], **task.rates) for i in range(first, last))  # noqa: E731
    return Way("windows", {"optimiser": "rmsprop", "rho": task.rho, "epsilon": task.epsilon}, train)


WAYS = {rntn: _rntn, gated: _gated, gso: _gso, loglinear: _loglinear}


class Stacked(tasks.Implementation):
    """`replicas` copies of the task in one stack; 0 for as many, by doubling, as train a piece in memory."""

    def __init__(self, task: Any, replicas: int) -> None:
        family = tasks.family_of(task)
        self.way = WAYS[family](task)
        self.model = family.build_model(task if family is loglinear else task.workload)
        self.model.load_state_dict(tasks.weights_of(task))
        self.replicas = replicas or self._most()
        self._make(self.replicas)

    def _make(self, replicas: int) -> None:
        import torch

        from reprise.engines.stack import Stack, join

        self.stack = Stack(torch.device(device()))
        self.members = [join(self.stack, self.way.protocol, self.model, self.way.options) for _ in range(replicas)]

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
        del self.stack, self.members
        torch.cuda.empty_cache()
        return fits

    def train(self, first: int, last: int) -> float:
        """All replicas train on the pieces; the summed loss of one."""
        losses = self.stack.advance([_Replica(partial(self.way.train, one, first, last)) for one in self.members])
        if isinstance(losses[0], BaseException):
            raise losses[0]
        return losses[0]

    def parameters(self) -> dict[str, np.ndarray]:
        """Those of one replica, in the readable model's shapes."""
        return tasks.numpy_of(self.members[0].export())


class _Replica(NamedTuple):
    """What a stack advances."""

    advance: Callable[[], float]


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
    """A peer of the task's family with all its tensors on the GPU, moved in place: optimisers keep their parameters."""
    import torch

    made = getattr(import_module(tasks.family_of(task).__name__.replace("bench", "bench.peers")), name)(task)

    def move(value: Any) -> None:
        if isinstance(value, torch.Tensor):
            value.data = value.data.to(on)
        elif isinstance(value, torch.nn.Module):
            value.to(on)
        elif isinstance(value, (dict, list, tuple)):
            for one in value.values() if isinstance(value, dict) else value:
                move(one)

    on = device()
    move({name: value for name, value in vars(made).items() if name != "lengths"})  # torch packs by those of a CPU
    return made


one, eight, most = (partial(Stacked, replicas=replicas) for replicas in (1, 8, 0))
