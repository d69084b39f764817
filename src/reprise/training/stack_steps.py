"""The steps of a stack whose replicas count steps, not epochs: the two trainings of document 002.

Every replica draws data of its own, so that those which join a stack may stand at different steps. Nothing waits for
the device but the end of a round: when results of so many steps have come together, or a replica has to be looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from reprise.records.resolved import Resolved
from reprise.training.protocol import Diverged
from reprise.training.protocols.step_course import StepCourse
from reprise.training.stack_member import Member
from reprise.training.stack_training import StackTraining

ROUND = 256
"""The most steps of a round."""


class StackSteps(StackTraining):
    """A stack in training. `saved` are the members' checkpoints, of whatever step."""

    def _start_from(self, states: list[Any]) -> None:
        self.states = [state["own"] if state else None for state in states]
        self.unseen: deque[tuple[Member, Mapping[str, Tensor]]] = deque()  # what members have still to look at
        self.fed = self.made = 0  # steps of this round; of all rounds
        self.since = [0, 0]  # since the last line: steps, and those of all replicas
        self._build()
        self._open()

    @property
    def progress(self) -> float:
        return self.made

    def left(self, usual: Callable[[Resolved], float | None]) -> float:
        steps = (member.schedule.total - member.schedule.step for member in self.active)
        return max(steps, default=self.fed) - self.fed

    @property
    def finished(self) -> bool:
        return super().finished and not self.unseen

    @property
    def ready(self) -> bool:
        return bool(self.unseen) or super().ready

    @property
    def _waits(self) -> bool:
        return self.fed == self.end

    def advance(self) -> bool:
        """Hands the device the next steps, or looks at a network meanwhile, or closes the round; True for the last."""
        if self.fed < self.end and (not self.unseen or self.stack.programs.pending < 2):
            count = min(self.stack.span, self.end - self.fed)
            self.family.feed(self.stack, self.members, self.fed, count)
            self.stack.train(count, self.fed)
            self.fed, self.made = self.fed + count, self.made + count
            self.since = [self.since[0] + count, self.since[1] + count * len(self.members)]
            return False
        if self.unseen:
            self._look()
            return False
        self._take()
        self._go_on()
        self._open()
        return True

    def save(self) -> None:
        """Checkpoints of all that are still in training."""
        while self.unseen:
            self._look()
        self._take()
        while self.unseen:
            self._look()
        for i, member in enumerate(self.members):
            if member.active:
                own = {"parameters": self.stack.export(i), "own": self.stack.state(i)}
                # The same place for all: one may go on beside any other.
                member.save({**own, "split": "train", "next": 0})
        self._begin()
        self._open()

    def line(self, seconds: float) -> str:
        (made, of_all), self.since = self.since, [0, 0]
        steps, losses = ([getattr(m.schedule, name) for m in self.active] for name in ("step", "loss"))
        rate = of_all * self.stack.tokens / seconds
        where = f"{min(steps)}" + (f" to {max(steps)}" if max(steps) > min(steps) else "")
        return (
            f"step {where}, {made} steps in {seconds:.1f} s, {rate:,.0f} tokens/s, {len(self.active)} in training; "
            f"loss {min(losses):.4f} to {max(losses):.4f} nats"
        )

    def _build(self) -> None:
        super()._build()
        for i, state in enumerate(self.states):
            self.stack.restore(i, state)

    def _begin(self) -> None:
        self.stack.begin([member.learning_rate for member in self.members])

    def _keep(self, left: Sequence[int]) -> None:
        self.states = [self.stack.state(i) for i in left]

    def _open(self) -> None:
        """Begins a round: it ends where the first of the members has to be looked at."""
        until = [member.schedule.until - member.schedule.step for member in self.active]
        self.fed, self.end = 0, min([self.stack.kept, *until]) if until else 0

    def _take(self) -> None:
        """Gives the members the results of this round's steps; waits for the device."""
        if not self.fed:
            return
        found = self.stack.results(self.fed)
        self.fed = 0
        for i, member in enumerate(self.members):
            if member.active:
                self._take_of(i, member, found[i])

    def _take_of(self, i: int, member: Member, found: Sequence[Any]) -> None:
        course: StepCourse = member.schedule
        try:
            course.take(*found)
        except Diverged as where:
            member.diverged = where.where
            self._leave(member)
            return
        if course.due:
            self.unseen.append((member, self.stack.export(i)))
        elif course.finished:
            self._leave(member)

    def _look(self) -> None:
        """Has a member look at its network, which may have gone on since then; the last look of all ends it."""
        member, parameters = self.unseen.popleft()
        member.schedule.look(parameters)
        if member.schedule.finished:
            self._leave(member)

    def _taken(self, member: Member) -> str:
        return f"{member.schedule.step} steps"
