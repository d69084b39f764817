"""Stacks that only pretend to train, by a clock that moves when they say so: what their runner does with its time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from stacked_helpers import SENTENCES, experiment, jobs_of, runner_of

from reprise.training import stack
from reprise.training.loop import Job
from reprise.training.stack import StackRunner
from reprise.training.stack_running import Running


class Pretence:
    """In place of `stack.start` and of its clock. `log` has what was done, a word and the experiment's name each.

    Setting up, a piece of work and a save take `set_up`, `piece` and `save` seconds, a stack `pieces` pieces. `before`
    is called before each of the three with its line of the log, and may raise.
    """

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        set_up: float = 0.0,
        piece: float = 0.5,
        save: float = 1.0,
        pieces: int = 2,
        before: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.now, self.log, self.said, self.running = 0.0, [], [], 0
        self.seconds = {"start": set_up, "turn": piece, "save": save}
        self.pieces, self.before = pieces, before
        monkeypatch.setattr(stack, "start", self._start)
        monkeypatch.setattr(stack, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=self._pass))

    def runner(self, names: str, folder: Path, **how: Any) -> StackRunner:
        """One that gets a stack of one replica for each letter."""
        return runner_of([jobs_of([experiment(n, SENTENCES, None)], folder) for n in names], self.said, **how)

    def do(self, what: str, job: Job) -> None:
        line = f"{what} {job.resolved.experiment}"
        self.log.append(line)
        self.before(line)
        self._pass(self.seconds[what])

    def _pass(self, seconds: float) -> None:
        self.now += seconds

    def _start(self, jobs: list[Job], saved: Any, locks: Any, aside: bool, *_: Any) -> Running:
        self.do("start", jobs[0])
        self.running += 1
        epochs: Any = Pretended(self, jobs[0])
        return Running(jobs, epochs, locks, "float32", aside, self.seconds["save"], saved_at=self.now)


class Pretended:
    """As much of a stack in training as the runner sees."""

    ready, stack = True, None

    def __init__(self, pretence: Pretence, job: Job) -> None:
        self.pretence, self.members, self.left = pretence, [SimpleNamespace(job=job)], pretence.pieces

    @property
    def active(self) -> list[Any]:
        return self.members if self.left else []

    @property
    def finished(self) -> bool:
        return not self.left

    def advance(self) -> bool:
        self.pretence.do("turn", self.members[0].job)
        self.left -= 1
        return False

    def save(self) -> None:
        self.pretence.do("save", self.members[0].job)

    def close(self) -> None:
        self.pretence.running -= 1
