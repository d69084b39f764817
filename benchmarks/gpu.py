"""Training on a GPU: the engine `stacked` with one replica, eight, and as many as memory holds, beside PyTorch's ways.

The tasks are those of the other benchmarks; where no GPU is visible the command says so.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import gated, gso, loglinear, rntn, tasks
from reprise.errors import UserError

ON_GPU = True
"""The peak of a core says nothing of these speeds."""
GOALS: tuple[Any, ...] = ()
TABLE_ROWS: tuple[Any, ...] = ()
MAX_REPLICAS = 256
"""Replicas that are tried at most."""

FIRST = ("r-lstm-254-k100", "ptb-h100-k100", "full-394", "m2500-b32")
"""One of each family comes first: a budget of four minutes is enough for these."""
_OTHERS = ("r-gru-244-k100", "gru-650", "lstm-650", "ptb-h100-k1", "ptb-h100-k10000", "first-order-680", "softmax-b32")
_WORKLOADS_BY_NAME = {w.name: w for some in (gated, rntn, gso, loglinear) for w in some.WORKLOADS}
WORKLOADS = tuple(_WORKLOADS_BY_NAME[name] for name in (*FIRST, *_OTHERS))


PIECES = {gated: 3, rntn: 10 * rntn.BLOCK, gso: 2, loglinear: 6}
"""So many pieces of text are enough: the readable model has to compute them on a core first, in double precision."""


def make_task(workload: Any, folder: Path) -> tuple[Any, dict[str, Any]]:
    """See `benchmarks.BENCHES`."""
    family = tasks.find_family(workload)
    return family.make_task(workload, folder, PIECES[family])


def find_device() -> str:
    """Return the name of the device; `UserError` where torch has no GPU."""
    import torch

    if not torch.cuda.is_available():
        raise UserError("gpu: no GPU is visible to torch; run it on a machine that has one")
    return "cuda"


class Stacked(tasks.Implementation):
    """`replicas` copies of the task in one stack; 0 for as many, by doubling, as train a piece in memory.

    `device` is where it trains, by default the GPU.
    """

    def __init__(self, task: Any, replicas: int, device: str | None = None) -> None:
        self.task, self.family, self.model = task, tasks.find_family(task), tasks.make_readable_model(task)
        self.device = device or find_device()
        self.replicas = replicas or self._find_most_replicas()
        self._make_engines(self.replicas)

    def _make_engines(self, replicas: int) -> None:
        import torch

        from reprise.engines.stack import Stack

        self.stack = self.engines = None  # before the next ones are made, so that both need not fit
        if self.device != "cpu":
            torch.cuda.empty_cache()
        self.stack = Stack(torch.device(self.device))
        members = [self.family.make_member(self.stack, self.model) for _ in range(replicas)]
        self.engines = [self.family.Engine(self.task, "stacked", member=member) for member in members]

    def _find_most_replicas(self) -> int:
        from reprise.engines.stack import OutOfMemory

        most, replicas = 1, 2
        while replicas <= MAX_REPLICAS:
            try:
                self._make_engines(replicas)
                self.train(0, 1)
            except OutOfMemory:
                break
            most, replicas = replicas, 2 * replicas
        return most

    def train(self, first: int, last: int) -> float:
        """Train all replicas on the pieces; return the summed loss of one."""
        rounds = zip(*(engine.make_calls(first, last) for engine in self.engines), strict=True)
        return sum(self.stack.compute_requests(requests)[0] for requests in rounds)

    def parameters(self) -> dict[str, np.ndarray]:
        """Return the parameters of one replica, in the readable model's shapes."""
        return self.engines[0].parameters()


def make_eager(task: Any) -> tasks.Implementation:
    """Make the readable model with autograd, on the GPU."""
    return tasks.find_family(task).Engine(task, "reference", device=find_device())


def make_compiled(task: Any) -> tasks.Implementation:
    """Make what torch compiles: the readable model of a gated network, else the peer of the family."""
    import torch

    family = tasks.find_family(task)
    if family is gated:
        implementation = make_eager(task)
        model = implementation.engine.model
        model.forward = compile_forward(model.forward)
        return implementation
    if family is loglinear:
        implementation = make_peer(task, "Dense" if task.workload.top else "Eager")
        implementation.loss = torch.compile(implementation.loss)
        return implementation
    return make_peer(task, "CompiledRows" if family is rntn else "Compiled")


def compile_forward(forward: Callable[..., tuple[Any, tuple[Any, ...]]]) -> Callable[..., Any]:
    """Compile a forward pass whose last state the next one reads, with CUDA graphs.

    A graph's outputs lie in its own memory, which the next step overwrites. So each step is marked, and its state
    copied.
    """
    import torch

    compiled = torch.compile(forward, mode="reduce-overhead")

    def step(*arguments: Any) -> tuple[Any, tuple[Any, ...]]:
        torch.compiler.cudagraph_mark_step_begin()
        logits, state = compiled(*arguments)
        return logits, tuple(part.clone() for part in state)

    return step


def make_cudnn(task: Any) -> tasks.Implementation:
    """Make `nn.LSTM` or `nn.RNN`, where it computes the same; NotImplementedError elsewhere."""
    if tasks.find_family(task) in (rntn, loglinear):
        raise NotImplementedError("cuDNN does not have this network")
    return make_peer(task, "Library")


def make_peer(task: Any, name: str) -> Any:
    """Make a peer of the task's family, its tensors on the GPU: they are made there unless they say otherwise."""
    import torch

    peers = import_module(tasks.find_family(task).__name__.replace("benchmarks", "benchmarks.peers"))
    with torch.device(find_device()):
        return getattr(peers, name)(task)


one, eight, most = (partial(Stacked, replicas=replicas) for replicas in (1, 8, 0))
