"""Trains replicas in stacks, several stacks at a time on one device, within a time.

Stacks of different shapes run on streams of their own: while one waits for its recurrence, step by step, another's
large products fill the device. Where the device's memory is too small for a stack, it is halved.
"""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

import torch

from reprise.errors import Interrupted, UserError
from reprise.kernels.stacked_programs import out_of_memory
from reprise.records.resolved import Resolved
from reprise.refusals import left_out
from reprise.training.locks import replica_lock
from reprise.training.loop import Job, pause_before_a_save, seconds_between_saves
from reprise.training.stack_check import StackDisagrees
from reprise.training.stack_environment import prepare_environment
from reprise.training.stack_member import saved_state
from reprise.training.stack_running import Running, choose_precision, given_up, make_room, start
from reprise.training.stack_training import Say, place_of

_SAVE_SECONDS = 120.0
_NAP = 0.0005


class StackRunner:
    """Trains groups of jobs, each group a stack, the first groups first.

    `left` says how many seconds there are, `lease` how many there are with those of later calls, which go on from what
    is saved (as many without it); `usual` how many epochs an experiment takes; `streams` stacks train at a time.
    `failed` holds the jobs that could not be trained, `unfinished` those that another process trains or for which there
    was no time.
    """

    def __init__(
        self,
        groups: Iterable[list[Job]],
        on_gpu: bool,
        left: Callable[[], float],
        usual: Callable[[Resolved], float | None],
        say: Say,
        streams: int = 1,
        checked: bool | None = None,
        lease: Callable[[], float] | None = None,
    ) -> None:
        self.queue: deque[tuple[list[Job], bool]] = deque((group, False) for group in groups)
        # Which GPU it is, CUDA_VISIBLE_DEVICES says.
        self.device = torch.device("cuda", 0) if on_gpu else torch.device("cpu")
        self.left, self.usual, self.say, self.streams = left, usual, say, streams
        self.lease = lease or left
        self.checked = on_gpu if checked is None else checked
        self.running: list[Running] = []
        self.places = streams  # fewer while a replica waits that had no room beside the stacks that run
        self.seconds_to_begin = 0.0  # what it took at most
        self.failed: list[Job] = []
        self.unfinished: list[Job] = []

    def run(self, stopped: Callable[[], str]) -> None:
        """Trains until all are done, the time is up or `stopped` gives a reason; what is not done is saved."""
        if self.queue:
            # Stacks add up in a fixed order as it is; torch's own ways of doing so would sort and fill memory.
            torch.use_deterministic_algorithms(False)
            torch.set_num_threads(1)
            prepare_environment()
        turned = True  # whether all that run have had a turn since the last one was begun
        while self.queue or self.running:
            reason = stopped() or ("" if self._time(begin=not self.running) else "the end of its time")
            if reason:
                self._stop(reason)
                return
            if turned and self.queue and len(self.running) < self.places and self._time(begin=True):
                self._start(*self.queue.popleft())
                turned = not self.running
                continue
            turned = True
            if not any([self._turn(running) for running in list(self.running) if running in self.running]):
                time.sleep(_NAP)

    def _time(self, begin: bool) -> bool:
        """Whether there is more time than it takes to save, and to `begin` another stack first: the first one may."""
        return self.left() > self._seconds_to_save() + (self.seconds_to_begin if begin else 0.0)

    def _seconds_to_save(self) -> float:
        """What it takes to save all that run, one after another."""
        return sum(running.save_seconds for running in self.running)

    def _start(self, jobs: list[Job], aside: bool) -> None:
        locks, began = ExitStack(), time.monotonic()
        try:
            jobs, saved = self._claim(jobs, locks, aside)
            if not jobs:
                locks.close()
                return
            running = start(jobs, saved, locks, aside, self.device, self.checked, self.say)
        except Exception as error:
            locks.close()
            self._mishap(jobs, aside, error)
            return
        finally:
            self.seconds_to_begin = max(self.seconds_to_begin, time.monotonic() - began)
        self.say(f"{running.title}: a stack of {len(jobs)}, {time.monotonic() - began:.1f} s to set up and check")
        self.running.append(running)
        self._tell_trouble(running)

    def _claim(self, jobs: list[Job], locks: ExitStack, aside: bool) -> tuple[list[Job], list[tuple[Any, Any]]]:
        """The jobs that nobody else trains and that stand at the same place in the text; the others wait."""
        found = []
        for job in jobs:
            if job.output.exists():
                continue
            own = ExitStack()
            try:
                own.enter_context(replica_lock(job.state_path.with_suffix(".lock"), job.title, job.wait))
                if job.output.exists():
                    # Another process finished it while this one waited for the lock, or just before.
                    own.close()
                    continue
                found.append((job, own, saved_state(job, self.say)))
            except Interrupted as busy:
                self.say(str(busy))
                self.unfinished.append(job)
            except (UserError, OSError) as error:
                own.close()
                self.say(f"{job.title}: left out: {left_out(error, 'make room or mend the access')}")
                self.failed.append(job)
        if not found:
            return [], []
        place = place_of(found[0][2][1])
        others = []
        for job, own, (_, saved) in found:
            if place_of(saved) == place:
                locks.push(own.pop_all())
            else:
                own.close()
                others.append(job)
        if others:
            self.queue.appendleft((others, aside))
        together = [(job, state) for job, _, state in found if job not in others]
        return [job for job, _ in together], [state for _, state in together]

    def _turn(self, running: Running) -> bool:
        """Gives a stack its next piece of work, if it can take one."""
        try:
            # The first to ask a device that has given up learns of it.
            if not running.epochs.ready:
                return False
            choose_precision(running.precision, self.device)
            closed = running.epochs.advance()
            self._tell_trouble(running)
            if closed and running.epochs.active:
                self.say(running.epoch_line())
            elif not closed and self._due(running):
                self._save(running)
            if running.epochs.finished:
                self._drop(running)
            elif not running.aside and any(not aside for _, aside in self.queue) and self._time(begin=True):
                self._put_off_if_too_long(running)
        except Exception as error:
            self._drop(running)
            self._mishap([job for job in running.jobs if not job.output.exists()], running.aside, error)
        return True

    def _put_off_if_too_long(self, running: Running) -> None:
        """Lets others go first where not even the calls to come have the time for this stack."""
        seconds, there_are = running.seconds_left(self.usual), self.lease()
        if seconds is not None and seconds > there_are:
            self.say(f"{running.title}: put off: it would take {seconds:.0f} s of {there_are:.0f} s")
            self._save(running)
            jobs = [member.job for member in running.epochs.active]
            self._drop(running)
            self.queue.append((jobs, True))

    def _tell_trouble(self, running: Running) -> None:
        stack = running.epochs.stack
        trouble = stack.programs.trouble if stack is not None else ""
        if trouble and trouble != running.told:
            running.told = trouble
            self.say(f"{running.title}: without graphs, many times slower, since a capture failed: {trouble}")

    def _due(self, running: Running) -> bool:
        # While one stack is saved, none gets work: the saves of all together must stay a small share.
        pause = pause_before_a_save(seconds_between_saves(_SAVE_SECONDS), self._seconds_to_save())
        return time.monotonic() - running.saved_at >= pause

    def _save(self, running: Running) -> None:
        start = time.monotonic()
        running.epochs.save()
        running.saved_at = time.monotonic()
        running.save_seconds = max(1.0, running.saved_at - start)

    def _drop(self, running: Running) -> None:
        if running in self.running:
            self.running.remove(running)
            self.places = self.streams
        try:
            running.epochs.close()
        except RuntimeError as error:  # of a device that has given up
            self.say(f"{running.title}: {error}")
        running.locks.close()

    def _stop(self, reason: str) -> None:
        for running in list(self.running):
            active = [member.job for member in running.epochs.active]
            try:
                self._save(running)
                saved = f"{len(active)} saved; the same command goes on from there"
            except Exception as error:  # a full disk, or a device that has given up: others may still be saved
                saved = f"not saved ({type(error).__name__}: {error}); the same command goes on from the last save"
            self.say(f"{running.title}: stopped by {reason}, {saved}")
            self.unfinished += active
            self._drop(running)
        waiting = [job for jobs, _ in self.queue for job in jobs]
        if waiting:
            self.say(f"{len(waiting)} in no stack: stopped by {reason}; the same command goes on with them")
        self.unfinished += waiting
        self.queue.clear()

    def _mishap(self, jobs: list[Job], aside: bool, error: Exception) -> None:
        """Halves a stack that has no room; leaves out one that does not compute what it should.

        A lone replica without room waits for a place, behind those that may have room, as long as other stacks run.
        Stops where the device has given up: no stack of this process could be trained any more.
        """
        if not jobs:
            return
        what, gone = f"{jobs[0].title} and {len(jobs) - 1} more", False
        if out_of_memory(error):
            make_room(error, self.device)
            if len(jobs) > 1:
                half = -(-len(jobs) // 2)
                self.say(f"{what}: out of memory: two stacks of {half} and {len(jobs) - half} instead")
                self.queue.extendleft([(jobs[half:], aside), (jobs[:half], aside)])
                return
            if self.running:
                self.say(f"{what}: out of memory: begins once a stack beside it has ended")
                self.places = len(self.running)
                put_off = (i for i, (_, late) in enumerate(self.queue) if late and not aside)
                self.queue.insert(next(put_off, len(self.queue)), (jobs, aside))
                return
        elif not isinstance(error, StackDisagrees | UserError):
            # Other stacks go on where they can: on a lent machine an hour of them is worth more than a clean end.
            self.say("".join(traceback.format_exception(error)))
            gone = given_up(self.device)
        self.say(f"{what}: left out: {type(error).__name__}: {error}")
        self.failed += jobs
        if gone:
            self._stop("a device that has given up")
            self.say(f"the device has given up under {what}: run the same command again, it goes on from what is saved")
