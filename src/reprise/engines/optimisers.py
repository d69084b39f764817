"""RMSProp as Keras and TensorFlow 1.x compute it.

    s = decay s + (1 - decay) g^2        p = p - rate g / (sqrt(s + inside) + epsilon)

Keras from 1.0.3 on and torch have their epsilon beside the root. TensorFlow 1.x has it inside. Its s starts at one, not
at zero (ones_initializer in `RMSPropOptimizer._create_slots`). So the first steps are those of plain SGD at this rate.
They grow as s forgets its start, by `decay` a step.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

FIRST_MEAN_SQUARES = {"one": 1.0, "zero": 0.0}
"""First mean squares by their names in a configuration."""


class RMSProp:
    """Updates `parameters` in place by their `.grad`; `first` is the s before the first step."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        learning_rate: float = 0.0,
        decay: float = 0.0,
        epsilon: float = 0.0,
        inside: float = 0.0,
        first: float = 0.0,
    ) -> None:
        self.parameters = list(parameters)
        self.learning_rate, self.decay, self.epsilon, self.inside = learning_rate, decay, epsilon, inside
        self.mean_squares = [torch.full_like(p, first, requires_grad=False) for p in self.parameters]

    @torch.no_grad()
    def step(self) -> None:
        for p, s in zip(self.parameters, self.mean_squares, strict=True):
            s.mul_(self.decay).addcmul_(p.grad, p.grad, value=1 - self.decay)
            p.addcdiv_(p.grad, (s + self.inside).sqrt_().add_(self.epsilon), value=-self.learning_rate)

    def state_dict(self) -> list[Tensor]:
        """Return copies of the mean squares."""
        return [s.clone() for s in self.mean_squares]

    def load_state_dict(self, state: Iterable[Tensor]) -> None:
        for mean_square, saved in zip(self.mean_squares, state, strict=True):
            mean_square.copy_(saved)
