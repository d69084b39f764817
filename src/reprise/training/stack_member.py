"""One replica of a stack: its schedule, its checkpoint and its record, all its own."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor

from reprise.records.record import Outcome, make_record, write_record
from reprise.training.checkpoint import CheckpointFile
from reprise.training.loop import Job
from reprise.training.protocol import Diverged
from reprise.training.run_facts import run_facts
from reprise.training.schedule import SPLITS

ENGINE = "stacked"


class Schedule(Protocol):
    """What a replica knows of its own course, whoever else is in the stack."""

    options: Mapping[str, Any]
    learning_rate: float
    epoch: int  # epochs closed
    history: list[dict[str, float]]  # losses of each, nats/token by split

    @property
    def finished(self) -> bool: ...
    def schedule_state(self) -> dict[str, Any]: ...
    def restore_schedule(self, state: Mapping[str, Any]) -> None: ...
    def outcome(self) -> Outcome: ...


class Member:
    """A replica. `saved` is what its checkpoint held, if there was one; `parameters` counts its model's.

    A stack's checkpoints have the suffix .stacked: an engine of one replica alone keeps its own.
    """

    def __init__(self, job: Job, schedule: Schedule, parameters: int, checkpoint: CheckpointFile, saved: Any) -> None:
        self.job, self.schedule, self.parameters, self.checkpoint = job, schedule, parameters, checkpoint
        self.diverged: dict[str, Any] | None = None
        self.kept: Mapping[str, Tensor] | None = None  # parameters that an undone epoch goes back to
        self.before, self.resumed = 0.0, 0
        if saved is not None:
            schedule.restore_schedule(saved["training"])
            self.kept = saved["training"].get("kept")
            self.before, self.resumed = saved["seconds"], saved["resumed"] + 1
        self.began = time.perf_counter()

    @property
    def active(self) -> bool:
        return not self.schedule.finished and self.diverged is None

    @property
    def learning_rate(self) -> float:
        """0 once the replica has stopped: then it does not change any more."""
        return self.schedule.learning_rate if self.active else 0.0

    def close_epoch(self, losses: Mapping[str, float]) -> bool:
        """Takes the losses of an epoch, nats/token by split; True where the schedule undoes its updates."""
        try:
            if not math.isfinite(losses["train"]):
                raise Diverged(epoch=self.schedule.epoch + 1, quantity="training loss")
            return self.schedule.close_epoch({split: losses[split] for split in SPLITS})
        except Diverged as where:
            self.diverged = where.where
            return False

    def seconds(self) -> float:
        """Training time over all resumptions, that of the whole stack."""
        return self.before + time.perf_counter() - self.began

    def save(self, training: Mapping[str, Any]) -> None:
        """Writes a checkpoint: `training` is what the stack knows, the schedule is added."""
        state = {**training, **self.schedule.schedule_state(), **({"kept": dict(self.kept)} if self.kept else {})}
        self.checkpoint.save({"training": state, "seconds": self.seconds(), "resumed": self.resumed})

    def write(self, device: torch.device, replicas: int) -> dict[str, Any]:
        """Leaves the record of a finished or diverged replica, and removes its checkpoint."""
        facts = run_facts(ENGINE, device, self.seconds(), self.resumed) | {"stack_replicas": replicas}
        if device.type == "cuda":
            # Stacks that train side by side share torch's allocator, and its count: no stack has one of its own.
            facts["peak_gpu_memory_mib_of_process"] = round(torch.cuda.max_memory_allocated(device) / 2**20, 1)
        job = self.job
        record = make_record(job.resolved, job.replica, self.schedule.outcome(), self.parameters, self.diverged, facts)
        write_record(job.output, record)
        # Only now: until the record is on the disk, the checkpoint is all there is.
        self.checkpoint.remove()
        return record


def checkpoint_of(job: Job) -> CheckpointFile:
    """The checkpoint of a replica in a stack."""
    return CheckpointFile(job.state_path.with_suffix(".stacked"), job.resolved.config_hash, ENGINE, job.replica)


def saved_state(job: Job, say: Callable[[str], None]) -> tuple[CheckpointFile, Any]:
    """The checkpoint of a replica and what it holds, None where there is none yet."""
    checkpoint = checkpoint_of(job)
    return checkpoint, checkpoint.load(say)
