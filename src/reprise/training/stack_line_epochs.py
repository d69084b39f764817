"""The epochs of a stack over lines: every replica reads those of its own fold, batch by batch with the others.

A replica whose training is over is tested at once, with the parameters of its best epoch, while the others wait; that
costs them little, since test lines are read forward and once.
"""

from __future__ import annotations

import math
from typing import Any

from reprise.training.stack_batches import StackBatches
from reprise.training.stack_member import Member

_PIECE = 2
"""Batches of a piece of work."""


class StackLineEpochs(StackBatches):
    """A stack in training.

    Validation and test losses are not kept: a pass that was interrupted is made again, to the same bits.
    """

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
                self.given = end
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

    def _begin(self) -> None:
        self.stack.begin([member.learning_rate for member in self.members])

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

    def _close_epoch(self) -> None:
        self._settle()
        for i, member in enumerate(self.members):
            if member.active:
                self._or_diverged(member, self._close_epoch_of, i)
        self._forget()
        if any(member.schedule.trained for member in self.active):
            self._open("test")
        else:
            self._next_epoch()

    def _close_epoch_of(self, member: Member, i: int) -> None:
        course, losses = member.schedule, self.losses[i]
        astray = next((batch for batch, loss in enumerate(losses) if not math.isfinite(loss)), None)
        if astray is not None:
            course.diverge("training loss", batch=astray)
        else:
            course.close_epoch(sum(losses), self._found(i, member), self.stack.export(i))

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
