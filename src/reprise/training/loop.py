"""The one trainer: replicas of an experiment in, a run record each out, whatever happens in between.

A replica trains alone, or several train as members of one stack (`reprise.engines.stack`): members are one or more.
"""

import gc
import logging
import platform
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from heapq import nlargest
from pathlib import Path
from typing import Any

import numpy as np
import torch

import reprise
from reprise import environment
from reprise.catalogue.checks import run_check
from reprise.catalogue.own import compute_source_digest, is_own
from reprise.catalogue.protocols import PROTOCOLS
from reprise.engines.stack import NAME as STACKED
from reprise.engines.stack import OutOfMemory, Stack
from reprise.errors import STOP_SIGNALS, Interrupted, UserError, is_memory_error, report_memory
from reprise.files import entry_exists
from reprise.records.record import Outcome, load_record, make_metric, make_record, write_record
from reprise.records.resolved import Resolved
from reprise.training.checkpoint import CheckpointFile, DamagedCheckpoint
from reprise.training.devices import has_network, read_processor_name
from reprise.training.locks import LockHeld, lock_replica
from reprise.training.progress import TrainingProgress
from reprise.training.protocol import Diverged, Training, build_training, report_model
from reprise.training.provenance import collect_code_facts
from reprise.training.weights import describe_weights, save_weights

_LOG = logging.getLogger(__name__)
CHECKPOINTS = Path("checkpoints")
# A save of a large model may take seconds. Saves are rare enough to cost at most a twentieth of the time.
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
    root: Path = Path()
    watch: Callable[[], str] | None = None  # returns why to stop now, or ""
    read_signal: Callable[[], str] | None = None  # the reader of a `catch_stop_signals` around several jobs

    @property
    def title(self) -> str:
        return f"{self.resolved.id} replica {self.replica}"

    def get_path(self, name: str | int) -> Path:
        """Return a file of the experiment among the checkpoints, without its suffix."""
        return self.root / CHECKPOINTS / self.resolved.id / f"{name}-{self.resolved.config_hash}"


