"""The course of a training that counts steps, not epochs, whatever computes them: both trainings of document 002."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor


class StepCourse:
    """Steps 0, 1, …, `steps` - 1 at one learning rate. Subclasses keep what the steps find; protocols inherit them."""

    unit = "step"
    loss: float  # the last that was logged
    until: int  # the step, above this one, before which nobody has to see the network's parameters
    due: bool  # whether somebody has to see those after the last step

    def __init__(self, options: Mapping[str, Any]) -> None:
        """`options`: of the protocol."""
        self.options = options
        self.total, self.learning_rate = options["steps"], options["learning_rate"]
        self.step = 0

    @property
    def finished(self) -> bool:
        return self.step >= self.total

    @property
    def done(self) -> float:
        return self.step

    def take(self, *results: Sequence[Any]) -> None:
        """Takes what the next steps found, a sequence a quantity. Raises `Diverged`."""
        raise NotImplementedError

    def look(self, parameters: Mapping[str, Tensor]) -> None:
        """Sees the parameters after the last step; only where that is due."""
        raise NotImplementedError
