"""The batch-1 models in JAX: one jitted scan over many subsequences, the parameters updated in place.

Its process is started with one core and one thread, and without torch.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.rntn import BLOCK, Task, Workload
from benchmarks.tasks import Implementation

Arrays = Mapping[str, jax.Array]


def compute_loss(
    workload: Workload, rows: Arrays, shared: Arrays, h: jax.Array, words: tuple[jax.Array, ...]
) -> tuple[jax.Array, jax.Array]:
    """Return the summed loss of the words of weight 1, and the state after the last of them."""
    y, mask, weight, last = words
    inputs = rows["W_h"] + (rows["b_h"] if "b_h" in rows else shared["b_h"])

    def step(h: jax.Array, word: Any) -> tuple[jax.Array, jax.Array]:
        e, own = word
        if workload.factors:
            U_h = shared["U_l"] @ (own * (shared["U_r"] @ h))
        else:
            U_h = (shared["U_h"][0] if own is None else own) @ h
        h = jax.nn.sigmoid(e + U_h)
        return h, h

    own = rows["v"] if workload.factors else rows.get("U_h")
    _, states = jax.lax.scan(step, h, (inputs, own))
    logits = (states * mask) @ shared["W_o"].T + shared["b_o"]
    losses = jax.nn.logsumexp(logits, axis=1) - logits[jnp.arange(len(y)), y]
    return (losses * weight).sum(), states[last]


def sgd(
    workload: Workload, rate: float, by_rows: bool, carried: tuple[Arrays, jax.Array], words: Any
) -> tuple[tuple[Arrays, jax.Array], jax.Array]:
    """Train on one subsequence; return the parameters and the state after it, and its loss."""
    p, h = carried
    x, y, mask, weight, last, reset = words
    h = jnp.where(reset, 0.0, h)
    matrix = jnp.minimum(x, workload.matrices - 1)
    numbers = {name: x if kind == "word" else matrix for name, kind in workload.tables.items()}
    shared = {name: value for name, value in p.items() if name not in numbers}
    rest = (h, (y, mask, weight, last))

    def gather_rows(tables: Arrays) -> Arrays:
        return {name: table[numbers[name]] for name, table in tables.items()}

    def sum_losses(parts: Arrays, shared: Arrays) -> tuple[jax.Array, jax.Array]:
        return compute_loss(workload, parts if by_rows else gather_rows(parts), shared, *rest)

    tables = {name: p[name] for name in numbers}
    gradient = jax.value_and_grad(sum_losses, argnums=(0, 1), has_aux=True)
    (value, h), (g, g_shared) = gradient(gather_rows(tables) if by_rows else tables, shared)
    p = {name: shared[name] - rate * g_shared[name] for name in shared}
    for name, table in tables.items():
        p[name] = table.at[numbers[name]].add(-rate * g[name]) if by_rows else table - rate * g[name]
    return (p, h), value


class JaxPeer(Implementation):
    """`by_rows`: gradients of the gathered rows, scattered into the tables, instead of whole tables."""

    block = BLOCK

    def __init__(self, task: Task, by_rows: bool) -> None:
        self.task, self.data = task, task.pad()
        p = {name: jnp.array(np.array(value)) for name, value in task.weights.items()}
        self.carried = (p, jnp.zeros(task.workload.hidden))
        step = partial(sgd, task.workload, task.learning_rate, by_rows)
        self.run = jax.jit(lambda carried, words: jax.lax.scan(step, carried, words), donate_argnums=0)

    def train(self, first: int, last: int) -> float:
        """Train on subsequences, a whole number of blocks."""
        total = 0.0
        for begin in range(first, last, BLOCK):
            words = tuple(a[begin : begin + BLOCK] for a in self.data)
            self.carried, losses = self.run(self.carried, words)
            total += float(losses.sum())
        return total

    def parameters(self) -> dict[str, np.ndarray]:
        return {name: np.array(value) for name, value in self.carried[0].items()}


dense = partial(JaxPeer, by_rows=False)
rows = partial(JaxPeer, by_rows=True)
