"""Train what is missing, the most valuable first, for as long as there is time; what is not done is saved."""

import errno
import logging
import math
import os
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from reprise.errors import Interrupted, UserError
from reprise.files import describe_os_error, entry_exists, name_file_in_errors
from reprise.records.record import load_record
from reprise.records.resolved import Resolved
from reprise.training.jobs import run_jobs
from reprise.training.locks import LockHeld
from reprise.training.stop_signals import catch_stop_signals
from reprise.training.trainer import Job

_LOG = logging.getLogger(__name__)
_RESERVE_SECONDS = 3.0
"""Kept of the time for the last save."""
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Log:
    """Lines on stderr and in a file, each with its time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, line: str) -> None:
        stamped = f"{datetime.now():%H:%M:%S} {line.rstrip()}"
        _LOG.info(stamped)
        self.path.parent.mkdir(parents=True, exist_ok=True)  # somebody may have tidied up
        with name_file_in_errors(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(stamped + "\n")


def list_missing(experiments: Iterable[Resolved], roots: Sequence[Path]) -> list[tuple[Resolved, int]]:
    """List experiments and replicas without a record under any of `roots`, the most valuable first.

    A replica is worth more, the fewer its experiment has; among equals the order of `experiments` decides.
    """
    gaps_by_worth = []
    for resolved in experiments:
        trained = [any(entry_exists(root / path) for root in roots) for path in resolved.list_record_paths()]
        gaps = [replica for replica, exists in enumerate(trained) if not exists]
        gaps_by_worth += [(sum(trained) + i, resolved, replica) for i, replica in enumerate(gaps)]
    return [(resolved, replica) for _, resolved, replica in sorted(gaps_by_worth, key=lambda gap: gap[0])]


def list_damaged(experiments: Iterable[Resolved], roots: Sequence[Path]) -> list[str]:
    """List a line for every record under `roots` that is damaged. `OSError` where one cannot be read."""
    problems: dict[str, str] = {}  # by the real path: two roots may be one folder, or share the record
    for resolved in experiments:
        for replica, path in enumerate(resolved.list_record_paths()):
            for place in (root / path for root in roots if entry_exists(root / path)):
                try:
                    load_record(place, resolved, replica)
                except UserError as error:
                    if entry_exists(place):  # else another process has just moved it
                        problems[os.path.realpath(place)] = str(error)
    return list(problems.values())


class Runner:
    """Train groups of jobs in their order: a replica each, or replicas of one experiment that train together.

    `end`: when to be done, by `time.monotonic`. `parallel`: the number of groups that train at a time, in threads.
    `failed`, `unfinished` (saved, or not begun) and `locked_elsewhere` (other processes train them) are jobs.
    """

    def __init__(
        self, groups: Iterable[Sequence[Job]], end: float, log: Callable[[str], None], parallel: int = 1
    ) -> None:
        self.groups, self.end, self.log, self.parallel = list(groups), end, log, parallel
        self.failed: list[Job] = []
        self.unfinished: list[Job] = []
        self.locked_elsewhere: list[Job] = []

    def is_over(self) -> bool:
        """Return whether no more than the time for a save is left."""
        return self.end - time.monotonic() < _RESERVE_SECONDS

    def run(self) -> None:
        """Raise `Interrupted` where a signal stopped a training, which is saved."""
        with catch_stop_signals() as read_signal:
            if self.parallel == 1:
                for group in self.groups:
                    self._run_group(group, read_signal)
                return
            with ThreadPoolExecutor(self.parallel) as pool:
                for future in [pool.submit(self._run_group, group, read_signal) for group in self.groups]:
                    future.result()

    def _run_group(self, group: Sequence[Job], read_signal: Callable[[], str]) -> None:
        if name := read_signal():
            raise Interrupted(f"stopped by {name}; the same command goes on from there")
        jobs = _list_jobs_without_record(group)
        if self.is_over():
            self.unfinished += jobs
        elif jobs:
            try:
                self._train(jobs, read_signal)
            except BaseException:
                self.end = -math.inf  # for those that train beside it and after it
                raise

    def _train(self, jobs: list[Job], read_signal: Callable[[], str]) -> None:
        """Train a group; a job that leaves no record is `failed`, `unfinished` or `locked_elsewhere` afterwards."""
        title = jobs[0].title + (f" and {len(jobs) - 1} more" if len(jobs) > 1 else "")
        self.log(f"{title}: begins")
        settings = {"watch": lambda: "the end of its time" if self.is_over() else "", "read_signal": read_signal}
        try:
            records = run_jobs([replace(job, **settings) for job in jobs])
        except LockHeld as error:
            self.log(str(error))
            self.locked_elsewhere += _list_jobs_without_record(jobs)
        except Interrupted as error:
            if read_signal():
                raise
            self.log(str(error))
            self.unfinished += _list_jobs_without_record(jobs)
        except (UserError, OSError) as error:
            if isinstance(error, OSError) and error.errno in _FULL:
                raise  # nothing could be saved of the others either
            self.log(f"{title}: left out: {describe_os_error(error) if isinstance(error, OSError) else error}")
            self.failed += _list_jobs_without_record(jobs)
        except Exception:  # an error of ours ends this training alone, and its traceback is kept
            self.log(f"{title}: left out:\n{traceback.format_exc()}")
            self.failed += _list_jobs_without_record(jobs)
        else:
            self.locked_elsewhere += _list_jobs_without_record(jobs)
            for record in records:
                name = f"{record['paper']}/{record['experiment']} replica {record['replica']}"
                self.log(f"{name}: {record['status']}, {record['run']['wall_seconds']:.0f} s")


def _list_jobs_without_record(jobs: Iterable[Job]) -> list[Job]:
    return [job for job in jobs if not job.output.exists()]
