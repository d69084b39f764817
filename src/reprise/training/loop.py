"""The loop around every protocol: replicas in, a run record of each out, whatever happens in between."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from reprise.catalogue.protocols import PROTOCOLS
from reprise.checks import run_check
from reprise.engines.stack import NAME as STACKED
from reprise.engines.stack import OutOfMemory, Stack
from reprise.errors import Interrupted, UserError, report_memory
from reprise.files import is_there
from reprise.records.record import Outcome, make_record, read_record, write_record
from reprise.records.resolved import Resolved
from reprise.training.checkpoint import CheckpointFile
from reprise.training.devices import prepare_environment
from reprise.training.locks import Held, replica_lock
from reprise.training.progress import TrainingProgress
from reprise.training.protocol import Diverged, Training, build_training
from reprise.training.run_facts import run_facts

CHECKPOINTS = Path("checkpoints")
SAVE_SECONDS = "REPRISE_SAVE_SECONDS"
"""Environment variable: seconds between two saves (default 30); a power cut costs at most so much work."""
# A save of a large model may take seconds: then it is made rarely enough to cost at most a twentieth of the time.
_WORK_PER_SAVE = 20.0
# Settings that say how long, not how large.
_TIMES = ("steps", "updates", "epochs", "every", "patience", "seed")


@dataclass(frozen=True)
class Job:
    """One replica to train: where its corpus is, where its record goes, how it is to be run."""

    resolved: Resolved
    replica: int
    output: Path
    corpus: Path | None = None
    engine: str = "auto"
    device: str = "auto"
    wait: bool = False
    threads: int = 1
    root: Path = Path()
    watch: Callable[[], str] | None = None  # why to stop now, or ""
    stopped: Callable[[], str] | None = None  # the reader of a `stop_signal` around several jobs

    @property
    def title(self) -> str:
        return f"{self.resolved.id} replica {self.replica}"

    @property
    def state_path(self) -> Path:
        name = f"{self.replica}-{self.resolved.config_hash}"
        return self.root / CHECKPOINTS / self.resolved.id / name


def run_job(job: Job) -> dict[str, Any]:
    """The record of one replica; see `run_jobs`."""
    return run_jobs([job])[0]


def run_jobs(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Trains replicas of one experiment, or runs its check, and writes each record as soon as it is done.

    On a GPU, and with the engine `stacked`, the replicas train together; else one after another. They go on from a
    checkpoint where there is one. Returns the records, those that were there included.

    Raises `Interrupted` after SIGTERM or SIGINT, the state saved, and where other processes train all of the replicas
    (those that others train are left out where more remain); `UserError` where there is not enough memory.
    """
    together = stacks(jobs[0])
    groups = [list(jobs)] if together else [[job] for job in jobs]
    return [record for group in groups for record in _run(group, together)]


def stacks(job: Job) -> bool:
    """Whether the job's replicas train in a stack: on a GPU, and with the engine `stacked`.

    `UserError` as of `choose_device`.
    """
    if job.resolved.is_check or not PROTOCOLS[job.resolved.config["training"]["protocol"]].gpu:
        return False
    return job.engine == STACKED or _device_of(job).type == "cuda"


def _run(jobs: list[Job], together: bool) -> list[dict[str, Any]]:
    first = jobs[0]
    with ExitStack() as locks:
        if together:
            locks.enter_context(replica_lock(_stack_path(first).with_suffix(".lock"), first.resolved.id, first.wait))
        jobs = _locked(jobs, locks)
        # Another process may have finished some while this one waited for the lock.
        missing = [job for job in jobs if not is_there(job.output)]
        torch.set_num_threads(first.threads)
        prepare_environment()
        torch.use_deterministic_algorithms(True, warn_only=True)
        if missing:
            remedy = f"make {_largest(first.resolved)} smaller in config/papers/{first.resolved.paper}.yaml"
            with report_memory(first.resolved.id, remedy):
                if first.resolved.is_check:
                    _check(first)
                elif together:
                    _train_together(missing)
                else:
                    _Trainer(missing, None).run()
        return [read_record(job.output, job.resolved, job.replica) for job in jobs]


def _locked(jobs: list[Job], locks: ExitStack) -> list[Job]:
    """The jobs whose replicas no other process trains, locked. Raises `Held` where there are none."""
    free, held = [], None
    for job in jobs:
        try:
            locks.enter_context(replica_lock(job.state_path.with_suffix(".lock"), job.title, job.wait))
            free.append(job)
        except Held as busy:
            held = busy
    if not free:
        raise held
    return free


