"""RMSprop as in Keras 1, with gradients that exist for some rows of a table alone.

    a = rho a + (1 - rho) g^2        p = p - rate * g / (sqrt(a + inside) + epsilon)

Until Keras 0.3 the epsilon stood inside the root (inside = 1e-6, epsilon = 0), since Keras 1 beside it (1e-8).

Keras moves every row in every step: where g is 0 the parameter stays and a falls by the factor rho. Here such a row is
left alone, and when it next has a gradient its a is first multiplied by rho to the power of the steps it has missed.
That is the same number but for rounding, and saves the passes over the rows (of tens of thousands) that a batch misses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from reprise.engines.loglinear.passes import Passes, Rates


class RMSprop:
    """Updates `parameters` in place; those in `tables` by rows. `begin` sets the rates."""

    def __init__(self, parameters: Mapping[str, Tensor], tables: set[str], passes: Passes) -> None:
        self.parameters, self.passes = parameters, passes
        self.a = passes.kept({name: torch.zeros_like(value) for name, value in parameters.items()})
        self.seen = {name: torch.zeros(len(parameters[name]), dtype=torch.int64) for name in sorted(tables)}
        self.step = 0

    def begin(self, rate: float, rho: float, epsilon: float, inside: float = 0.0) -> None:
        """Begins the next step."""
        self.step += 1
        self.rates = Rates(rate, rho, epsilon, inside)

    def dense(self, name: str, gradient: Tensor) -> None:
        """Updates a parameter by its gradient."""
        self.passes.rmsprop(self.parameters[name], self.a[name], gradient, self.rates)

    def product(self, name: str, d: Tensor, h: Tensor) -> None:
        """Updates a parameter (m, H) whose gradient is d' h, with d (n, m) and h (n, H)."""
        self.passes.rmsprop_product(self.parameters[name], self.a[name], d, h, self.rates)

    def rows(self, name: str, rows: Tensor, gradient: Tensor) -> None:
        """Updates these distinct rows (n,) of a table, of which gradient (n, D) has one each."""
        table = self.parameters[name], self.a[name], self.seen[name]
        self.passes.rmsprop_rows(*table, rows, gradient, self.step, self.rates)

    def state(self) -> dict[str, Any]:
        """Copies of what decides the next steps, beside the parameters."""
        return {
            "a": {name: value.clone() for name, value in self.a.items()},
            "seen": {name: value.clone() for name, value in self.seen.items()},
            "step": self.step,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        for mine, theirs in ((self.a, state["a"]), (self.seen, state["seen"])):
            for name, value in mine.items():
                value.copy_(theirs[name])
        self.step = state["step"]
