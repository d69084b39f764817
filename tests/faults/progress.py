"""How far a training is, and how a test makes it wait at a place of the test's choice."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reprise.training import loop
from reprise.training.checkpoint import CheckpointFile, DamagedCheckpoint, decode


@dataclass(frozen=True)
class Halt:
    """Where a training stops itself: at its first save of at least `target`, `inside` an epoch if so wished.

    It does so from within (SIGSTOP, right behind the save). A test that only looked on, every few milliseconds, could
    miss a place that a fast machine passes in less.
    """

    target: int
    inside: bool = False

    def reached(self, place: tuple[int, bool]) -> bool:
        done, within = place
        return done >= self.target and (within or not self.inside)

    def install(self) -> None:
        """In the process that trains."""
        save: Callable[[CheckpointFile, dict[str, Any]], None] = CheckpointFile.save
        waiting = [self]
        if self.inside:  # on a slow disk saves are put off, and those inside an epoch might all be
            loop._WORK_PER_SAVE = 0.0

        def save_and_halt(file: CheckpointFile, state: dict[str, Any]) -> None:
            save(file, state)
            if waiting and self.reached(place(state)):
                waiting.clear()  # once: who is sent on, goes on
                os.kill(os.getpid(), signal.SIGSTOP)

        CheckpointFile.save = save_and_halt  # type: ignore[method-assign]


def place(state: dict[str, Any]) -> tuple[int, bool]:
    """The step or epoch of a checkpoint's state, and whether it is inside an epoch."""
    training = state["training"]
    return training.get("step", training.get("epoch")), training.get("next", 0) > 0


def progress(path: os.PathLike[str]) -> tuple[int, bool]:
    """The place of the checkpoint at `path`; (-1, False) without one."""
    try:
        with open(path, "rb") as file:
            return place(decode(file.read())["state"])
    except (FileNotFoundError, DamagedCheckpoint):
        return -1, False
