"""What one SGD step of a gated language model is, the same for every engine."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


def share_of_one_word(reduction: str, T: int, B: int) -> float:
    """What a word's loss counts in a window of T steps and B streams; see `GatedEngine.train`."""
    if reduction not in ("sum-steps", "mean-steps"):
        raise ValueError(f"reduction must be sum-steps or mean-steps, not {reduction}")
    return 1 / B if reduction == "sum-steps" else 1 / (T * B)


def clipped(learning_rate: float, clip_norm: float, gradients: Iterable[Tensor]) -> float:
    """The learning rate for gradients that are shortened to `clip_norm` if their common norm is longer.

    Rows first, then their norms in float64: torch's float32 norm of a tensor of millions is wrong in the fourth digit,
    and every parameter's step with it.
    """
    rows = [torch.linalg.vector_norm(gradient, dim=-1).flatten() for gradient in gradients]
    norm = torch.linalg.vector_norm(torch.cat(rows), dtype=torch.float64).item()
    return learning_rate * clip_norm / norm if norm > clip_norm else learning_rate
