"""Stacks on a GPU as CUDA graphs: 1 replica, 8, 32, four stacks of 8, a sweep; beside them eager, and cuDNN's LSTM.
Of document 000's lines also the 5 folds, as one stack and as five side by side.

Rates are those of all replicas together. Beside them: the time of a sequential step (a word, or B words in parallel),
the kernels that a piece of work launches, and the shares of what the device's arithmetic and memory can do, both
measured in the same run. Without a GPU the same programs are called on the CPU.

A lent machine may be taken back at any moment: after each row the result so far is handed to whoever keeps it, what
goals need comes first, and kernels are counted when all is timed, since a profiler that has once been there may stay
and slow down what launches much.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch

from reprise.bench import gated_task, gpu_books, gpu_palindromes, gso_task, llrnn_task
from reprise.bench.ceilings import bytes_a_second, flops_a_second
from reprise.bench.goals import Goal, judge
from reprise.bench.gpu_rows import Tasks, count_kernels, made_row, no_row
from reprise.bench.gpu_table import show
from reprise.bench.machine import machine_facts
from reprise.bench.task import Workload
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

GOALS = (
    Goal((_R_RNTN.name, "graph-1"), 5.0, (_R_RNTN.name, "eager")),
    Goal((_R_RNTN.name, "graph-32"), 50.0, (_R_RNTN.name, "eager")),
    Goal((_R_GRU.name, "graph-1"), 5.0, (_R_GRU.name, "eager")),
    Goal((_GSO.name, "graph-1"), 5.0, (_GSO.name, "eager")),
    Goal((_GSO.name, "graph-32"), 20.0, (_GSO.name, "eager")),
    Goal((_GSO.name, "graph-5"), 4.0, (_GSO.name, "graph-1")),
    Goal((_GSO.name, "graph-5x1"), 4.0, (_GSO.name, "graph-1"), stretch=True),
    Goal((_PALINDROMES.name, "graph-1"), 5.0, (_PALINDROMES.name, "eager")),
    Goal((_BOOK.name, "graph-1"), 5.0, (_BOOK.name, "eager")),
    Goal((_LL_RNN.name, "graph-1"), 5.0, (_LL_RNN.name, "eager")),
    Goal((_LSTM.name, "graph-1"), 0.77, (_LSTM.name, "library"), stretch=True),
)

WITHOUT_GPU = ("eager", "called-1", "called-4")
"""What is measured on a CPU."""

SCHEMA = 2
Selected = Sequence[tuple[Any, Sequence[str]]]


def measure(
    name: str,
    bench: ModuleType,
    selected: Selected,
    budget: float,
    report: Callable[[str], None],
    minutes: float | None = None,
    save: Callable[[dict[str, Any]], None] = lambda result: None,
) -> dict[str, Any]:
    """Times the selected implementations of each workload; what `bench gpu --json FILE` writes.

    `budget` in seconds is for the repetitions of all; setting up and checking come on top. What would not fit into
    `minutes` of all this, by the rows before it, is left out. `save` gets the result after each row, `complete` False
    as long as anything is to come or was left out.
    """
    end = math.inf if minutes is None else time.monotonic() + 60 * minutes
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
    plan, tasks = _in_order(selected, bench.GOALS), Tasks()
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    places = [(workload.name, one) for workload, names in selected for one in names]

    def result(complete: bool) -> dict[str, Any]:
        found = [rows[place] for place in places if place in rows]
        _set_ratios(found)
        return {
            "schema": SCHEMA,
            "bench": name,
            "complete": complete,
            "machine": machine,
            "peak_gflops": ceilings["flops"] / 1e9 if ceilings else None,
            "bandwidth_gb_s": ceilings["bytes"] / 1e9 if ceilings else None,
            "workloads": [tasks.facts[workload.name] for workload, _ in selected if workload.name in tasks.facts],
            "rows": found,
            "goals": judge(bench.GOALS, found),
        }

    save(result(False))
    left_out = False
    for workload, implementation in plan:
        began, prepared = time.monotonic(), sum(tasks.seconds.values())
        needed = _needed(rows, tasks.seconds, workload.name)
        if began + needed > end:
            left_out = True
            why = f"{max(0.0, end - began):.0f} s are left of {minutes:g} minutes, a row like it takes {needed:.0f} s"
            row = no_row(workload, implementation) | {"note": f"left out: {why}"}
        else:
            row = made_row(workload, implementation, tasks, device, budget / len(plan), ceilings)
            row["seconds"] = time.monotonic() - began - (sum(tasks.seconds.values()) - prepared)
        rows[workload.name, implementation] = row
        report(f"{workload.name}: {row['implementation']}: {_said(row)}")
        save(result(False))
    for workload, implementation in plan:
        row = rows[workload.name, implementation]
        if row["median"] is None:
            continue
        if time.monotonic() + row["seconds"] > end:
            left_out = True
            report(f"{workload.name}: {row['implementation']}: kernels not counted, for want of time")
            continue
        row["kernels_a_piece"] = count_kernels(implementation, tasks.of(workload)[0], device)
        save(result(False))
    return result(not left_out)


def _in_order(selected: Selected, goals: Sequence[Goal]) -> list[tuple[Any, str]]:
    """What goals are about first."""
    wanted = {place for goal in goals for place in (goal.of, goal.over)}
    plan = [(workload, one) for workload, names in selected for one in names]
    return sorted(plan, key=lambda pair: (pair[0].name, pair[1]) not in wanted)


def _needed(rows: dict[tuple[str, str], dict[str, Any]], prepared: dict[str, float], workload: str) -> float:
    """Seconds that the longest row of the workload took, or of all where it has none.

    `prepared` says what making each workload took, once; where that is still to come, the longest comes on top.
    """
    of_all = {place: row["seconds"] for place, row in rows.items() if row["seconds"] is not None}
    own = [seconds for (name, _), seconds in of_all.items() if name == workload]
    making = 0.0 if workload in prepared else max(prepared.values(), default=0.0)
    return max(own or of_all.values(), default=0.0) + making


def _said(row: dict[str, Any]) -> str:
    rate = "" if row["median"] is None else f"{row['median']:,.0f} tokens/s"
    return ", ".join(part for part in (rate, row["note"] or "the same update", row["remark"]) if part)


def _set_ratios(rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        row["ratio_to"] = {
            other["implementation"]: row["median"] / other["median"]
            for other in rows
            if other is not row and other["workload"] == row["workload"] and row["median"] and other["median"]
        }
