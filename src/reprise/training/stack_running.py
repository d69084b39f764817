"""A stack in training as its runner sees it: how it is set up, what it says, how long it will take."""

from __future__ import annotations

import gc
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from reprise.errors import UserError
from reprise.records.resolved import Resolved
from reprise.training.checkpoint import CheckpointFile
from reprise.training.loop import Job
from reprise.training.protocol import told_of
from reprise.training.stack_families import family_of
from reprise.training.stack_member import Member
from reprise.training.stack_training import Say, StackTraining

_PRECISIONS = {"float32": "highest", "float64": "highest", "tf32": "high"}
"""What torch calls them for products of float32 matrices."""

_BYTES_A_SECOND = 200e6  # of a save, until one has been timed
_PROBE_SECONDS = 10.0


@dataclass
class Running:
    """A stack that trains, and what is known of its speed. `aside`: it was put off once for want of time."""

    jobs: list[Job]
    epochs: StackTraining
    locks: ExitStack
    precision: str
    aside: bool
    save_seconds: float
    told: str = ""  # why it runs without graphs
    began: float = field(default_factory=time.monotonic)
    saved_at: float = field(default_factory=time.monotonic)
    epoch_began: float = field(default_factory=time.monotonic)
    measured: tuple[float, float] | None = None  # when, and at how many epochs

    @property
    def title(self) -> str:
        more = len(self.epochs.members) - 1
        return self.epochs.members[0].job.resolved.id + (f" and {more} more" if more else "")

    def seconds_left(self, usual: Callable[[Resolved], float | None]) -> float | None:
        """How long it will take from here, None before that can be told."""
        now = time.monotonic()
        if self.measured is None:
            if now - self.began > _PROBE_SECONDS / 2:  # what is done once does not count
                self.measured = now, self.epochs.progress
            return None
        since, before = self.measured
        progress = self.epochs.progress
        if now - since < _PROBE_SECONDS or progress <= before:
            return None
        return self.epochs.left(usual) * (now - since) / (progress - before)

    def epoch_line(self) -> str:
        """What the epoch (or the steps) that has just been closed brought; begins the next one."""
        now = time.monotonic()
        seconds, self.epoch_began = now - self.epoch_began, now
        self.epochs.closed += 1
        return f"{self.title}: {self.epochs.line(seconds)}"


def start(
    jobs: list[Job],
    saved: Sequence[tuple[CheckpointFile, Any]],
    locks: ExitStack,
    aside: bool,
    device: torch.device,
    checked: bool,
    say: Say,
) -> Running:
    """A stack of `jobs` with their checkpoints, checked if it is to be, before its next piece of work."""
    config = jobs[0].resolved.config
    choose_precision(config["precision"], device)
    family = family_of(config, jobs[0].corpus)
    models = [_model(family, job) for job in jobs]
    sizes = [sum(p.numel() for p in model.parameters()) for model in models]
    members = [
        Member(job, family.schedule(job), size, *state) for job, size, state in zip(jobs, sizes, saved, strict=True)
    ]
    epochs = family.epochs(family, members, models, [state for _, state in saved], device, checked, say)
    return Running(jobs, epochs, locks, config["precision"], aside, 1.0 + 4 * sum(sizes) / _BYTES_A_SECOND)


def _model(family: Any, job: Job) -> nn.Module:
    with told_of(job.resolved):
        return family.model(job.resolved.config["model"], job.replica)


def choose_precision(name: str, device: torch.device) -> None:
    """How products of float32 matrices are rounded from now on; UserError where the device cannot do it."""
    if name not in _PRECISIONS or (name == "tf32" and device.type != "cuda"):
        raise UserError(f"precision: a stack on this device does not compute in {name!r}; write float32")
    torch.set_float32_matmul_precision(_PRECISIONS[name])
    torch.backends.cudnn.allow_tf32 = name == "tf32"  # torch's own layers would round to it by themselves


def make_room(error: BaseException, device: torch.device) -> None:
    """Gives back the memory of a stack that `error` came out of: until it is gone, its frames hold what they made."""
    at: BaseException | None = error
    while at is not None:
        traceback.clear_frames(at.__traceback__)
        at = at.__context__
    gc.collect()
    if device.type == "cuda":
        with suppress(RuntimeError):  # other stacks go on all the same
            torch.cuda.empty_cache()


def given_up(device: torch.device) -> bool:
    """Whether the device answers no more: after some errors nothing but another process gets it to work again."""
    if device.type != "cuda":
        return False
    try:
        torch.cuda.synchronize(device)
    except RuntimeError:
        return True
    return False