def _train_together(jobs: list[Job]) -> None:
    """Trains the replicas in one stack, or in two one after the other where memory does not hold one."""
    try:
        _Trainer(jobs, Stack(_device_of(jobs[0]))).run()
        return
    except OutOfMemory as error:
        if len(jobs) == 1:
            raise MemoryError(str(error)) from error
    # Outside of the handler, which still holds what the stack held.
    gc.collect()
    torch.cuda.empty_cache()
    left = [job for job in jobs if not is_there(job.output)]
    half = -(-len(left) // 2)
    print(f"{title_of(left)}: more than memory holds; {half} at a time", file=sys.stderr, flush=True)
    for some in (left[:half], left[half:]):
        if some:
            try:
                _Trainer(some, Stack(_device_of(jobs[0]))).run()
            except OutOfMemory as error:
                raise MemoryError(str(error)) from error


def title_of(jobs: Sequence[Job]) -> str:
    """The experiment and which of its replicas these are."""
    if len(jobs) == 1:
        return jobs[0].title
    return f"{jobs[0].resolved.id} replicas {', '.join(str(job.replica) for job in jobs)}"


def _stack_path(job: Job) -> Path:
    return job.root / CHECKPOINTS / job.resolved.id / f"stack-{job.resolved.config_hash}"


def _largest(resolved: Resolved) -> str:
    """The two settings that most likely ask for more memory than there is."""
    sections = [resolved.config.get(section, {}).get("options", {}) for section in ("model", "data", "training")]
    options = {name: value for section in sections for name, value in section.items() if not name.endswith(_TIMES)}
    sizes = {name: value for name, value in options.items() if type(value) is int}
    return " or ".join(f"{name} ({sizes[name]})" for name in sorted(sizes, key=sizes.get)[:-3:-1]) or "it"


def _check(job: Job) -> dict[str, Any]:
    began = time.perf_counter()
    findings = run_check(job.resolved.config["check"])
    metrics = [{"split": f.name, "metric": "max_error", "value": f.error, "unit": f.unit, "n": f.n} for f in findings]
    facts = run_facts("none", torch.device("cpu"), time.perf_counter() - began, 0)
    record = make_record(job.resolved, job.replica, Outcome(metrics=metrics), None, None, facts)
    write_record(job.output, record)
    return record


@dataclass(eq=False)
class _Member:
    """A replica in training. `before` are the seconds until it was last resumed."""

    job: Job
    training: Training
    before: float = 0.0
    resumed: int = 0


def _training(job: Job, engine: str | Stack) -> Training:
    # What a protocol does besides its engine it does on the CPU.
    return build_training(job.resolved, job.replica, job.corpus, engine, torch.device("cpu"))


class _Trainer:
    """Trains replicas that are alike: members of a stack, or one replica alone with an engine of its own."""

    def __init__(self, jobs: list[Job], stack: Stack | None) -> None:
        self.stack, self.device = stack, _device_of(jobs[0])
        first, resolved = jobs[0], jobs[0].resolved
        # Where a stack is the configured engine, what cannot be stacked has its own.
        name = "auto" if first.engine == STACKED else first.engine
        self.members = [_Member(job, _training(job, stack or name)) for job in jobs]
        path = _stack_path(first) if stack else first.state_path
        engine, replica = self.members[0].training.engine, None if stack else first.replica
        self.checkpoint = CheckpointFile(path.with_suffix(".ckpt"), resolved.config_hash, engine, replica)
        self.others: dict[int, Any] = {}  # saved states of replicas that do not train now
        self.pause, self.cost = seconds_between_saves(), 0.0

    def run(self) -> None:
        """Trains all to the end and writes their records; see `run_jobs`."""
        first = self.members[0]
        signals = nullcontext(first.job.stopped) if first.job.stopped else stop_signal()
        title = title_of([member.job for member in self.members])
        with TrainingProgress(title, first.training.unit, first.training.total) as progress, signals as stopped:
            self._resume(progress.say)
            self.began = self.saved_at = time.perf_counter()
            self._close_ended([""] * len(self.members), progress)
            while self.members:
                found = self._advance()
                done = min(member.training.done for member in self.members)
                progress.update(done, next((note for note in found if isinstance(note, str)), ""))
                self._close_ended(found, progress)
                if not self.members:
                    break
                if reason := stopped() or (first.job.watch() if first.job.watch else ""):
                    self._save()
                    raise Interrupted(
                        f"{title_of([member.job for member in self.members])}: stopped by {reason} at "
                        f"{first.training.unit} {done:g}, saved to {self.checkpoint.path}; "
                        "the same command goes on from there"
                    )
                if time.perf_counter() - self.saved_at >= pause_before_a_save(self.pause, self.cost):
                    self._save()

    def _advance(self) -> list[str | BaseException]:
        """One piece of work of every member: its note, or what it raised."""
        if self.stack is not None:
            return self.stack.advance([member.training for member in self.members])
        found: list[str | BaseException] = []
        for member in self.members:
            try:
                found.append(member.training.advance())
            except Diverged as diverged:
                found.append(diverged)
        return found

    def _seconds(self, member: _Member) -> float:
        return member.before + time.perf_counter() - self.began

    def _close_ended(self, found: Sequence[str | BaseException], progress: TrainingProgress) -> None:
        """Writes records of the members that have finished or diverged, and lets them go."""
        ended = []
        for member, result in zip(self.members, found, strict=True):
            if isinstance(result, Diverged):
                progress.say(f"{f'replica {member.job.replica} ' if self.stack else ''}diverged: {result}")
                self._write(member, result.where)
            elif isinstance(result, BaseException):
                raise result
            elif member.training.finished:
                progress.line(member.training.done, result)
                self._write(member, None)
            else:
                continue
            ended.append(member)
        if not ended:
            return
        self.members = [member for member in self.members if member not in ended]
        if self.stack is not None:
            self.stack.keep([member.training for member in self.members])
        # Only now: until the record is on the disk, the checkpoint is all there is.
        if self.members or self.others:
            self._save()
        else:
            self.checkpoint.remove()

    def _write(self, member: _Member, diverged: dict[str, Any] | None) -> None:
        training, job = member.training, member.job
        facts = run_facts(training.engine, self.device, self._seconds(member), member.resumed)
        outcome = training.outcome()
        write_record(job.output, make_record(job.resolved, job.replica, outcome, training.parameters, diverged, facts))

    def _resume(self, say: Callable[[str], None]) -> None:
        saved = self.checkpoint.load(say)
        if saved is None:
            return
        entries = dict(saved["members"]) if self.stack else {self.members[0].job.replica: saved}
        for member in self.members:
            entry = entries.pop(member.job.replica, None)
            if entry is not None:
                member.training.restore(entry["training"])
                member.before, member.resumed = entry["seconds"], entry["resumed"] + 1
                which = f"replica {member.job.replica} " if self.stack else ""
                say(f"{which}goes on from {member.training.unit} {member.training.done:g}")
        # One of these may have finished in the moment before the last save.
        folder, resolved = self.members[0].job.output.parent, self.members[0].job.resolved
        there = {replica for replica in entries if is_there(folder / Path(resolved.record_path(replica)).name)}
        self.others = {replica: entry for replica, entry in entries.items() if replica not in there}

    def _save(self) -> None:
        start = time.perf_counter()
        entries = {
            member.job.replica: {
                "training": member.training.state(),
                "seconds": self._seconds(member),
                "resumed": member.resumed,
            }
            for member in self.members
        }
        self.checkpoint.save({"members": self.others | entries} if self.stack else next(iter(entries.values())))
        self.saved_at = time.perf_counter()
        self.cost = self.saved_at - start


def seconds_between_saves(usual: float = 30.0) -> float:
    """What REPRISE_SAVE_SECONDS says, or `usual`."""
    stated = os.environ.get(SAVE_SECONDS, str(usual))
    try:
        return float(stated)
    except ValueError:
        raise UserError(f"{SAVE_SECONDS}: '{stated}' is not a number; write seconds, or unset it") from None


def pause_before_a_save(stated: float, cost: float) -> float:
    """Seconds from the last save, which took `cost` seconds, to the next one."""
    return max(stated, _WORK_PER_SAVE * cost)


@contextmanager
def stop_signal() -> Iterator[Callable[[], str]]:
    """Turns SIGTERM and SIGINT into a flag that is read between two pieces of work; yields its reader."""
    received: list[str] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: ""
        return
    old = {
        number: signal.signal(number, lambda n, _: received.append(signal.Signals(n).name))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield lambda: received[0] if received else ""
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _device_of(job: Job) -> torch.device:
    return choose_device(job.device, job.resolved.config["training"]["protocol"], job.engine)


def choose_device(name: str, protocol: str, engine: str) -> torch.device:
    """`auto` is a GPU where one is visible, the protocol learns, and no engine of a CPU is asked for; else the CPU.

    `cuda` is a `UserError` where one of these is not so.
    """
    learns, fits = PROTOCOLS[protocol].gpu, engine in ("auto", STACKED)
    if name == "cuda" and not learns:
        raise UserError(f"--device cuda: the protocol {protocol} runs on the CPU; write --device auto or cpu")
    if name == "cuda" and not fits:
        raise UserError(f"--device cuda: the engine {engine} is one of a CPU; choose engine: auto, or --device cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: no GPU is visible to torch; write --device auto or cpu")
    if name == "auto":
        name = "cuda" if learns and fits and torch.cuda.is_available() else "cpu"
    return torch.device(name)
