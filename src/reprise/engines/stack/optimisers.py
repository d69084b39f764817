"""One update of R members at once: tensors whose first axis is the member, each member with its own rate and count.

`update(p, g, state, rate, step)`: p and g are (R, ...), `state` is the optimiser's, rate and step are (R,), steps are
counted from 1. It returns the new p and state, and writes nothing.

Of a table of which a step reads some rows, SGD and RMSProp update these alone (`by_rows`). SGD leaves other rows as
they are. So does RMSProp, but their mean squares fall by rho a step: a row that comes back is caught up first. Adam
moves every row that ever had a gradient at every step, by its first moment. No closed form says how far after k steps.
So it has to update the whole table, which costs a pass over three tensors of the table's size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

State = tuple[Tensor, ...]


def match_axes(values: Tensor, like: Tensor) -> Tensor:
    """Give a number a member (R,) the dtype and the axes of `like` (R, ...)."""
    return values.to(like.dtype).view(-1, *[1] * (like.dim() - 1))


@dataclass(frozen=True)
class SGD:
    """Plain gradient descent, p - rate g."""

    by_rows: ClassVar[bool] = True

    def make_state(self, p: Tensor, is_table: bool = False) -> State:
        return ()

    def update(self, p: Tensor, g: Tensor, state: State, rate: Tensor, step: Tensor) -> tuple[Tensor, State]:
        return torch.addcmul(p, match_axes(rate, p), g, value=-1), ()


@dataclass(frozen=True)
class Adam:
    """Adam as `torch.optim.Adam` has it: epsilon beside the root, both moments corrected for their start at zero."""

    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    by_rows: ClassVar[bool] = False

    def make_state(self, p: Tensor, is_table: bool = False) -> State:
        return torch.zeros_like(p), torch.zeros_like(p)

    def update(self, p: Tensor, g: Tensor, state: State, rate: Tensor, step: Tensor) -> tuple[Tensor, State]:
        size, root = match_axes(rate / (1 - self.beta_1**step), p), match_axes((1 - self.beta_2**step).sqrt(), p)
        m = torch.lerp(state[0], g, 1 - self.beta_1)
        v = (self.beta_2 * state[1]).addcmul_(g, g, value=1 - self.beta_2)
        denominator = v.sqrt().div_(root).add_(self.epsilon)
        return torch.addcmul(p, size, m / denominator, value=-1), (m, v)


@dataclass(frozen=True)
class RMSProp:
    """s = rho s + (1 - rho) g^2, then p - rate g / (sqrt(s + epsilon_inside) + epsilon).

    Before the first step s is `initial_mean_square`. Keras and torch have their epsilon beside the root, TensorFlow 1.x
    has it inside.
    """

    rho: float
    epsilon: float
    epsilon_inside: float = 0.0
    initial_mean_square: float = 0.0
    by_rows: ClassVar[bool] = True

    def make_state(self, p: Tensor, is_table: bool = False) -> State:
        """Make s, and for a table the step in which each row was last updated, (R, rows) float64."""
        s = torch.full_like(p, self.initial_mean_square)
        return (s, p.new_zeros(p.shape[:2], dtype=torch.float64)) if is_table else (s,)

    def update(self, p: Tensor, g: Tensor, state: State, rate: Tensor, step: Tensor) -> tuple[Tensor, State]:
        s, *last_step = state
        if last_step:
            missed = step[:, None] - 1 - last_step[0]
            s = s * (self.rho**missed).to(s.dtype).view(*missed.shape, *[1] * (s.dim() - 2))
            last_step = [step[:, None].expand_as(missed)]
        s = (self.rho * s).addcmul_(g, g, value=1 - self.rho)
        root = (s + self.epsilon_inside).sqrt_().add_(self.epsilon)
        return torch.addcmul(p, match_axes(rate, p), g / root, value=-1), (s, *last_step)


Optimiser = SGD | Adam | RMSProp


@dataclass(frozen=True)
class Clip:
    """Shorten gradients whose common norm is above `norm` by one factor, norm / (their norm + `epsilon`).

    `epsilon` is 1e-6 in `torch.nn.utils.clip_grad_norm_`, which document 002's palindromes are clipped by.
    """

    norm: float
    epsilon: float = 0.0

    def compute_factors(self, gradients: Sequence[Tensor]) -> Tensor:
        """Compute each member's factor (R,), float64, of its gradients (R, ...); see `reprise.engines.clipping`."""
        norms = [torch.linalg.vector_norm(g.flatten(1), dim=1, dtype=torch.float64) for g in gradients]
        norm = torch.linalg.vector_norm(torch.stack(norms), dim=0) + self.epsilon
        return torch.where(norm > self.norm, self.norm / norm, torch.ones_like(norm))
