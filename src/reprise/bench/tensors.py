"""A task's words and weights on their way into torch, and weights on their way back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor


def weights_of(task: Any) -> dict[str, Tensor]:
    """The task's weights as copies, by the names of the readable model's state_dict."""
    return {name: torch.from_numpy(np.array(value)) for name, value in task.weights.items()}


def words_of(task: Any) -> tuple[Tensor, Tensor]:
    """The words that are read and those that are predicted, x and y of the task, int64."""
    return torch.from_numpy(task.x).long(), torch.from_numpy(task.y).long()


def numpy_of(state: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """Weights as a task has them; what lies in the host's memory is shared."""
    return {name: value.detach().cpu().numpy() for name, value in state.items()}
