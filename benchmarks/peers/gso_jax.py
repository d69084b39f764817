"""Document 000's networks in JAX, for lines of one length: a jitted scan over the steps, and Adam in the same program.

Its process is started with one core and one thread, and without torch.
"""

from collections.abc import Mapping
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.gso import Task
from benchmarks.tasks import Implementation

Arrays = Mapping[str, jax.Array]


def step(p: Arrays, h: jax.Array, inputs: Arrays) -> jax.Array:
    """Compute h_t (B, H) from h_{t-1} (B, H) and the symbols' columns (B, n)."""
    if "A" in p:
        z = (inputs["B"] * (h @ p["C"].T)) @ p["A"].T + p["f"]
        z = z + inputs["D"] if "D" in p else z
        return jnp.tanh(z + h @ p["E"].T if "E" in p else z)
    Ux, Wh = inputs["U"], h @ p["W"].T
    if "alpha" in p:
        return jnp.tanh(p["alpha"] * Ux * Wh + p["beta_1"] * Ux + p["beta_2"] * Wh + p["b"])
    return jnp.tanh(Wh + Ux + p["b"])


def compute_loss(p: Arrays, x: jax.Array, y: jax.Array) -> jax.Array:
    """Return the mean loss in nats of symbols (T, B)."""
    inputs = {name: p[name].T[x] for name in ("B", "D", "U") if name in p}

    def scan_step(h: jax.Array, inputs: Arrays) -> tuple[jax.Array, jax.Array]:
        h = step(p, h, inputs)
        return h, h

    _, h = jax.lax.scan(scan_step, jnp.zeros((x.shape[1], p["V"].shape[1])), inputs)
    logits = h @ p["V"].T + p["c"]
    right = jnp.take_along_axis(logits, y[..., None], axis=2)[..., 0]
    return (jax.nn.logsumexp(logits, axis=2) - right).mean()


def adam(
    rate: float, epsilon: float, state: tuple[Arrays, Arrays, Arrays, jax.Array], x: jax.Array, y: jax.Array
) -> tuple[tuple[Arrays, Arrays, Arrays, jax.Array], jax.Array]:
    """Make one step; return parameters, both moments and the number of steps, and the loss before it."""
    p, m, v, n = state
    value, g = jax.value_and_grad(compute_loss)(p, x, y)
    n = n + 1
    m = {name: 0.9 * m[name] + 0.1 * g[name] for name in p}
    v = {name: 0.999 * v[name] + 0.001 * g[name] ** 2 for name in p}
    first, second = 1 - 0.9**n, 1 - 0.999**n
    p = {name: p[name] - rate * (m[name] / first) / (jnp.sqrt(v[name] / second) + epsilon) for name in p}
    return (p, m, v, n), value


class Scan(Implementation):
    """NotImplementedError for lines of different lengths: every length of a batch would be compiled anew."""

    def __init__(self, task: Task) -> None:
        if not task.workload.length:
            raise NotImplementedError("lines of one length only")
        self.block = len(task)
        p = {name: jnp.array(np.array(value)) for name, value in task.weights.items()}
        zeros = {name: jnp.zeros_like(value) for name, value in p.items()}
        self.state = p, zeros, {name: jnp.zeros_like(value) for name, value in p.items()}, jnp.zeros((), jnp.int32)
        self.batches = [task.pad(i) for i in range(len(task))]
        self.update = jax.jit(partial(adam, task.learning_rate, task.epsilon), donate_argnums=0)

    def step(self, batch: int) -> float:
        x, y = self.batches[batch]
        self.state, value = self.update(self.state, x, y)
        return float(value) * x.size

    def parameters(self) -> dict[str, np.ndarray]:
        return {name: np.array(value) for name, value in self.state[0].items()}
