"""The loop around every protocol: one replica in, one run record out, whatever happens in between."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from reprise.catalogue.protocols import PROTOCOLS
from reprise.checks import run_check
from reprise.errors import Interrupted, UserError, report_memory
from reprise.files import is_there
from reprise.records.record import Outcome, make_record, read_record, write_record
from reprise.records.resolved import Resolved
from reprise.training.checkpoint import CheckpointFile
from reprise.training.devices import prepare_environment
from reprise.training.locks import replica_lock
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
    """Trains the replica (or runs the check) and writes its record; goes on from a checkpoint where there is one.

    Raises `Interrupted` after SIGTERM or SIGINT, the state saved, and where another process trains the replica;
    `UserError` where it needs more memory than there is.
    """
    with replica_lock(job.state_path.with_suffix(".lock"), job.title, job.wait):
        if is_there(job.output):
            # Another process finished it while this one waited for the lock.
            return read_record(job.output, job.resolved, job.replica)
        torch.set_num_threads(job.threads)
        prepare_environment()
        torch.use_deterministic_algorithms(True, warn_only=True)
        with report_memory(
            job.resolved.id, f"make {_largest(job.resolved)} smaller in config/papers/{job.resolved.paper}.yaml"
        ):
            return _check(job) if job.resolved.is_check else _train(job)


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


def _train(job: Job) -> dict[str, Any]:
    device = choose_device(job.device, job.resolved.config["training"]["protocol"])
    training = build_training(job.resolved, job.replica, job.corpus, job.engine, device)
    checkpoint = CheckpointFile(
        job.state_path.with_suffix(".ckpt"), job.resolved.config_hash, training.engine, job.replica
    )
    signals = nullcontext(job.stopped) if job.stopped else stop_signal()
    with TrainingProgress(job.title, training.unit, training.total) as progress, signals as stopped:
        clock = _Clock(training, checkpoint, progress.say)
        diverged, note = None, ""
        try:
            while not training.finished:
                note = training.advance()
                progress.update(training.done, note)
                reason = stopped() or (job.watch() if job.watch else "")
                if reason and not training.finished:
                    clock.save()
                    raise Interrupted(
                        f"{job.title}: stopped by {reason} at {training.unit} {training.done:g}, "
                        f"saved to {checkpoint.path}; the same command goes on from there"
                    )
                clock.save_if_due()
            progress.line(training.done, note)
        except Diverged as where:
            diverged = where.where
            progress.say(f"diverged: {where}")
    facts = run_facts(training.engine, device, clock.seconds(), clock.resumed)
    record = make_record(job.resolved, job.replica, training.outcome(), training.parameters, diverged, facts)
    write_record(job.output, record)
    # Only now: until the record is on the disk, the checkpoint is all there is.
    checkpoint.remove()
    return record


class _Clock:
    """Training time over all resumptions, and when it is time to save."""

    def __init__(self, training: Training, checkpoint: CheckpointFile, say: Callable[[str], None]):
        self.training, self.checkpoint = training, checkpoint
        self.pause = seconds_between_saves()
        self.before, self.resumed = 0.0, 0
        saved = checkpoint.load(say)
        if saved is not None:
            training.restore(saved["training"])
            self.before, self.resumed = saved["seconds"], saved["resumed"] + 1
            say(f"goes on from {training.unit} {training.done:g}")
        self.began = self.saved_at = time.perf_counter()
        self.cost = 0.0

    def seconds(self) -> float:
        return self.before + time.perf_counter() - self.began

    def save_if_due(self) -> None:
        if time.perf_counter() - self.saved_at >= pause_before_a_save(self.pause, self.cost):
            self.save()

    def save(self) -> None:
        start = time.perf_counter()
        self.checkpoint.save({"training": self.training.state(), "seconds": self.seconds(), "resumed": self.resumed})
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


def choose_device(name: str, protocol: str) -> torch.device:
    """`auto` is a GPU where one is visible and the protocol can use it, else the CPU.

    `cuda` is a `UserError` without a GPU, or with a protocol that has no use for one.
    """
    usable = PROTOCOLS[protocol].gpu
    if name == "cuda" and not usable:
        raise UserError(f"--device cuda: the protocol {protocol} runs on the CPU; write --device auto or cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: no GPU is visible to torch; write --device auto or cpu")
    if name == "auto":
        name = "cuda" if usable and torch.cuda.is_available() else "cpu"
    return torch.device(name)
