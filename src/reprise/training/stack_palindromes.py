"""Protocol final-digit as stacks: how a stack of document 002's networks for palindromes is built, fed and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from reprise.data.synthetic.palindromes import DIGITS, palindromes
from reprise.engines.palindromes.native import AutogradEngine
from reprise.kernels.stacked_palindromes import StackedPalindromes
from reprise.training.loop import Job
from reprise.training.protocol import generator_for
from reprise.training.protocols.palindromes_course import PalindromeCourse, first_model
from reprise.training.stack_check import Made, different, hold, numbers_of
from reprise.training.stack_member import Member
from reprise.training.stack_steps import ROUND, StackSteps

_SPAN = 512
"""Steps of time in a piece of work, about."""

STEPS = 3
"""Of the check: the program comes up three times, called, captured and replayed."""

_RATE, _EPSILON = 0.001, 0.01
"""Of the check, as in `stack_check_lines`."""


class PalindromeFamily:
    """Replicas read palindromes of one length, each those of its own generator."""

    epochs = StackSteps

    def __init__(self, corpus: Path | None, config: Mapping[str, Any]) -> None:
        del corpus  # there is none
        self.length = config["data"]["options"]["length"]
        self.batch = config["training"]["options"]["batch_size"]
        self.dtype, self.tolerance = numbers_of(config)

    def schedule(self, job: Job) -> PalindromeCourse:
        """The course of a replica, before its first step."""
        return PalindromeCourse(job.resolved.config, job.replica)

    def model(self, config: dict[str, Any], seed: int) -> nn.Module:
        """The readable model with a replica's first weights."""
        return first_model(config, seed).to(self.dtype)

    def build(self, members: Sequence[Member], models: Sequence[nn.Module], device: torch.device) -> StackedPalindromes:
        clips = [member.schedule.options["clip_norm"] for member in members]
        span = max(1, _SPAN // self.length)
        return StackedPalindromes(models, clips, self.length, self.batch, span, ROUND, device)

    def feed(self, stack: StackedPalindromes, members: Sequence[Member], first: int, count: int) -> None:
        """The palindromes of the next steps, drawn on the host and copied once a piece of work, half of each.

        On the device they could not be drawn: they come out of torch's generator of random numbers, one number after
        the other, and are to be those of a replica that trains alone.
        """
        del first
        left = np.zeros((count, len(members), (self.length + 1) // 2, self.batch), np.uint8)
        for r, member in enumerate(members):
            if member.active:
                left[:, r] = left_halves(self.length, self.batch, count, member.schedule.data)
        stack.feed(left)

    def check(self, stack: StackedPalindromes, members: Sequence[Member], models: Sequence[nn.Module]) -> None:
        """Holds the stack's first steps to the readable models; raises `StackDisagrees`. Changes parameters."""
        drawn = []
        for member in members:
            generator = generator_for(member.job.replica, "data")
            drawn.append([palindromes(self.length, self.batch, generator) for _ in range(STEPS)])
        half = (self.length + 1) // 2
        left = np.stack([[x[:half].numpy() for x, _ in steps] for steps in drawn], 1).astype(np.uint8)
        stack.begin([_RATE] * len(members), _EPSILON)
        for k in range(STEPS):
            stack.feed(left[k : k + 1])
            stack.train(1, k)
        found = stack.results(STEPS)
        for i in different(members):
            clip = members[i].schedule.options["clip_norm"]

            def reference(model: nn.Module, i: int = i, clip: float = clip) -> Made:
                engine, losses = AutogradEngine(model), []
                optimiser = torch.optim.Adam(model.parameters(), lr=_RATE, eps=_EPSILON)
                device = next(model.parameters()).device
                for x, y in drawn[i]:
                    losses.append(engine.loss_and_gradients(x.to(device), y.to(device))[0])
                    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
                    optimiser.step()
                return Made([sum(losses), losses[-1]], model.state_dict())

            losses, _ = found[i]
            made = Made([sum(losses), losses[-1]], stack.export(i))
            hold(members[i].job.title, models[i], made, reference, STEPS, self.tolerance, stack.device)


def left_halves(length: int, batch: int, count: int, generator: torch.Generator) -> np.ndarray:
    """The left halves of the next `count` batches that `palindromes` would draw: (count, ceil(length / 2), batch).

    Drawn at once: torch's generator on the CPU gives one number after the other, whatever shape they are asked in.
    """
    return torch.randint(DIGITS, (count, (length + 1) // 2, batch), generator=generator).numpy()
