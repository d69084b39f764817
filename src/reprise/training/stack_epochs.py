"""The epochs of a stack: all replicas read the same text at the same time, each on its own schedule.

A replica may be in its third epoch and another in its first: they read the same words, and what differs is the number
that their dropout counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from reprise.kernels.stacked import Stack
from reprise.training.schedule import SPLITS
from reprise.training.stack_member import Member
from reprise.training.stack_training import StackTraining


class Family(Protocol):
    """What the stacks of one protocol do in their own way."""

    counts: Mapping[str, int]  # predicted words a split

    def build(self, members: Sequence[Member], models: Sequence[nn.Module], device: torch.device) -> Stack: ...
    def texts(self, stack: Stack) -> Mapping[str, Any]: ...
    def begin(self, stack: Stack, members: Sequence[Member]) -> None:
        """Tells the stack the learning rates and the keys of dropout."""
        ...

    def enter(self, stack: Stack, split: str) -> None:
        """Before the first piece of a text."""
        ...

    def piece_end(self, stack: Stack, text: Any, split: str, first: int) -> int:
        """Where the piece of work that begins at `first` ends."""
        ...

    def carried(self, stack: Stack) -> tuple[Tensor, ...]: ...
    def carry(self, stack: Stack, carried: tuple[Tensor, ...], split: str) -> None:
        """The states that go from one piece to the next, (R, ...), to be read and to be set."""
        ...

    def check(
        self, stack: Stack, members: Sequence[Member], models: Sequence[nn.Module], texts: Mapping[str, Any]
    ) -> None:
        """Holds the stack's first steps to the readable models; raises `StackDisagrees`. Changes parameters."""
        ...


class StackEpochs(StackTraining):
    """A stack in training. `saved` are the members' checkpoints, all of the same place in the text."""

    family: Family

    def _start_from(self, states: list[Any]) -> None:
        self._build()
        self.sums = [{s: (state or {}).get("losses", {}).get(s, 0.0) for s in SPLITS} for state in states]
        if self.next:
            carried = zip(*(state["carried"] for state in states), strict=True)
            self.family.carry(self.stack, tuple(torch.stack(parts) for parts in carried), self.split)

    @property
    def done(self) -> float:
        """Words read in this epoch, as a share of all."""
        before = sum(self.family.counts[split] for split in SPLITS[: SPLITS.index(self.split)])
        text = self.texts[self.split]
        here = self.family.counts[self.split] * self.next / len(text)
        return (before + here) / sum(self.family.counts.values())

    @property
    def _waits(self) -> bool:
        return self.split == SPLITS[-1] and self.next == len(self.texts[self.split])

    def advance(self) -> bool:
        """Hands the device the next piece of work, or closes the epoch; True where it closed one."""
        if self._waits:
            self._close_epoch()
            return True
        text = self.texts[self.split]
        if self.next == 0:
            self.family.enter(self.stack, self.split)
        end = self.family.piece_end(self.stack, text, self.split, self.next)
        (self.stack.train if self.split == "train" else self.stack.evaluate)(text, self.next, end)
        self.next = end
        if end == len(text):
            self.losses.append((self.split, self.stack.take_losses()))
            if self.split != SPLITS[-1]:
                self.split, self.next = SPLITS[SPLITS.index(self.split) + 1], 0
        return False

    def save(self) -> None:
        """Checkpoints of all that are still in training."""
        self.losses.append((self.split, self.stack.take_losses()))
        self._settle()
        carried = self.family.carried(self.stack)
        for i, member in enumerate(self.members):
            if member.active:
                own = tuple(part[i].clone() for part in carried)
                place = {"split": self.split, "next": self.next, "losses": self.sums[i], "carried": own}
                member.save({"parameters": self.stack.export(i), **place})

    def _prepare(self) -> None:
        self.texts = self.family.texts(self.stack)
        self.losses: list[tuple[str, Tensor]] = []  # of texts that were read, still on the device

    def _check(self) -> None:
        self.family.check(self.stack, self.members, self.models, self.texts)

    def _begin(self) -> None:
        self.family.begin(self.stack, self.members)

    def _keep(self, left: Sequence[int]) -> None:
        self.sums = [self.sums[i] for i in left]

    def _settle(self) -> None:
        """Adds up what the device has found out so far; waits for it."""
        for split, losses in self.losses:
            for sums, loss in zip(self.sums, self.stack.numbers(losses), strict=True):
                sums[split] += loss
        self.losses.clear()

    def _close_epoch(self) -> None:
        self._settle()
        counts = self.family.counts
        for i, (member, sums) in enumerate(zip(self.members, self.sums, strict=True)):
            if member.active:
                undo = member.close_epoch({split: sums[split] / counts[split] for split in SPLITS})
                if undo and member.kept is not None:
                    self.stack.load(i, member.kept)
                elif member.schedule.options["schedule"] == "rnnlm":
                    member.kept = self.stack.export(i)
                if not member.active:
                    self._leave(member)
        self.sums = [dict.fromkeys(SPLITS, 0.0) for _ in self.members]
        self.split, self.next = SPLITS[0], 0
        self._go_on()
