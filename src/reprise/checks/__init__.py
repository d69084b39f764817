"""Compute errors without training: checks are experiments whose record holds a computed error.

A check is a function without arguments that yields `Finding`s. It passes if every error stays within the tolerance
that the configuration states.
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
    """Hold one computed error: the largest of `n` comparisons, as a ratio unless `unit` names another unit."""

    name: str
    error: float
    n: int
    unit: str = "relative"

    @classmethod
    def from_errors(cls, name: str, errors: Iterable[float], unit: str = "relative") -> Finding:
        """Make the finding of several comparisons from their errors.

        Its error is the largest. It is NaN if one error is, which `max` alone may pass over.
        """
        values = [float(error) for error in errors]
        return cls(name, math.nan if any(map(math.isnan, values)) else max(values), len(values), unit)


def compute_excess(value: float, bound: float) -> float:
    """Return by how much a number exceeds its bound: 0 below it, and NaN for NaN, where `max` gives 0."""
    return 0.0 if value <= bound else value - bound


def compute_relative_error(actual: Tensor, expected: Tensor) -> float:
    """Compute the norm of the difference of two tensors as a share of the norm of the second."""
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
