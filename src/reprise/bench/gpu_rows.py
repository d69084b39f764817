"""The rows of `bench gpu`: an implementation is set up, checked and timed, and whatever goes wrong is its note."""

from __future__ import annotations

import gc
import math
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from reprise.bench import (
    gated,
    gated_task,
    gpu_books,
    gpu_implementations,
    gpu_lines,
    gpu_loglinear,
    gpu_palindromes,
    gso_task,
    llrnn_task,
    rrntn,
)
from reprise.bench.run import WRONG, disagreement
from reprise.bench.task import Workload, checked
from reprise.bench.timing import Repetition, summarise
from reprise.bench.worker import Stream

_SOURCES = {
    Workload: rrntn,
    gated_task.Workload: gated,
    gso_task.Workload: gpu_lines,
    gpu_palindromes.Workload: gpu_palindromes,
    gpu_books.Workload: gpu_books,
    llrnn_task.Workload: gpu_loglinear,
}
_REPETITIONS, _REPETITION_SECONDS = 5, 0.5


class Tasks:
    """The workloads' tasks, each made when it is first asked for.

    `facts` are those of all that were, and `seconds` how long each took, by name.
    """

    def __init__(self) -> None:
        self.facts: dict[str, dict[str, Any]] = {}
        self.seconds: dict[str, float] = {}
        self._made: dict[str, tuple[Any, dict[str, Any]] | Exception] = {}

    def of(self, workload: Any) -> tuple[Any, dict[str, Any]]:
        """A task, and what every implementation has to compute; raises again what once prevented it."""
        if workload.name not in self._made:
            began = time.monotonic()
            try:
                self._made[workload.name] = self._make(workload)
            except Exception as error:
                self._made[workload.name] = error.with_traceback(None)  # whose frames would hold what they made
            self.seconds[workload.name] = time.monotonic() - began
        found = self._made[workload.name]
        if isinstance(found, Exception):
            raise found
        return found

    def _make(self, workload: Any) -> tuple[Any, dict[str, Any]]:
        source = _SOURCES[type(workload)]
        with tempfile.TemporaryDirectory(prefix="reprise-bench-") as folder:
            task, facts = source.make_task(workload, Path(folder))
        self.facts[workload.name] = workload.described() | facts
        return task, source.expected(task)


def no_row(workload: Any, implementation: str) -> dict[str, Any]:
    """A row without numbers."""
    return {
        "workload": workload.name,
        "implementation": implementation,
        "threads": 1,
        "replicas": None,
        "unit": "tokens/s",
        **dict.fromkeys(("median", "low", "high")),
        "reps": 0,
        "quiet_reps": 0,
        "share_of_peak": None,
        "share_of_bandwidth": None,
        "microseconds_a_step": None,
        "kernels_a_piece": None,
        "seconds": None,
        "ratio_to": {},
        "note": None,
        "remark": None,
    }


def made_row(
    workload: Any,
    implementation: str,
    tasks: Tasks,
    device: torch.device,
    seconds: float,
    ceilings: dict[str, float],
) -> dict[str, Any]:
    """The row of an implementation that is timed for so many seconds; without numbers, and a note why, if it fails.

    One that should have become graphs and did not is another implementation: `uncaptured-...`, with a note.
    """
    row = no_row(workload, implementation)
    try:
        task, expected = tasks.of(workload)
        made = gpu_implementations.make(implementation, task, device)
        row["replicas"] = made.replicas
        if difference := disagreement(expected, checked(task, made)):
            return row | {"note": f"{WRONG}: {difference}"}
        repetitions = _repetitions(Stream(task, made), made, device, seconds)
        row |= vars(summarise(repetitions))
        row["microseconds_a_step"] = 1e6 * row["replicas"] * _words_a_step(task) / row["median"]
        if ceilings:
            row["share_of_peak"] = row["median"] * workload.flops_a_token / ceilings["flops"]
            row["share_of_bandwidth"] = row["median"] * gpu_implementations.bytes_a_token(task) / ceilings["bytes"]
        if device.type == "cuda":
            row["remark"] = getattr(made, "remark", None)
        if implementation.startswith("graph") and (why := made.not_captured(device)):
            row["implementation"] = implementation.replace("graph", "uncaptured", 1)
            row["note"] = f"not captured: {why}"
    except NotImplementedError as missing:
        return no_row(workload, implementation) | {"note": str(missing)}
    except Exception as error:  # the rows of others are worth more than a clean end
        lines = str(error).strip().splitlines()
        return no_row(workload, implementation) | {"note": f"{type(error).__name__}: {lines[0] if lines else ''}"}
    finally:
        made = None
        give_memory_back(device)
    return row


def count_kernels(implementation: str, task: Any, device: torch.device) -> int | None:
    """Kernels that an implementation launches for a piece of work, called; None where they cannot be counted."""
    try:
        made = gpu_implementations.make(implementation, task, device)
        made.train(0, task.block)
        piece = task.block % len(task)
        return gpu_implementations.kernels_of(lambda: made.train_called(piece), device)
    except Exception:  # it was timed all the same
        return None
    finally:
        made = None
        give_memory_back(device)


def give_memory_back(device: torch.device) -> None:
    """Of what nobody refers to any more."""
    gc.collect()
    if device.type == "cuda":
        with suppress(RuntimeError):  # of a device that has given up
            torch.cuda.synchronize(device)
            torch.cuda.empty_cache()


def _repetitions(stream: Stream, made: Any, device: torch.device, seconds: float) -> list[Repetition]:
    """Repetitions of some tenths of a second each, after all programs have been captured."""
    # Twice: the first time through the text a program is called, the second time it is captured.
    for _ in range(2):
        stream.advance(made.warm)
    start = time.perf_counter()
    stream.advance(made.warm)
    pace = (time.perf_counter() - start) / made.warm
    count = made.block * max(1, math.ceil(min(_REPETITION_SECONDS, seconds / _REPETITIONS) / pace / made.block))
    found = []
    for _ in range(_REPETITIONS):
        one = stream.timed(count)
        if "failed" in one:
            raise RuntimeError(one["failed"])
        found.append(Repetition(one["tokens"] * made.replicas, one["seconds"], one["others"]))
    return found


def _words_a_step(task: Any) -> float:
    """Words that a replica reads in one step of time."""
    if isinstance(task, llrnn_task.Task):
        return gpu_loglinear.targets_a_step(task)
    if type(task) in gpu_implementations.BY_STEPS:
        return gpu_implementations.BY_STEPS[type(task)].BATCH
    if isinstance(task, gso_task.Task):
        return gpu_lines.lines_a_step(task)
    return task.x.shape[2] if isinstance(task, gated_task.Task) else 1
