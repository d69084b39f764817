"""One replica alone as a stack, for `reprise train` with `engine: stacked`."""

from __future__ import annotations

import math
import sys

import torch

from reprise.errors import Interrupted, UserError
from reprise.training.loop import Job, stop_signal
from reprise.training.stack import StackRunner
from reprise.training.stack_plan import stack_key


def train_alone(job: Job) -> None:
    """A stack of one, for `engine: stacked` on a single replica.

    Raises `Interrupted` where it was stopped, its state saved, or is trained by another process, and `UserError` where
    a stack cannot train it.
    """
    if stack_key(job.resolved) is None:
        raise UserError(f"engine: stacked: {job.resolved.id} has no stack; choose engine: auto")
    on_gpu = job.device != "cpu" and torch.cuda.is_available()
    if job.device == "cuda" and not on_gpu:
        raise UserError("--device cuda: no GPU is visible to torch; write --device auto or cpu")
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        print(line, file=sys.stderr, flush=True)

    runner = StackRunner([[job]], on_gpu, lambda: math.inf, lambda _: None, say)
    with stop_signal() as stopped:
        runner.run(stopped)
    if runner.failed:
        raise UserError(said[-1])
    if not job.output.exists():
        raise Interrupted(said[-1])
