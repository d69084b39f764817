"""One update of R members at once: tensors whose first axis is the member, each member with its own rate and count.

`update` takes one parameter p (R, ...), its gradient, what the optimiser keeps of it, and the scalars that `scalars`
made of the step: (R,) each. It returns the new values and writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Kept = tuple[Tensor, ...]


def along(values: Tensor, like: Tensor) -> Tensor:
    """A number a member (R,) in the dtype and with the axes of `like` (R, ...)."""
    return values.to(like.dtype).view(-1, *[1] * (like.dim() - 1))


@dataclass(frozen=True)
class SGD:
    """p - rate g"""

    names: tuple[str, ...] = ()

    def start(self, p: Tensor) -> Kept:
        return ()

    def scalars(self, rate: Tensor, step: Tensor) -> Sequence[Tensor]:
        return (rate,)

    def update(self, p: Tensor, g: Tensor, kept: Kept, scalars: Sequence[Tensor]) -> tuple[Tensor, Kept]:
        (rate,) = scalars
        return torch.addcmul(p, along(rate, p), g, value=-1), ()


@dataclass(frozen=True)
class Adam:
    """Adam as `torch.optim.Adam` has it: epsilon beside the root, both moments corrected for their start at zero."""

    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    names: tuple[str, ...] = ("mean", "mean_square")

    def start(self, p: Tensor) -> Kept:
        return torch.zeros_like(p), torch.zeros_like(p)

    def scalars(self, rate: Tensor, step: Tensor) -> Sequence[Tensor]:
        """`step` counts from 1."""
        return rate / (1 - self.beta_1**step), (1 - self.beta_2**step).sqrt()

    def update(self, p: Tensor, g: Tensor, kept: Kept, scalars: Sequence[Tensor]) -> tuple[Tensor, Kept]:
        size, root = (along(value, p) for value in scalars)
        m = torch.lerp(kept[0], g, 1 - self.beta_1)
        v = (self.beta_2 * kept[1]).addcmul_(g, g, value=1 - self.beta_2)
        beside = v.sqrt().div_(root).add_(self.epsilon)
        return torch.addcmul(p, size, m / beside, value=-1), (m, v)


@dataclass(frozen=True)
class RMSProp:
    """s = rho s + (1 - rho) g^2, then p - rate g / (sqrt(s + inside) + epsilon); `first` is the s before the first.

    Keras and torch have their epsilon beside the root, TensorFlow 1.x has it inside.
    """

    rho: float
    epsilon: float
    inside: float = 0.0
    first: float = 0.0
    names: tuple[str, ...] = ("mean_square",)

    def start(self, p: Tensor) -> Kept:
        return (torch.full_like(p, self.first),)

    def scalars(self, rate: Tensor, step: Tensor) -> Sequence[Tensor]:
        return (rate,)

    def update(self, p: Tensor, g: Tensor, kept: Kept, scalars: Sequence[Tensor]) -> tuple[Tensor, Kept]:
        rate = along(scalars[0], p)
        s = (self.rho * kept[0]).addcmul_(g, g, value=1 - self.rho)
        root = (s + self.inside).sqrt_().add_(self.epsilon)
        return torch.addcmul(p, rate, g / root, value=-1), (s,)


Optimiser = SGD | Adam | RMSProp


@dataclass(frozen=True)
class Clip:
    """Gradients of a member whose common norm is above `norm` are shortened by one factor, norm / (theirs + `beside`).

    `beside` is 1e-6 in `torch.nn.utils.clip_grad_norm_`, which document 002's palindromes are clipped by.
    """

    norm: float
    beside: float = 0.0

    def factors(self, gradients: Sequence[Tensor]) -> Tensor:
        """Gradients (R, ...) -> (R,), float64. The norm is summed in float64: a float32 sum of millions is wrong."""
        norms = [torch.linalg.vector_norm(g.flatten(1), dim=1, dtype=torch.float64) for g in gradients]
        norm = torch.linalg.vector_norm(torch.stack(norms), dim=0) + self.beside
        return torch.where(norm > self.norm, self.norm / norm, torch.ones_like(norm))
