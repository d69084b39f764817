"""Stacks whose losses are kept batch by batch, and whose replicas' optimisers have a state: lines and windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from reprise.training.protocol import Diverged
from reprise.training.stack_member import Member
from reprise.training.stack_training import StackTraining


class StackBatches(StackTraining):
    """A stack in training. `saved` are the members' checkpoints, all of the same part of the epoch and place in it."""

    def _start_from(self, states: list[Any]) -> None:
        self.optimisers = [state["optimiser"] if state else None for state in states]
        # Summed nats of each batch since `_forget`, as far as they have been read from the device.
        self.losses = [list(state["losses"]) if state else [] for state in states]
        self.given = len(self.losses[0])  # batches whose losses the device was asked for
        self._build()
        self._open(self.split, self.next)
        self._resume(states)

    def _resume(self, states: Sequence[Any]) -> None:
        """Takes of the checkpoints, in the midst of an epoch, what only the stack can hold."""

    def _build(self) -> None:
        super()._build()
        for i, state in enumerate(self.optimisers):
            self.stack.set_optimiser(i, state)

    def _keep(self, left: Sequence[int]) -> None:
        self.optimisers = [self.stack.optimiser(i) for i in left]
        self.losses = [[] for _ in left]  # those of the epoch were forgotten

    def _open(self, split: str, first: int = 0) -> None:
        """What is read next, from batch `first` on."""
        raise NotImplementedError

    def _next_epoch(self) -> None:
        self._go_on()
        if self.active:
            self._open("train")

    def _settle(self) -> None:
        """Reads the losses of the batches that the device was given; waits for it."""
        first = len(self.losses[0])
        if first < self.given:
            for own, more in zip(self.losses, self.stack.batch_losses(first, self.given), strict=True):
                own += more

    def _forget(self) -> None:
        self.losses, self.given = [[] for _ in self.members], 0

    def _or_diverged(self, member: Member, close: Callable[..., None], *arguments: Any) -> None:
        """Closes something of a member's course, which may be its end, or show that it has diverged."""
        try:
            close(member, *arguments)
        except Diverged as where:
            member.diverged = where.where
        if not member.active:
            self._leave(member)