def run_jobs(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Train replicas of one experiment, or run a check, from their checkpoints on; write their records.

    Args:
        jobs: The replicas. They train together, with one checkpoint, where `is_stacked` says so; else one after
            another. Those that other processes train are left out.

    Returns:
        The records of the replicas that were not left out, in the order of the jobs.

    Raises:
        Interrupted: A signal or the watch stopped the training, and its state is saved.
        LockHeld: Other processes train all of the replicas.
        UserError: A replica needs more memory than the machine has, or the user's model file failed.
    """
    first = jobs[0]
    with ExitStack() as stack:
        stacked = is_stacked(first)
        if stacked:
            stack.enter_context(
                lock_replica(first.get_path("stack").with_suffix(".lock"), first.resolved.id, first.wait)
            )
        locked, busy = [], None
        for job in jobs:
            try:
                stack.enter_context(lock_replica(job.get_path(job.replica).with_suffix(".lock"), job.title, job.wait))
                locked.append(job)
            except LockHeld as error:
                busy = error
        if busy and not locked:
            raise busy
        # Another process may have finished some while this one waited for the lock.
        records = {j.replica: load_record(j.output, j.resolved, j.replica) for j in locked if entry_exists(j.output)}
        remaining = [job for job in locked if job.replica not in records]
        paper, name = first.resolved.paper, first.resolved.id
        with (
            report_memory(name, f"make {_name_largest_settings(first.resolved)} smaller in config/papers/{paper}.yaml"),
            report_model(first.resolved),
        ):
            if stacked and remaining:
                new_records = _train_stack(remaining)
            else:
                new_records = [
                    _run_check(job) if job.resolved.is_check else _train([job], stacked=False)[0] for job in remaining
                ]
        records |= {record["replica"]: record for record in new_records}
        return [records[job.replica] for job in locked]


def is_stacked(job: Job) -> bool:
    """Return whether the replica trains in a stack: by its engine, or with engine auto where a GPU helps."""
    return has_network(job.resolved) and (job.engine == STACKED or find_device(job).type == "cuda")


def _name_largest_settings(resolved: Resolved) -> str:
    """Name the two settings that most likely ask for more memory than the machine has."""
    sections = [resolved.config.get(section, {}).get("options", {}) for section in ("model", "data", "training")]
    options = {name: value for section in sections for name, value in section.items() if not name.endswith(_TIMES)}
    sizes = {name: value for name, value in options.items() if type(value) is int}
    largest = nlargest(2, sizes, key=sizes.get)
    return " or ".join(f"{name} ({sizes[name]})" for name in largest) or "it"


def _run_check(job: Job) -> dict[str, Any]:
    reset_peak_memory()
    began = time.perf_counter()
    findings = run_check(job.resolved.config["check"])
    metrics = [make_metric(f.name, "max_error", f.error, f.unit, f.n) for f in findings]
    facts = collect_run_facts("none", torch.device("cpu"), time.perf_counter() - began, 0) | collect_code_facts()
    record = make_record(job.resolved, job.replica, Outcome(metrics=metrics), None, None, facts)
    write_record(job.output, record)
    return record


def _train_stack(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Train several replicas as members of one stack; where memory lacks for that, of two in turn."""
    try:
        return _train(jobs, stacked=True)
    except OutOfMemory:
        if len(jobs) == 1:
            raise
    # Outside of the handler, whose traceback holds what the stack held.
    gc.collect()
    torch.cuda.empty_cache()
    remaining = [job for job in jobs if not entry_exists(job.output)]
    half = -(-len(remaining) // 2)
    _LOG.warning("%s: out of memory: %d replicas at a time instead", jobs[0].resolved.id, half)
    for part in filter(None, (remaining[:half], remaining[half:])):
        _train(part, stacked=True)
    return [load_record(job.output, job.resolved, job.replica) for job in jobs]


def _train(jobs: Sequence[Job], stacked: bool) -> list[dict[str, Any]]:
    """Train one replica by itself, or all as one stack, which raises `OutOfMemory`."""
    first, device = jobs[0], find_device(jobs[0])
    if stacked:
        name, replica = "stack", -1
        engine = Stack(device, lambda line: _LOG.warning("%s: %s", first.resolved.id, line))
    else:
        name, replica = str(first.replica), first.replica
        # Where a stack is the configured engine, what none can train has its own.
        engine = "auto" if first.engine == STACKED else first.engine
    members = [Member(job, build_training(job.resolved, job.replica, job.corpus, engine)) for job in jobs]
    path, engine_name = first.get_path(name).with_suffix(".ckpt"), members[0].training.engine
    checkpoint = CheckpointFile(path, first.resolved.config_hash, engine_name, replica)
    return _Trainer(members, checkpoint, device, engine if stacked else None).run()


@dataclass
class Member:
    """One replica in training."""

    job: Job
    training: Training
    diverged: dict[str, Any] | None = None
    record: dict[str, Any] = field(default_factory=dict)
    code: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.code = collect_code_facts(getattr(self.training, "kernel", None))
        if is_own(model := self.job.resolved.config["model"]["name"]):
            self.code["sources"] = compute_source_digest(model)

    @property
    def has_ended(self) -> bool:
        return self.diverged is not None or self.training.finished


class _Trainer:
    """Trains members to the end, writes a record of each, and saves them between two pieces of work.

    They are the members of a `stack`; without a stack there is one.
    """

    def __init__(
        self, members: list[Member], checkpoint: CheckpointFile, device: torch.device, stack: Stack | None
    ) -> None:
        self.members, self.checkpoint, self.device, self.stack = members, checkpoint, device, stack
        first, *more = members
        self.job = first.job
        self.title = first.job.title + (f" and {len(more)} more" if more else "")
        self.progress = TrainingProgress(self.title, first.training.unit, first.training.total)
        self.active = list(members)
        self.other_states: dict[int, Any] = {}  # what the checkpoint holds of replicas that train later
        self.earlier_seconds, self.resumed = 0.0, 0
        self.pause = environment.get_save_interval()

    def run(self) -> list[dict[str, Any]]:
        """Return the records, in the order of the members; `Interrupted` where a signal or the watch stopped it."""
        reset_peak_memory()
        signals = nullcontext(self.job.read_signal) if self.job.read_signal else catch_stop_signals()
        with self.progress.bar or nullcontext(), signals as read_signal:
            self._resume()
            self.began = time.perf_counter()
            self.save_at = self.began + self.pause
            self._finish_members()
            note = ""
            while self.active:
                note = self._advance() or note
                training = (self.active or self.members)[0].training
                self.progress.update(training.done, note)
                reason = read_signal() or (self.job.watch() if self.job.watch else "")
                if self.active and (reason or time.perf_counter() >= self.save_at):
                    self.save()
                if self.active and reason:
                    raise Interrupted(
                        f"{self.title}: stopped by {reason} at {training.unit} {training.done:g}, "
                        f"saved to {self.checkpoint.path}; the same command goes on from there"
                    )
            self.progress.print_line(self.members[0].training.done, note)
        return [member.record for member in self.members]

    def _advance(self) -> str:
        """Do a piece of work of all active members; return the first one's note."""
        trainings = [member.training for member in self.active]
        try:
            notes = self.stack.advance(trainings) if self.stack else [trainings[0].advance()]
        except Diverged as error:
            notes = [error]
        for member, note in zip(self.active, notes, strict=True):
            if isinstance(note, Diverged):
                member.diverged = note.details
                self.progress.print_text(f"{member.job.title}: diverged: {note}" if self.stack else f"diverged: {note}")
            elif isinstance(note, Exception):
                raise note
        self._finish_members()
        return next((note for note in notes if isinstance(note, str)), "")

    def _finish_members(self) -> None:
        """Write the records of members that have ended; remove the checkpoint once all have."""
        finished = [member for member in self.active if member.has_ended]
        if not finished:
            return
        for member in finished:
            facts = (
                collect_run_facts(member.training.engine, self.device, self.measure_seconds(), self.resumed)
                | member.code
            )
            if self.stack:
                facts["stack_replicas"] = len(self.members)
            if self.device.type == "cuda":
                facts["peak_gpu_memory_mib"] = round(torch.cuda.max_memory_allocated(self.device) / 2**20, 1)
            job, training = member.job, member.training
            outcome = training.outcome()
            # Before the record, which names its checksum: a record is never without the weights that it names.
            if (
                not member.diverged
                and job.resolved.keeps_weights(job.replica)
                and (parameters := training.get_reported_parameters())
            ):
                path = job.resolved.find_weights(job.replica, job.output)
                metadata = describe_weights(
                    job.resolved, job.replica, training.vocabulary_sha256, training.reported_position
                )
                facts["weights_sha256"] = save_weights(path, parameters, metadata)
            member.record = make_record(job.resolved, job.replica, outcome, training.parameters, member.diverged, facts)
            write_record(job.output, member.record)
        self.active = [member for member in self.active if not member.has_ended]
        if self.stack:
            self.stack.remove_all_but([member.training for member in self.active])
        # Only now: until the records are on the disk, the checkpoint is all there is.
        if not self.active and self.other_states:
            self.save()
        elif not self.active:
            self.checkpoint.remove()

    def _resume(self) -> None:
        self.checkpoint.load(self.progress.print_text, self._restore)
        if training := next((member.training for member in self.active if member.training.done), None):
            self.progress.print_text(f"goes on from {training.unit} {training.done:g}")

    def _restore(self, saved: dict[str, Any]) -> None:
        """Take over a checkpoint's state: all of it, so that what a damaged one left half done does not matter."""
        replicas = self.job.resolved.get_record_path
        try:
            states = dict(saved["training"]) if self.stack else {self.job.replica: saved["training"]}
            for member in self.members:
                if member.job.replica in states:
                    member.training.restore(states.pop(member.job.replica))
            trained = {r for r in states if entry_exists(self.job.output.with_name(Path(replicas(r)).name))}
            self.other_states = {r: state for r, state in states.items() if r not in trained}
            self.earlier_seconds, self.resumed = saved["seconds"], saved["resumed"] + 1
        except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            if is_memory_error(error):
                raise
            what = f"key {error} is missing" if isinstance(error, KeyError) else str(error).partition("\n")[0]
            raise DamagedCheckpoint(f"{what}: perhaps another version of Reprise made it") from error

    def measure_seconds(self) -> float:
        """Return the training time over all resumptions, in seconds."""
        return self.earlier_seconds + time.perf_counter() - self.began

    def save(self) -> None:
        """Save all active members in one file: a kill never leaves them at different steps."""
        start = time.perf_counter()
        states = {member.job.replica: member.training.state() for member in self.active}
        training = self.other_states | states if self.stack else states[self.job.replica]
        self.checkpoint.save({"training": training, "seconds": self.measure_seconds(), "resumed": self.resumed})
        now = time.perf_counter()
        self.save_at = now + max(self.pause, _WORK_PER_SAVE * (now - start))


@contextmanager
def torch_settings(threads: int = 1) -> Iterator[None]:
    """Set torch's global switches for trainings and restore them: CPU threads, and the same sums in every run.

    Around a whole command, not around one of several trainings that one process does at the same time.
    """
    memory = torch.utils.deterministic
    before = torch.get_num_threads(), torch.get_deterministic_debug_mode(), memory.fill_uninitialized_memory
    try:
        torch.set_num_threads(threads)
        torch.set_deterministic_debug_mode("warn")
        memory.fill_uninitialized_memory = False  # a kernel more for every tensor
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.set_deterministic_debug_mode(before[1])
        memory.fill_uninitialized_memory = before[2]


def reset_peak_memory() -> None:
    """Let Linux count this process's peak of memory anew, so that a record's is not that of a training before it."""
    with suppress(OSError):  # of a system that cannot: a later training's peak is then at least an earlier one's
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


@contextmanager
def catch_stop_signals() -> Iterator[Callable[[], str]]:
    """Turn SIGTERM, SIGINT and SIGHUP into a flag that is read between two pieces of work; yield its reader."""
    received: list[str] = []
    main = threading.current_thread() is threading.main_thread()
    numbers = [n for n in STOP_SIGNALS if signal.getsignal(n) is not signal.SIG_IGN] if main else []
    old = {n: signal.signal(n, lambda n, _: received.append(signal.Signals(n).name)) for n in numbers}
    try:
        yield lambda: received[0] if received else ""
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def find_device(job: Job) -> torch.device:
    """Return where the job's engine computes; `UserError` as of `choose_device`."""
    return choose_device(job.device, job.resolved.config["training"]["protocol"], job.engine)


def choose_device(name: str, protocol: str, engine: str) -> torch.device:
    """Choose where to compute; "auto" is a GPU where one is visible and protocol and engine can use it, else the CPU.

    Raises:
        UserError: "cuda" where that is not so.
    """
    obstacle = ""
    if not PROTOCOLS[protocol].gpu:
        obstacle = f"the protocol {protocol} runs on the CPU; write --device auto or cpu"
    elif engine not in ("auto", STACKED):
        obstacle = f"the engine {engine} runs on the CPU; choose engine: auto, or --device cpu"
    elif not torch.cuda.is_available():
        obstacle = "no GPU is visible to torch; write --device auto or cpu"
    if name == "cuda" and obstacle:
        raise UserError(f"--device cuda: {obstacle}")
    return torch.device(("cpu" if obstacle else "cuda") if name == "auto" else name)


def collect_run_facts(engine: str, device: torch.device, wall_seconds: float, resumed: int) -> dict[str, Any]:
    """Say how the numbers were made: engine, device, threads, versions, wall time (s) and peak memory (MiB).

    The peak is the process's: of trainings in threads side by side none has one of its own.
    """
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS, kilobytes elsewhere
    is_main = threading.current_thread() is threading.main_thread()
    memory = {"peak_memory_mib": round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)} if is_main else {}
    versions = {"reprise": reprise.__version__, "python": platform.python_version()}
    return {
        "engine": engine,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else f"cpu ({read_processor_name()})",
        "threads": torch.get_num_threads(),
        "wall_seconds": round(wall_seconds, 3),
        **memory,
        "resumed": resumed,
        "versions": versions | {"torch": torch.__version__, "numpy": np.__version__},
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }
