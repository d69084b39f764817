"""RMSprop as in Keras 1 on the parameters of all replicas of a stack, each with its own rate and constants.

Every parameter is moved in every step, as Keras does it: `rmsprop.py` finds the same numbers by rows. Where a gradient
is 0 the parameter stays, so that what fills up a smaller replica stays 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from reprise.kernels.stacked_parameters import SideBySide


class StackedRMSprop:
    """Parameters `p` of R replicas by name, (R, ...), their gradients `d`, the means `a` of these squared, the step."""

    def __init__(self, shapes: Mapping[str, Sequence[int]], R: int, like: Tensor) -> None:
        layout = SideBySide(shapes)
        self.values, self.gradients, self.means, self.spare = (like.new_zeros(R, layout.size) for _ in range(4))
        self.p, self.d, self.a = (layout.views(of) for of in (self.values, self.gradients, self.means))
        self.minus_rates, self.news, self.epsilons = (like.new_zeros(R, 1) for _ in range(3))

    def begin(self, rates: Sequence[float], rhos: Sequence[float], epsilons: Sequence[float]) -> None:
        """Rates and constants of the replicas from now on. Rate 0 changes no parameter."""
        pairs = ((self.minus_rates, [-rate for rate in rates]), (self.news, [1 - rho for rho in rhos]))
        for own, values in (*pairs, (self.epsilons, epsilons)):
            own.copy_(torch.tensor(values, dtype=torch.float64)[:, None])

    def step(self) -> None:
        """A step by the gradients, which are used up. Part of a program."""
        g, a, spare = self.gradients, self.means, self.spare
        a.lerp_(torch.mul(g, g, out=spare), self.news)
        torch.sqrt(a, out=spare).add_(self.epsilons)
        self.values.addcmul_(g.div_(spare), self.minus_rates)
