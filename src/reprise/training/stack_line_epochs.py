"""The epochs of a stack over lines: every replica reads those of its own fold, batch by batch with the others.

A replica whose training is over is tested at once, with the parameters of its best epoch, while the others wait; that
costs them little, since test lines are read forward and once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from reprise.training.protocol import Diverged
from reprise.training.stack_member import Member
from reprise.training.stack_training import Say, StackTraining

_PIECE = 2
"""Batches of a piece of work."""


class StackLineEpochs(StackTraining):
    """A stack in training. `saved` are the members' checkpoints, all of the same part and place in it.

    Validation and test losses are not kept: a pass that was interrupted is made again, to the same bits.
    """

    def __init__(
        self,
        family: Any,
        members: list[Member],
        models: list[nn.Module],
        saved: Sequence[Mapping[str, Any] | None],
        device: torch.device,
        checked: bool,
        say: Say,
    ) -> None:
        super().__init__(family, members, models, device, checked, say)
        states = self._take_up(saved)
        self.optimisers = [state["optimiser"] if state else None for state in states]
        # Summed nats of each training batch of the epoch, as far as they have been read from the device.
        self.losses = [list(state["losses"]) if state else [] for state in states]
        self.trained = len(self.losses[0])  # training batches of the epoch that the device was given
        self._build()
        self._open(self.split, self.next)

    @property
    def done(self) -> float:
        """Predictions read in this epoch, as a share of all; 0 while others are tested."""
        train, valid = self.family.counts["train"], self.family.counts["valid"]
        share = self.next / max(1, len(self.texts))
        read = {"train": train * share, "valid": train + valid * share, "test": 0.0}
        return read[self.split] / (train + valid)

    @property
    def _waits(self) -> bool:
        return self.split != "train" and self.next == len(self.texts)

    def advance(self) -> bool:
        """Hands the device the next batches, or closes a part of the epoch; True where that closed the epoch."""
        if self.next < len(self.texts):
            end = min(self.next + _PIECE, len(self.texts))
            (self.stack.train if self.split == "train" else self.stack.evaluate)(self.texts, self.next, end)
            self.next = end
            if self.split == "train":
                self.trained = end
            return False
        if self.split == "train":
            self._open("valid")
            return False
        if self.split == "valid":
            self._close_epoch()
            return True
        self._close_test()
        return False

    def save(self) -> None:
        """Checkpoints of all that are still in training."""
        self._settle()
        for i, member in enumerate(self.members):
            if not member.active:
                continue
            place = (self.split, self.next if self.split == "train" else 0)
            if self.split == "test" and not member.schedule.trained:
                place = ("train", 0)
            own = {"parameters": self.stack.export(i), "optimiser": self.stack.optimiser(i), "losses": self.losses[i]}
            member.save({**own, "split": place[0], "next": place[1]})

    def _build(self) -> None:
        super()._build()
        for i, state in enumerate(self.optimisers):
            self.stack.set_optimiser(i, state)

    def _check(self) -> None:
        self.family.check(self.stack, self.members, self.models)

    def _begin(self) -> None:
        self.stack.begin([member.learning_rate for member in self.members])

    def _keep(self, left: Sequence[int]) -> None:
        self.optimisers = [self.stack.optimiser(i) for i in left]
        self.losses = [self.losses[i] for i in left]

    def _open(self, split: str, first: int = 0) -> None:
        """The lines that are read next, from batch `first` on."""
        self.split, self.next = split, first
        reading = [member.active and (split != "test" or member.schedule.trained) for member in self.members]
        if split == "test":
            for i, member in enumerate(self.members):
                if reading[i]:
                    self.stack.load(i, member.schedule.best["parameters"])
        self.texts = self.family.text(self.members, split, reading)
        self.stack.enter(self.texts)

    def _settle(self) -> None:
        """Reads the losses of the training batches that the device was given; waits for it."""
        first = len(self.losses[0])
        if first < self.trained:
            for own, more in zip(self.losses, self.stack.batch_losses(first, self.trained), strict=True):
                own += more

    def _close_epoch(self) -> None:
        self._settle()
        for i, member in enumerate(self.members):
            if member.active:
                self._close_epoch_of(i, member)
        self.losses, self.trained = [[] for _ in self.members], 0
        if any(member.schedule.trained for member in self.active):
            self._open("test")
        else:
            self._next_epoch()

    def _close_epoch_of(self, i: int, member: Member) -> None:
        course, losses = member.schedule, self.losses[i]
        astray = next((batch for batch, loss in enumerate(losses) if not math.isfinite(loss)), None)
        try:
            if astray is not None:
                course.diverge("training loss", batch=astray)
            else:
                course.close_epoch(sum(losses), self._found(i, member), self.stack.export(i))
        except Diverged as where:
            member.diverged = where.where
            self._leave(member)

    def _close_test(self) -> None:
        for i, member in enumerate(self.members):
            if member.active and member.schedule.trained:
                member.schedule.tested = self._found(i, member)
                self._leave(member)
        self._next_epoch()

    def _found(self, i: int, member: Member) -> Any:
        """The losses of a member's part that was read."""
        places = self.texts.places(i)
        return member.schedule.losses(places, *self.stack.evaluation(i, len(places)))

    def _next_epoch(self) -> None:
        self._go_on()
        if self.active:
            self._open("train")
