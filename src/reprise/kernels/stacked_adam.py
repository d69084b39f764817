"""Adam on the parameters of all replicas of a stack, each with its own rate, clipping and number of steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from reprise.kernels.stacked_parameters import SideBySide, norms_of

BETA_1, BETA_2 = 0.9, 0.999
"""Adam's constants as in Kingma and Ba (2014) and in torch."""


class StackedAdam:
    """Parameters `p` of R replicas by name, (R, ...), their gradients `d`, and the step from one to the other.

    `clips` are the norms that gradients are shortened to, 0 for none; `added` is what a norm counts more than it is.
    """

    def __init__(
        self, shapes: Mapping[str, Sequence[int]], clips: Sequence[float], like: Tensor, added: float = 0.0
    ) -> None:
        R, layout = len(clips), SideBySide(shapes)
        self.values, self.gradients, self.first, self.second = (like.new_zeros(R, layout.size) for _ in range(4))
        self.p, self.d = layout.views(self.values), layout.views(self.gradients)
        real = {"dtype": torch.float64, "device": like.device}
        self.added = added
        self.clips = torch.tensor([clip or math.inf for clip in clips], **real) if any(clips) else None
        self.rates, self.epsilons, self.count = (torch.zeros(R, **real) for _ in range(3))

    def begin(self, learning_rates: Sequence[float], epsilon: float) -> None:
        """The replicas' rates and the epsilon from now on."""
        self.rates.copy_(torch.tensor(learning_rates, dtype=torch.float64))
        self.epsilons.fill_(epsilon)

    def step(self, there: Tensor) -> None:
        """A step of the replicas that are `there` (R,), bool; the gradients of the others must be 0. Part of a program.

        Norms are those of `gated_step.clipped`; torch's clip_grad_norm_ adds 1e-6 to them.
        """
        d, m, v, dtype = self.gradients, self.first, self.second, self.values.dtype
        if self.clips is not None:
            d.mul_((self.clips / (norms_of(d, len(d)) + self.added)).clamp(max=1.0).to(dtype)[:, None])
        now = there.to(torch.float64)
        self.count.add_(now)
        steps = self.count.clamp(min=1.0)
        bias_1, bias_2 = (torch.expm1(steps * math.log(beta)).neg() for beta in (BETA_1, BETA_2))
        m.lerp_(d, (now * (1 - BETA_1)).to(dtype)[:, None])
        v.mul_((1 - now * (1 - BETA_2)).to(dtype)[:, None]).addcmul_(d, d, value=1 - BETA_2)
        root = (v.sqrt() / bias_2.sqrt().to(dtype)[:, None]).add_(self.epsilons.to(dtype)[:, None])
        self.values.addcmul_(m / root, (-self.rates * now / bias_1).to(dtype)[:, None])

    def state(self, replica: int) -> dict[str, Any]:
        """Moments (2, P) and number of steps of a replica, in the host's memory."""
        moments = torch.stack([self.first[replica], self.second[replica]]).cpu()
        return {"moments": moments, "steps": self.count[replica].item()}

    def restore(self, replica: int, state: Mapping[str, Any] | None) -> None:
        """Takes what `state` gave; None stands for the state before the first step."""
        for row, own in enumerate((self.first, self.second)):
            own[replica].copy_(state["moments"][row]) if state else own[replica].zero_()
        self.count[replica] = state["steps"] if state else 0.0
