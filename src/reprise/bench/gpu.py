"""Stacks on a GPU as CUDA graphs: 1 replica, 8, 32, four stacks of 8, a sweep; beside them eager, and cuDNN's LSTM.
Of document 000's lines also the 5 folds.

Rates are those of all replicas together. Beside them: the time of a sequential step (a word, or B words in parallel),
the kernels that a piece of work launches, and the shares of what the device's arithmetic and memory can do, both
measured in the same run. Without a GPU the same programs are called on the CPU.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
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
from reprise.bench.ceilings import bytes_a_second, flops_a_second
from reprise.bench.goals import Goal, judge
from reprise.bench.gpu_table import show
from reprise.bench.machine import machine_facts
from reprise.bench.run import WRONG, disagreement
from reprise.bench.task import Workload, update_norms
from reprise.bench.timing import Repetition, summarise
from reprise.bench.worker import Stream
from reprise.training.stack_running import choose_precision

__all__ = ["GOALS", "WORKLOADS", "measure", "show"]

_R_RNTN = Workload("ptb-h100-k100", "ptb", 10_000, hidden=100, matrices=100, sentences=True)
_R_GRU = gated_task.Workload("r-gru-244-k100", "gru", hidden=244, matrices=100)
_LSTM = gated_task.Workload("lstm-254", "lstm", hidden=254)
_GSO = gso_task.Workload("gso-486", "gso", hidden=486, second_order=486)
_PALINDROMES = gpu_palindromes.Workload("palindromes-t100", length=100)
_BOOK = gpu_books.Workload("book-2x128", vocabulary=72)
_LL_RNN = llrnn_task.Workload("ll-m2500", batch=128, top=2500)
_SOFTMAX_RNN = llrnn_task.Workload("softmax-rnn", batch=128, top=0)
WORKLOADS = (_R_RNTN, _R_GRU, _LSTM, _GSO, _PALINDROMES, _BOOK, _LL_RNN, _SOFTMAX_RNN)
_SOURCES = {
    Workload: rrntn,
    gated_task.Workload: gated,
    gso_task.Workload: gpu_lines,
    gpu_palindromes.Workload: gpu_palindromes,
    gpu_books.Workload: gpu_books,
    llrnn_task.Workload: gpu_loglinear,
}

GOALS = (
    Goal((_R_RNTN.name, "graph-1"), 5.0, (_R_RNTN.name, "eager")),
    Goal((_R_RNTN.name, "graph-32"), 50.0, (_R_RNTN.name, "eager")),
    Goal((_R_GRU.name, "graph-1"), 5.0, (_R_GRU.name, "eager")),
    Goal((_GSO.name, "graph-1"), 5.0, (_GSO.name, "eager")),
    Goal((_GSO.name, "graph-32"), 20.0, (_GSO.name, "eager")),
    Goal((_GSO.name, "graph-5"), 4.0, (_GSO.name, "graph-1")),
    Goal((_PALINDROMES.name, "graph-1"), 5.0, (_PALINDROMES.name, "eager")),
    Goal((_BOOK.name, "graph-1"), 5.0, (_BOOK.name, "eager")),
    Goal((_LL_RNN.name, "graph-1"), 5.0, (_LL_RNN.name, "eager")),
    Goal((_LSTM.name, "graph-1"), 0.77, (_LSTM.name, "library"), stretch=True),
)

WITHOUT_GPU = ("eager", "called-1", "called-4")
"""What is measured on a CPU."""

SCHEMA = 1
_REPETITIONS, _REPETITION_SECONDS = 5, 0.5


def measure(
    name: str,
    bench: ModuleType,
    selected: Sequence[tuple[Any, Sequence[str]]],
    budget: float,
    report: Callable[[str], None],
) -> dict[str, Any]:
    """Times the selected implementations of each workload; what `bench gpu --json FILE` writes.

    `budget` in seconds is for the repetitions of all; setting up and checking come on top.
    """
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", 0) if on_gpu else torch.device("cpu")
    choose_precision("float32", device)
    torch.set_num_threads(1)
    machine = machine_facts(None)
    if on_gpu:
        machine["device"] = torch.cuda.get_device_name(device)
    else:
        report("no GPU is visible: only the CPU part, the same programs called; nothing of a GPU is measured")
        selected = [(w, [i for i in names if i in WITHOUT_GPU]) for w, names in selected]
    # A CPU's arithmetic is measured by `bench rrntn`; here it is the device's that counts.
    ceilings = {"flops": flops_a_second(device), "bytes": bytes_a_second(device)} if on_gpu else {}
    count = max(1, sum(len(names) for _, names in selected))
    rows, workloads = [], []
    for workload, names in selected:
        with tempfile.TemporaryDirectory(prefix="reprise-bench-") as folder:
            source = _SOURCES[type(workload)]
            task, facts = source.make_task(workload, Path(folder))
        workloads.append(workload.described() | facts)
        report(f"{workload.name}: {facts['text']}")
        expected = source.expected(task)
        for implementation in names:
            row = _row(workload, implementation, task, expected, device, budget / count, ceilings)
            report(f"  {implementation}: {row['note'] or 'the same update'}")
            rows.append(row)
    for row in rows:
        row["ratio_to"] = {
            other["implementation"]: row["median"] / other["median"]
            for other in rows
            if other is not row and other["workload"] == row["workload"] and row["median"] and other["median"]
        }
    return {
        "schema": SCHEMA,
        "bench": name,
        "machine": machine,
        "peak_gflops": ceilings["flops"] / 1e9 if ceilings else None,
        "bandwidth_gb_s": ceilings["bytes"] / 1e9 if ceilings else None,
        "workloads": workloads,
        "rows": rows,
        "goals": judge(bench.GOALS, rows),
    }


def _row(
    workload: Any,
    implementation: str,
    task: Any,
    expected: dict[str, Any],
    device: torch.device,
    seconds: float,
    ceilings: dict[str, float],
) -> dict[str, Any]:
    row: dict[str, Any] = {
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
        "ratio_to": {},
        "note": None,
    }
    try:
        made = gpu_implementations.make(implementation, task, device)
        row["replicas"] = made.replicas
        loss = made.train(0, task.block)
        norms = update_norms(task.weights, made.parameters())
        if difference := disagreement(expected, {"loss": loss, "update_norms": norms}):
            return row | {"note": f"{WRONG}: {difference}"}
        piece = task.block % len(task)
        row["kernels_a_piece"] = gpu_implementations.kernels_of(lambda: made.train_called(piece), device)
        repetitions = _repetitions(Stream(task, made), made, device, seconds)
    except NotImplementedError as missing:
        return row | {"note": str(missing)}
    except RuntimeError as error:
        return row | {"note": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
    finally:
        made = None
        if device.type == "cuda":
            torch.cuda.empty_cache()
    row |= vars(summarise(repetitions))
    row["microseconds_a_step"] = 1e6 * row["replicas"] * _words_a_step(task) / row["median"]
    if ceilings:
        row["share_of_peak"] = row["median"] * workload.flops_a_token / ceilings["flops"]
        row["share_of_bandwidth"] = row["median"] * gpu_implementations.bytes_a_token(task) / ceilings["bytes"]
    return row


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
