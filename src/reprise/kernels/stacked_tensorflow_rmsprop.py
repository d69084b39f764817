"""RMSProp as TensorFlow 1.x computes it on the parameters of all replicas of a stack; see `training/rmsprop.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from reprise.kernels.stacked_parameters import SideBySide, norms_of


class Law(NamedTuple):
    """What the optimiser of one replica is: its norm of clipping, and `decay`, `epsilon` and `start` of the squares."""

    clip_norm: float
    decay: float
    epsilon: float
    start: float


class StackedTensorFlowRMSProp:
    """Parameters `p` of R replicas by name, (R, ...), their gradients `d`, and the step from one to the other."""

    def __init__(self, shapes: Mapping[str, Sequence[int]], laws: Sequence[Law], like: Tensor) -> None:
        R, layout = len(laws), SideBySide(shapes)
        self.values, self.gradients, self.means = (like.new_zeros(R, layout.size) for _ in range(3))
        self.p, self.d = layout.views(self.values), layout.views(self.gradients)
        clips, decays, own, starts = (torch.tensor(part, dtype=torch.float64) for part in zip(*laws, strict=True))
        self.clips = clips.to(like.device)
        self.decays, self.news, self.own_epsilons, self.starts = (
            part[:, None].to(like) for part in (decays, 1 - decays, own, starts)
        )
        self.epsilons, self.minus_rates = self.own_epsilons.clone(), like.new_zeros(R, 1)
        self.means.copy_(self.starts.expand_as(self.means))

    def begin(self, rates: Sequence[float], epsilon: float | None = None) -> None:
        """Learning rates from now on, and where one is given an epsilon for all. Rate 0 changes no parameter."""
        self.minus_rates.copy_(-torch.tensor(rates, dtype=torch.float64)[:, None])
        self.epsilons.copy_(self.own_epsilons) if epsilon is None else self.epsilons.fill_(epsilon)

    def step(self) -> None:
        """A step by the gradients, clipped as by `clip_by_global_norm`. Part of a program."""
        d, s = self.gradients, self.means
        d.mul_((self.clips / norms_of(d, len(d))).clamp(max=1.0).to(d.dtype)[:, None])
        s.mul_(self.decays).addcmul_(d * self.news, d)
        self.values.addcmul_(d / (s + self.epsilons).sqrt_(), self.minus_rates)

    def state(self, replica: int) -> Tensor:
        """The mean squares (P,) of a replica, in the host's memory."""
        return self.means[replica].to("cpu", copy=True)

    def restore(self, replica: int, state: Tensor | None) -> None:
        """Takes what `state` gave; None stands for the state before the first step."""
        self.means[replica].copy_(self.starts[replica] if state is None else state)
