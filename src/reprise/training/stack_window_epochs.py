"""The epochs of a stack over windows: every replica reads the training windows in an order of its own.

A replica that has stopped waits, unchanged, until half of its stack has stopped or the rest has diverged. Then the
training text is read once with the last weights of all that wait, and what is left goes on in a smaller stack: read at
once for each, that text would cost the others a third of an epoch every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from reprise.engines.loglinear.choose import HandEngine
from reprise.training.protocols.loglinear_course import END, EPOCH
from reprise.training.stack_batches import StackBatches
from reprise.training.stack_member import Member

_PIECE = 8
"""Batches of a piece of work."""


class StackWindowEpochs(StackBatches):
    """A stack in training."""

    def _resume(self, states: Sequence[Any]) -> None:
        if self.next and self.family.carried:
            self.stack.state = torch.stack([state["carried"] for state in states])

    @property
    def done(self) -> float:
        """Targets read in this epoch, as a share of all; 0 after the last one."""
        if self.split not in EPOCH:
            return 0.0
        counts = self.family.counts
        before = sum(counts[split] for split in EPOCH[: EPOCH.index(self.split)])
        return (before + counts[self.split] * self.next / len(self.texts)) / sum(counts.values())

    @property
    def _waits(self) -> bool:
        return self.next == len(self.texts) and self._following() is None

    def advance(self) -> bool:
        """Hands the device the next batches, or closes the epoch or what comes after; True where it closed an epoch."""
        if self.next < len(self.texts):
            end = min(self.next + _PIECE, len(self.texts))
            run = {"train": self.stack.train, END[1]: self.stack.judge}.get(self.split, self.stack.evaluate)
            run(self.texts, self.next, end)
            self.next = end
            if self.split != END[1]:
                self.given = self.texts.number + end
            return False
        following = self._following()
        if following is not None:
            self._open(following)
            return False
        if self.split in EPOCH:
            self._close_epoch()
            return True
        self._close_end()
        return False

    def save(self) -> None:
        """Checkpoints of all that are still in training, or wait."""
        self._settle()
        state = self.stack.state if self.family.carried else None
        for i, member in enumerate(self.members):
            if not member.active:
                continue
            stopped = member.schedule.stopped
            place = {"split": END[0] if stopped else EPOCH[0], "next": 0, "losses": [], "carried": None}
            if stopped == (self.split in END):  # it is for this one that the text is read
                # A pass over the pairs is short: one that was interrupted is made again.
                place = {"split": self.split, "next": 0 if self.split == END[1] else self.next}
                place |= {"losses": self.losses[i], "carried": None if state is None else state[i].clone()}
            member.save({"parameters": self.stack.export(i), "optimiser": self.stack.optimiser(i), **place})

    def _following(self) -> str | None:
        """The text that comes next without anything to be closed."""
        if self.split in EPOCH[:-1]:
            return EPOCH[EPOCH.index(self.split) + 1]
        return END[1] if self.split == END[0] and self.members[0].schedule.pairs else None

    def _begin(self) -> None:
        self.family.begin(self.stack, self.members)

    def _open(self, split: str, first: int = 0) -> None:
        """The text that is read next, from batch `first` on."""
        self.split, self.next = split, first
        self.texts = self.family.text(self.members, split)
        self.stack.enter(self.texts)

    def _close_epoch(self) -> None:
        self._settle()
        for member, losses in zip(self.members, self.losses, strict=True):
            if member.active and not member.schedule.stopped:
                self._or_diverged(member, self._end_epoch, losses)
        self._forget()
        waiting = [member for member in self.active if member.schedule.stopped]
        if waiting and 2 * (len(self.active) - len(waiting)) <= len(self.members):
            self._open(END[0])
        else:
            self._next_epoch()

    def _close_end(self) -> None:
        self._settle()
        for i, (member, losses) in enumerate(zip(self.members, self.losses, strict=True)):
            if member.active and member.schedule.stopped:
                self._or_diverged(member, self._finish, i, losses)
        self._forget()
        self._next_epoch()

    def _end_epoch(self, member: Member, losses: Sequence[float]) -> None:
        for split in EPOCH:
            first = self.family.texts.number(split)
            member.schedule.take_losses(split, losses[first : first + self.family.texts.pieces[split]])
        member.schedule.end_epoch()

    def _finish(self, member: Member, i: int, losses: Sequence[float]) -> None:
        """Takes what was read with a member's last weights, and draws its samples on the CPU."""
        course, model = member.schedule, self.models[i]
        course.take_losses(END[0], losses)
        if course.pairs is not None:
            course.margins = self.stack.margins(i, len(course.pairs))
        model.load_state_dict(self.stack.export(i))
        course.draw(HandEngine(model).log_probabilities, model.features)
        course.phase = "finished"
