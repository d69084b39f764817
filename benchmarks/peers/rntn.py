"""The batch-1 models as a PyTorch user would train them: eager, with sparse gradients, compiled.

All gather each word's rows once a subsequence. The naive loops are left out: a matrix chosen inside the loop, `x[t]`
instead of `unbind`. Their backward passes make a whole tensor of zeros at every step.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.rntn import Task
from benchmarks.tasks import Implementation, convert_to_numpy, make_weight_tensors


def read_words(
    rows: Mapping[str, Tensor], shared: Mapping[str, Tensor], h: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor]:
    """Compute logits (T, V) and states h_1 .. h_T (T, H), from the rows of each word and what all words share."""
    H, inputs, states = len(h), rows["W_h"] + (rows["b_h"] if "b_h" in rows else shared["b_h"]), []
    if "v" in rows:
        own = rows["v"].unbind()
    elif "U_h" in rows:
        own = rows["U_h"].view(-1, H, H).unbind()
    else:
        own = [shared["U_h"].view(H, H)] * len(inputs)
    for e, factor in zip(inputs.unbind(), own, strict=True):
        matrix, vector = (shared["U_l"], factor * (shared["U_r"] @ h)) if "v" in rows else (factor, h)
        h = torch.sigmoid(torch.addmv(e, matrix, vector))
        states.append(h)
    hidden = torch.stack(states)
    return functional.linear(hidden * mask, shared["W_o"], shared["b_o"]), hidden


class Peer(Implementation):
    """The state, and parameters whose tables are (rows, columns), so that `embedding` takes them.

    `prepare()` makes of the task what the peer takes.
    """

    def __init__(self, task: Task) -> None:
        self.task, self.tables, self.p = task, task.workload.tables, {}
        for name, tensor in make_weight_tensors(task).items():
            flat = name in self.tables or name == "U_h"
            self.p[name] = (tensor.flatten(1) if flat else tensor).requires_grad_()
        self.h = torch.zeros(task.workload.hidden)
        self.optimiser = torch.optim.SGD(self.p.values(), lr=task.learning_rate)
        self.prepare()

    def index_rows(self, x: Tensor) -> dict[str, Tensor]:
        """Return which row of each table each word uses: min(rank, K) for recurrence matrices."""
        matrix = x.clamp(max=self.task.workload.matrices - 1)
        return {name: x if kind == "word" else matrix for name, kind in self.tables.items()}

    def gather_parts(
        self, p: Mapping[str, Tensor], x: Tensor, **keywords: bool
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Return the rows of the words x (T,), and what all words share."""
        rows = {name: functional.embedding(k, p[name], **keywords) for name, k in self.index_rows(x).items()}
        return rows, {name: value for name, value in p.items() if name not in self.tables}

    def parameters(self) -> dict[str, np.ndarray]:
        return {name: value.reshape(self.task.weights[name].shape) for name, value in convert_to_numpy(self.p).items()}

    def get_state(self, i: int) -> Tensor:
        return torch.zeros_like(self.h) if self.task.reset[i] else self.h


class Eager(Peer):
    """Autograd and `torch.optim.SGD`."""

    sparse = False

    def prepare(self) -> None:
        self.x, self.y = (torch.as_tensor(a).long() for a in (self.task.inputs, self.task.targets))
        self.masks, self.offsets = torch.as_tensor(self.task.masks), self.task.offsets.tolist()

    def step(self, i: int) -> float:
        words = slice(self.offsets[i], self.offsets[i + 1])
        rows, shared = self.gather_parts(self.p, self.x[words], sparse=self.sparse)
        logits, states = read_words(rows, shared, self.get_state(i), self.masks[words])
        loss = functional.cross_entropy(logits, self.y[words], reduction="sum")
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        self.h = states[-1].detach()
        return loss.item()


class EagerSparse(Eager):
    """The same with sparse gradients of the tables."""

    sparse = True


class Compiled(Peer):
    """torch.compile, for one length: shorter subsequences are filled up and weighted.

    Loss and optimiser are compiled, and gradients are of whole tables.
    """

    def prepare(self) -> None:
        inputs, targets, masks, weights, last, _ = map(torch.as_tensor, self.task.pad())
        self.pieces = inputs.long(), targets.long(), masks, weights, last.long()
        self.loss = torch.compile(self.compute_dense_loss, fullgraph=True, dynamic=False)
        self.update = torch.compile(self.optimiser.step)

    def compute_dense_loss(self, p: dict[str, Tensor], x: Tensor, *rest: Tensor) -> tuple[Tensor, Tensor]:
        return compute_weighted_loss(*self.gather_parts(p, x), *rest)

    def compute_step(self, *pieces: Tensor) -> tuple[Tensor, Tensor]:
        self.optimiser.zero_grad()
        loss, h = self.loss(self.p, *pieces)
        loss.backward()
        self.update()
        return loss.detach(), h.detach()

    def step(self, i: int) -> float:
        x, y, *rest = (part[i] for part in self.pieces)
        loss, self.h = self.compute_step(x, y, self.get_state(i), *rest)
        return loss.item()


class CompiledRows(Compiled):
    """The whole step compiled as one, with gradients of the gathered rows instead of the tables."""

    def prepare(self) -> None:
        super().prepare()
        self.p = {name: value.detach() for name, value in self.p.items()}
        self.whole = torch.compile(self.update_rows, fullgraph=True, dynamic=False)

    def compute_step(self, *pieces: Tensor) -> tuple[Tensor, Tensor]:
        return self.whole(self.p, *pieces)

    def update_rows(self, p: dict[str, Tensor], x: Tensor, *rest: Tensor) -> tuple[Tensor, Tensor]:
        rate, numbers = self.task.learning_rate, self.index_rows(x)
        gradient = torch.func.grad_and_value(compute_weighted_loss, argnums=(0, 1), has_aux=True)
        (row_gradients, shared_gradients), (loss, h) = gradient(*self.gather_parts(p, x), *rest)
        for name, value in shared_gradients.items():
            p[name].sub_(value, alpha=rate)
        for name, value in row_gradients.items():
            p[name].index_add_(0, numbers[name], value, alpha=-rate)
        return loss, h


def compute_weighted_loss(
    rows: Mapping[str, Tensor], shared: Mapping[str, Tensor], y: Tensor, h: Tensor, *rest: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the summed loss of the words of weight 1, and the state after the last of them."""
    mask, weight, last = rest
    logits, states = read_words(rows, shared, h, mask)
    losses = functional.cross_entropy(logits, y, reduction="none")
    return (losses * weight).sum(), states.detach().index_select(0, last.view(1))[0]
