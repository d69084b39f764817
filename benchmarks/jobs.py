"""How to use several cores: one of our jobs on each, as `snakemake --cores N` runs them, or members of one stack."""

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import BENCHES, tasks
from benchmarks.harness import PREPARATION_LIMIT, SCHEMA, WRONG, Report, collect_machine_facts, prepare_worker
from benchmarks.timing import Repetition, compute_ratio, interleave, summarise
from benchmarks.worker import Worker, WorkerFailed
from reprise.errors import Failed

STACKED = "stacked"
REPETITIONS = 9
"""Quiet repetitions after which a workload is done."""
SECONDS = 2.0
"""Of a repetition, at most."""


def run_jobs(
    bench: ModuleType,
    selected: Sequence[tuple[Any, Sequence[str]]],
    jobs: int,
    budget: float,
    report: Report,
    keep: Callable[[dict[str, Any]], None],
) -> dict[str, Any]:
    """Time our engine alone, `jobs` times at once, and a stack of `jobs` members on one thread and on as many.

    Args:
        bench: The benchmark's module.
        selected: Workloads, each with the names of implementations.
        jobs: How many work at once.
        budget: Seconds of the repetitions of all workloads together.
        report: Prints a line.
        keep: Gets the result after every workload.

    Returns:
        The content of `python -m benchmarks NAME --jobs N --json FILE`.

    Raises:
        Failed: A way computes another update than the readable model, or none.
    """
    name, cores = tasks.get_bench_name(bench), sorted(os.sched_getaffinity(0))[-jobs:]
    machine = collect_machine_facts(None) | {"pinned_to": cores}
    result = {"schema": SCHEMA, "bench": name, "jobs": jobs, "machine": machine, "workloads": [], "rows": []}
    for workload, _ in selected:
        with tempfile.TemporaryDirectory(prefix="reprise-bench-") as folder, ExitStack() as stack:
            task, facts = bench.make_task(workload, Path(folder))
            report(f"{workload.name}: {facts['text']}")
            try:
                rows = compare_ways(name, task, Path(folder), cores, budget / len(selected), stack)
            except WorkerFailed as failure:
                raise Failed(f"{workload.name}: {failure}") from None
        for row in rows:
            report(f"  {describe_way(row)}: {row['median']:,.0f} tokens/s")
        result["workloads"].append(workload.describe() | facts)
        result["rows"] += [{"workload": workload.name, **row} for row in rows]
        keep(result)
    return result


def compare_ways(
    bench: str, task: Any, folder: Path, cores: Sequence[int], seconds: float, stack: ExitStack
) -> list[dict[str, Any]]:
    """Return a row for each way to use the cores, all timed by turns; processes end with the `stack`.

    Raises:
        WorkerFailed: A way computes another update than the readable model, or none.
    """
    ours, expected = next(iter(BENCHES[bench])), tasks.compute_expected(task)

    def start_worker(implementation: str, cores: Sequence[int], members: int = 0) -> tuple[Worker, dict[str, Any]]:
        worker = stack.enter_context(closing(Worker(bench, implementation, folder, cores, members)))
        return worker, prepare_worker(worker, PREPARATION_LIMIT, expected, f"{implementation}: {WRONG}")

    single = [start_worker(ours, [core]) for core in cores]
    stacks = [start_worker(STACKED, some_cores, len(cores)) for some_cores in (cores[:1], cores)]
    ways = {
        (ours, 1, 1, 1): (run_by_turns, single),
        (ours, len(cores), 1, 1): (run_at_once, single),
        (STACKED, 1, len(cores), 1): (run_at_once, stacks[:1]),
        (STACKED, 1, len(cores), len(cores)): (run_at_once, stacks[1:]),
    }
    seconds_each = min(SECONDS, seconds / (REPETITIONS * (len(ways) + len(cores) - 1)))
    runs = {way: partial(run, started, seconds_each) for way, (run, started) in ways.items()}
    names = ("implementation", "jobs", "members", "threads")
    timed = interleave(runs, REPETITIONS, seconds)
    jobs = timed[ours, len(cores), 1, 1]
    return [
        dict(zip(names, way, strict=True))
        | {"unit": "tokens/s", "ratio_to_jobs": compute_ratio(repetitions, jobs)}
        | summarise(repetitions)
        for way, repetitions in timed.items()
    ]


def run_at_once(started: Sequence[tuple[Worker, dict[str, Any]]], seconds: float) -> Repetition:
    """Let processes work for about so many seconds; return what all of them do in one second.

    Each takes the others for a disturbance, so their time is left out.
    """
    block, pace = started[0][1]["block"], started[0][1]["seconds_a_piece"]
    for worker, _ in started:
        worker.start(block * max(1, round(seconds / pace / block)))
    repetitions = [worker.finish(60 + 20 * seconds) for worker, _ in started]
    shares = [one.others / one.seconds for one in repetitions if one.others is not None]
    disturbed = max(0.0, max(shares) - (len(repetitions) - 1)) if len(shares) == len(repetitions) else None
    return Repetition(sum(one.rate for one in repetitions), 1.0, disturbed)


def run_by_turns(started: Sequence[tuple[Worker, dict[str, Any]]], seconds: float) -> Repetition:
    """Let processes work one after another, about so many seconds each; return the mean of what they do in one second.

    So one job is timed on every core that N jobs use. On a rented machine one core may be slower than another.
    """
    repetitions = [run_at_once([one], seconds) for one in started]
    shares = [one.others for one in repetitions]
    disturbed = None if None in shares else max(shares)
    return Repetition(sum(one.rate for one in repetitions) / len(repetitions), 1.0, disturbed)


def describe_way(row: dict[str, Any]) -> str:
    """Return a way in words."""
    if row["implementation"] == STACKED:
        return f"{row['members']} members of a stack, threads: {row['threads']}"
    return f"{row['implementation']}, jobs: {row['jobs']}"
