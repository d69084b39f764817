"""Trains what is missing, the most valuable first, for as long as there is time; what is not done is saved."""

from __future__ import annotations

import errno
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from reprise.errors import Interrupted, UserError
from reprise.records.resolved import Resolved
from reprise.refusals import left_out
from reprise.training.loop import Job, run_job, stop_signal

_PROBE_SECONDS = 5.0
_RESERVE_SECONDS = 3.0  # for a save
_FULL = (errno.ENOSPC, errno.EDQUOT)


class TimeBox:
    """`minutes` from now on, or no end."""

    def __init__(self, minutes: float | None) -> None:
        self.end = float("inf") if minutes is None else time.monotonic() + 60 * minutes

    def left(self) -> float:
        """Seconds."""
        return self.end - time.monotonic()


class Log:
    """Lines on stderr and in a file, each with its time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)

    def __call__(self, line: str) -> None:
        stamped = f"{datetime.now():%H:%M:%S} {line.rstrip()}"
        print(stamped, file=sys.stderr, flush=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(stamped + "\n")


class Watch:
    """Stops a replica at the end of the time, or once it is seen not to fit into the `lease` while `others` wait."""

    def __init__(
        self, left: Callable[[], float], lease: Callable[[], float], usual: float | None, others: bool
    ) -> None:
        self.left, self.lease, self.usual, self.others = left, lease, usual, others
        self.reason = ""
        self.since: tuple[float, float] | None = None

    def __call__(self, done: float, total: float | None) -> str:
        now = time.monotonic()
        goal = self.usual or total
        if self.left() < _RESERVE_SECONDS:
            self.reason = "the end of its time"
        elif self.since is None:
            self.since = now, done
        elif self.others and goal and now - self.since[0] >= _PROBE_SECONDS and done > self.since[1]:
            seconds = (goal - done) * (now - self.since[0]) / (done - self.since[1])
            if seconds > (available := self.lease()):
                self.reason = f"want of time (it would take {seconds:.0f} s of {available:.0f} s)"
        return self.reason


class SoloRunner:
    """Trains the jobs of all groups one after another, each on its own engine.

    `left`, `usual`, `lease`, `failed` and `unfinished` are as in `StackRunner`.
    """

    def __init__(
        self,
        groups: Iterable[list[Job]],
        left: Callable[[], float],
        usual: Callable[[Resolved], float | None],
        say: Callable[[str], None],
        lease: Callable[[], float] | None = None,
    ) -> None:
        self.queue = deque((job, False) for group in groups for job in group)
        self.left, self.usual, self.say = left, usual, say
        self.lease = lease or left
        self.failed: list[Job] = []
        self.unfinished: list[Job] = []
        self.too_long: set[tuple[str, ...]] = set()  # kinds of which one did not fit: others are not tried first

    def run(self) -> None:
        """Raises `Interrupted` where a signal stopped a replica, which is saved."""
        with stop_signal() as stopped:
            while self.queue:
                if stopped():
                    raise Interrupted(f"stopped by {stopped()}; the same command goes on from there")
                job, aside = self.queue.popleft()
                if job.output.exists():
                    continue
                if self.left() < _RESERVE_SECONDS:
                    self.unfinished.append(job)
                    continue
                if not aside and _kind(job) in self.too_long:
                    self.queue.append((job, True))
                else:
                    self._one(job, aside, stopped)

    def _one(self, job: Job, aside: bool, stopped: Callable[[], str]) -> None:
        others = not aside and any(not put_off for _, put_off in self.queue)
        watch = Watch(self.left, self.lease, self.usual(job.resolved), others)
        self.say(f"{job.title}: begins")
        try:
            record = run_job(replace(job, watch=watch, stopped=stopped))
        except Interrupted as stop:
            if stopped():
                raise
            self.say(str(stop))
            if others and watch.reason and self.left() >= _RESERVE_SECONDS:
                self.too_long.add(_kind(job))
                self.queue.append((job, True))
            else:
                self.unfinished.append(job)
        except (UserError, OSError) as error:
            if isinstance(error, OSError) and error.errno in _FULL:
                raise  # nothing could be saved of the others either
            self.say(f"{job.title}: left out: {left_out(error, 'mend the access')}")
            self.failed.append(job)
        else:
            self.say(f"{job.title}: {record['status']}, {record['run']['wall_seconds']:.0f} s")


def _kind(job: Job) -> tuple[str, ...]:
    """Jobs of one kind take about as long."""
    config = job.resolved.config
    if job.resolved.is_check:
        return job.resolved.paper, config["check"]
    return job.resolved.paper, config["training"]["protocol"], config["data"]["dataset"]
