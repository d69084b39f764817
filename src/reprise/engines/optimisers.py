"""RMSProp as Keras and TensorFlow 1.x compute it.

    s = rho s + (1 - rho) g^2        p = p - rate g / (sqrt(s + epsilon_inside) + epsilon)

Keras from 1.0.3 on and torch have their epsilon beside the root. TensorFlow 1.x has it inside. Its s starts at one, not
at zero (ones_initializer in `RMSPropOptimizer._create_slots`). So the first steps are those of plain SGD at this rate.
They grow as s forgets its start, by `rho` a step.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

INITIAL_MEAN_SQUARES = {"one": 1.0, "zero": 0.0}
"""First mean squares by their names in a configuration."""


class RMSProp:
    """Update `parameters` in place by their `.grad`; `initial_mean_square` is s before the first step."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        learning_rate: float = 0.0,
        rho: float = 0.0,
        epsilon: float = 0.0,
        epsilon_inside: float = 0.0,
        initial_mean_square: float = 0.0,
    ) -> None:
        self.parameters = list(parameters)
        self.learning_rate, self.rho, self.epsilon, self.epsilon_inside = learning_rate, rho, epsilon, epsilon_inside
        self.mean_squares = [torch.full_like(p, initial_mean_square, requires_grad=False) for p in self.parameters]

    @torch.no_grad()
    def step(self) -> None:
        for p, s in zip(self.parameters, self.mean_squares, strict=True):
            s.mul_(self.rho).addcmul_(p.grad, p.grad, value=1 - self.rho)
            p.addcdiv_(p.grad, (s + self.epsilon_inside).sqrt_().add_(self.epsilon), value=-self.learning_rate)

    def state_dict(self) -> list[Tensor]:
        """Return copies of the mean squares."""
        return [s.clone() for s in self.mean_squares]

    def load_state_dict(self, state: Iterable[Tensor]) -> None:
        for mean_square, saved in zip(self.mean_squares, state, strict=True):
            mean_square.copy_(saved)
