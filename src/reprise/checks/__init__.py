"""Checks: experiments without training, whose record holds a computed error.

A check is a function without arguments that yields `Finding`s; it passes where every error stays within
the tolerance that the configuration states.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Generator, Tensor, nn


@dataclass(frozen=True)
class Finding:
    """One computed error: `n` comparisons, of which the worst was off by `error` (a ratio unless `unit` says else)."""

    name: str
    error: float
    n: int
    unit: str = "relative"

    @classmethod
    def from_errors(cls, name: str, errors: Iterable[float], unit: str = "relative") -> Finding:
        """Return the finding of comparisons that are off by these errors.

        It is NaN if one of them is, which `max` alone may pass over.
        """
        values = [float(error) for error in errors]
        return cls(name, math.nan if any(map(math.isnan, values)) else max(values), len(values), unit)


def compute_excess(value: float, bound: float) -> float:
    """Return by how much a number lies above its bound, 0 if it does not; NaN of NaN, where `max` gives 0."""
    return 0.0 if value <= bound else value - bound


def compute_relative_error(actual: Tensor, expected: Tensor) -> float:
    """Return the distance of two tensors as a share of the second."""
    return float(((actual - expected).norm() / expected.norm()).detach())


def count_parameters(module: nn.Module) -> int:
    """Count the parameters of a module."""
    return sum(p.numel() for p in module.parameters())


def draw_parameters(module: nn.Module, deviation: float, generator: Generator) -> nn.Module:
    """Draw the parameters of a module anew, in float64, from a normal law around 0."""
    module.double()
    for parameter in module.parameters():
        parameter.data.normal_(0, deviation, generator=generator)
    return module
