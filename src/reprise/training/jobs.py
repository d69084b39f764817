"""Jobs: replicas of an experiment in, a run record each out, whatever happens in between.

A job holds the lock of its replica. Replicas train one after another, or together in a stack where a GPU helps.
"""

import gc
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from heapq import nlargest
from typing import Any

import torch

from reprise.catalogue.checks import run_check
from reprise.engines.stack import NAME as STACKED
from reprise.engines.stack import OutOfMemory, Stack
from reprise.errors import report_memory
from reprise.files import entry_exists
from reprise.records.record import Outcome, load_record, make_metric, make_record, write_record
from reprise.records.resolved import Resolved
from reprise.training.checkpoint import CheckpointFile
from reprise.training.devices import has_network
from reprise.training.locks import LockHeld, lock_replica
from reprise.training.protocol import build_training, report_model
from reprise.training.provenance import collect_code_facts
from reprise.training.run_facts import collect_run_facts, reset_peak_memory
from reprise.training.torch_state import choose_device
from reprise.training.trainer import Job, ReplicaTraining, Trainer

_LOG = logging.getLogger(__name__)
# Settings that say how long, not how large.
_TIMES = ("steps", "updates", "epochs", "every", "patience", "seed")


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
    stacked = is_stacked(jobs[0])
    with _lock_jobs(jobs, stacked) as locked:
        # Another process may have finished some while this one waited for the lock.
        records = {j.replica: load_record(j.output, j.resolved, j.replica) for j in locked if entry_exists(j.output)}
        remaining = [job for job in locked if job.replica not in records]
        new_records = _train_remaining(remaining, stacked) if remaining else []
        records |= {record["replica"]: record for record in new_records}
        return [records[job.replica] for job in locked]


@contextmanager
def _lock_jobs(jobs: Sequence[Job], stacked: bool) -> Iterator[list[Job]]:
    """Hold the locks of replicas, and that of their stack; yield the jobs that no other process holds.

    Raises:
        LockHeld: Other processes hold the stack, or all replicas.
    """
    first = jobs[0]
    with ExitStack() as locks:
        if stacked:
            path = first.get_path("stack").with_suffix(".lock")
            locks.enter_context(lock_replica(path, first.resolved.id, first.wait))
        locked, busy = [], None
        for job in jobs:
            try:
                locks.enter_context(lock_replica(job.get_path(job.replica).with_suffix(".lock"), job.title, job.wait))
                locked.append(job)
            except LockHeld as error:
                busy = error
        if busy and not locked:
            raise busy
        yield locked


def _train_remaining(jobs: Sequence[Job], stacked: bool) -> list[dict[str, Any]]:
    """Train replicas, or run a check; turn what memory or the user's model refuses into a `UserError`."""
    resolved = jobs[0].resolved
    remedy = f"make {_name_largest_settings(resolved)} smaller in config/papers/{resolved.paper}.yaml"
    with report_memory(resolved.id, remedy), report_model(resolved):
        if stacked:
            return _train_stack(jobs)
        if resolved.is_check:
            return [_run_check(job) for job in jobs]
        return [_train([job], stacked=False)[0] for job in jobs]


def is_stacked(job: Job) -> bool:
    """Return whether the replica trains in a stack: by its engine, or with engine auto where a GPU helps."""
    return has_network(job.resolved) and (job.engine == STACKED or _find_device(job).type == "cuda")


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
    """Train replicas as one stack. If memory does not suffice, train two halves in turn."""
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
    first, device = jobs[0], _find_device(jobs[0])
    if stacked:
        name, replica = "stack", -1
        engine = Stack(device, lambda line: _LOG.warning("%s: %s", first.resolved.id, line))
    else:
        name, replica = str(first.replica), first.replica
        # Where a stack is the configured engine, what none can train has its own.
        engine = "auto" if first.engine == STACKED else first.engine
    members = [ReplicaTraining(job, build_training(job.resolved, job.replica, job.corpus, engine)) for job in jobs]
    path, engine_name = first.get_path(name).with_suffix(".ckpt"), members[0].training.engine_name
    checkpoint = CheckpointFile(path, first.resolved.config_hash, engine_name, replica)
    return Trainer(members, checkpoint, device, engine if stacked else None).run()


def _find_device(job: Job) -> torch.device:
    """Return where the job's engine computes; `UserError` as of `choose_device`."""
    return choose_device(job.device, job.resolved.config["training"]["protocol"], job.engine)
