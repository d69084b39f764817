"""Runs a benchmark: every implementation is checked, then all are timed by turns; goals and tables of the result."""

import contextlib
import dataclasses
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from importlib import metadata
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from benchmarks import tasks
from benchmarks.goals import Goal
from benchmarks.limits import CoreProbe, compute_lower_limit, find_level, measure_bandwidths, measure_peak
from benchmarks.timing import Repetition, compute_ratio, interleave, summarise
from benchmarks.worker import Worker, WorkerFailed

SCHEMA = 1
REPETITIONS = 7
"""Quiet repetitions of each implementation after which a workload is done."""

REPETITION_SECONDS = 1.0
PREPARATION_LIMIT = 300.0
"""Seconds that an implementation may take to check itself and to compile."""

LOSS_TOLERANCE, UPDATE_TOLERANCE = 1e-4, 1e-3
LOG_PERPLEXITY_TOLERANCE = 1e-6
"""Nats per token between an engine of ours and the dense computation in float64, where a benchmark asks for it."""
WRONG = "wrong"

Report = Callable[[str], None]


def run_bench(
    name: str,
    bench: ModuleType,
    selected: Sequence[tuple[Any, Sequence[str]]],
    budget: float,
    report: Report,
    keep: Callable[[dict[str, Any]], None] = lambda result: None,
) -> dict[str, Any]:
    """Time the selected implementations of each workload.

    Args:
        name: The benchmark's name.
        bench: Its module.
        selected: Workloads, each with the names of implementations.
        budget: Seconds of the repetitions of all workloads together. Checks and compilation come on top, except on a
            GPU, where the budget includes them.
        report: Prints a line.
        keep: Gets the result after every workload, so that an interruption leaves those that are done.

    Returns:
        The content of `python -m benchmarks NAME --json FILE`.
    """
    on_gpu = getattr(bench, "ON_GPU", False)
    with pin_process() as core:
        head = {"schema": SCHEMA, "bench": name, "machine": collect_machine_facts(core), "peak_gflops": None}
        head |= {"bandwidth_gb": None if on_gpu else measure_bandwidths()}
        peak = None if on_gpu else measure_peak()
        measure_core = (lambda: None) if on_gpu else CoreProbe().measure_share
        rows, workloads = [], []
        end = time.monotonic() + budget
        for number, (workload, implementations) in enumerate(selected):
            seconds = budget / len(selected)
            if on_gpu:  # of what is left, for at most as many as there are families
                seconds = (end - time.monotonic()) / min(len(selected) - number, len(bench.FIRST))
                if seconds <= 0:
                    report(f"{workload.name}: not timed; the budget is used up")
                    continue
            description, timed_rows = _time_workload(
                name, bench, workload, implementations, seconds, report, measure_core
            )
            workloads.append(description)
            rows += timed_rows
            # The better of two: a disturbance at the start would make all look close to the peak.
            peak = max(peak, measure_peak(0.1) or peak) if peak else None
            result = head | {"peak_gflops": peak, "workloads": workloads, "rows": rows}
            set_shares(result)
            keep(result)
    return result


def _time_workload(
    name: str,
    bench: ModuleType,
    workload: Any,
    implementations: Sequence[str],
    seconds: float,
    report: Report,
    measure_core: Callable[[], float | None],
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what a workload is, and a row an implementation."""
    budget = Budget(seconds, includes_checks=getattr(bench, "ON_GPU", False))
    with tempfile.TemporaryDirectory(prefix="reprise-bench-") as folder:
        task, facts = bench.make_task(workload, Path(folder))
        facts["traffic"] = [{"bytes_a_token": passed, "from": find_level(size)} for passed, size in task.traffic]
        expected = tasks.compute_expected(task)
        report(f"{workload.name}: {facts['text']}")
        compared = compare_implementations(name, Path(folder), expected, implementations, budget, report, measure_core)
    return workload.describe() | facts, [{"workload": workload.name, **row} for row in compared]


def set_shares(result: dict[str, Any]) -> None:
    """Set the shares of the core's peak and of the limit of its roofline in every row of a result."""
    peak, workloads = result["peak_gflops"], {workload["name"]: workload for workload in result["workloads"]}
    for row in result["rows"] if peak else ():
        workload = workloads[row["workload"]]
        flops = workload["flops_a_token"]
        traffic = [(part["bytes_a_token"], part["from"]) for part in workload["traffic"]]
        limit = compute_lower_limit(flops, traffic, peak, result["bandwidth_gb"])
        if row["median"]:
            row["share_of_peak"] = row["median"] * flops / (peak * 1e9)
            row["share_of_limit"] = row["median"] / limit if limit else None


class Budget(NamedTuple):
    """The seconds of a workload's repetitions.

    With `includes_checks` they are those of checks and compilation as well, of which a quarter is kept for repetitions.
    """

    seconds: float
    includes_checks: bool = False

    def limit_preparation(self, end: float) -> float:
        """Return the seconds that the next check and compilation may take, where all have to be done by `end`."""
        if not self.includes_checks:
            return PREPARATION_LIMIT
        return min(PREPARATION_LIMIT, max(0.0, end - time.monotonic() - self.seconds / 4))

    def limit_repetitions(self, end: float) -> float:
        """Return the seconds that are left for repetitions once all are prepared."""
        return max(0.0, end - time.monotonic()) if self.includes_checks else self.seconds


def compare_implementations(
    bench: str,
    folder: Path,
    expected: Mapping[str, Any],
    implementations: Iterable[str],
    budget: Budget,
    report: Report,
    measure_core: Callable[[], float | None] = lambda: None,
) -> list[dict[str, Any]]:
    """Return a row an implementation: its speed, or in `note` why there is none.

    `measure_core` returns the share of its speed that the core gives.
    """
    end = time.monotonic() + budget.seconds
    with ExitStack() as stack:
        comparison = _Comparison(bench, folder, expected, report, measure_core, stack)
        for name in implementations:
            comparison.prepare(name, budget.limit_preparation(end))
        comparison.time(budget.limit_repetitions(end))
    return list(comparison.rows.values())


class _Comparison:
    """The implementations of one workload, each in a process of its own, which ends with the `stack`.

    `rows` has a row of each; `ready` those that agree with the readable model, with what they say of themselves.
    """

    def __init__(
        self,
        bench: str,
        folder: Path,
        expected: Mapping[str, Any],
        report: Report,
        measure_core: Callable[[], float | None],
        stack: ExitStack,
    ) -> None:
        self.bench, self.folder, self.expected, self.report, self.stack = bench, folder, expected, report, stack
        self.measure_core = measure_core
        self.rows: dict[str, dict[str, Any]] = {}
        self.ready: dict[str, tuple[Worker, dict[str, Any]]] = {}

    def prepare(self, name: str, limit: float) -> None:
        """Start an implementation and check it, in at most `limit` seconds."""
        self.rows[name] = _make_row(name)
        worker = self.stack.enter_context(closing(Worker(self.bench, name, self.folder)))
        try:
            facts = prepare_worker(worker, limit, self.expected, WRONG)
        except WorkerFailed as failure:
            self._record_failure(name, worker, failure)
            self.report(f"  {name}: {failure}")
            return
        self.ready[name] = worker, facts
        self.rows[name] |= _describe_agreement(self.expected, facts)
        error = self.rows[name].get("log_perplexity_error")
        closeness = "" if error is None else f", log-perplexity within {error:.1e} nats"
        self.report(f"  {name}: the same update{closeness}")

    def time(self, seconds: float) -> None:
        """Time those that are ready by turns, for so many seconds together."""
        seconds_each = min(REPETITION_SECONDS, seconds / (REPETITIONS * max(1, len(self.ready))))
        runs = {name: partial(self._repeat, name, seconds_each) for name in self.ready}
        repetitions = interleave(runs, REPETITIONS, seconds)
        timed = {name: repetitions[name] for name in runs if self.rows[name]["note"] is None}
        for name, ours in timed.items():
            ratios = {other: compute_ratio(ours, theirs) for other, theirs in timed.items() if other != name}
            self.rows[name] |= summarise(ours) | {"ratio_to": ratios}

    def _repeat(self, name: str, seconds: float) -> Repetition | None:
        worker, facts = self.ready[name]
        pace, block = facts["seconds_a_piece"], facts["block"]
        count = block * max(1, round(seconds / pace / block))
        try:
            before = self.measure_core()
            repetition = worker.run(count, 60 + 20 * count * pace)
            after = self.measure_core()
        except WorkerFailed as failure:
            self._record_failure(name, worker, failure)
            return None
        return repetition if before is None else dataclasses.replace(repetition, core=min(before, after))

    def _record_failure(self, name: str, worker: Worker, failure: WorkerFailed) -> None:
        worker.close()  # or it might go on computing while others are timed
        self.rows[name] = _make_row(name) | {"note": str(failure)}


def prepare_worker(worker: Worker, limit: float, expected: Mapping[str, Any], refusal: str) -> dict[str, Any]:
    """Wait for an implementation's check and compilation, and return what it says of itself.

    Raises:
        WorkerFailed: It takes more than `limit` seconds, or computes another update; `refusal` begins that message.
    """
    facts = worker.wait_until_ready(limit)
    if difference := find_disagreement(expected, facts):
        raise WorkerFailed(f"{refusal}: {difference}")
    return facts


def _describe_agreement(expected: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row says of an implementation that agrees with the readable model."""
    error = compute_log_perplexity_error(expected, facts)
    return {"replicas": facts["replicas"]} | ({} if error is None else {"log_perplexity_error": error})


def _make_row(name: str) -> dict[str, Any]:
    speeds = {**dict.fromkeys(("median", "low", "high")), "reps": 0, "quiet_reps": 0}
    row = {"implementation": name, "threads": 1, "replicas": 1, "unit": "tokens/s", **speeds}
    return row | {"share_of_peak": None, "share_of_limit": None, "ratio_to": {}, "note": None}


def find_disagreement(expected: Mapping[str, Any], facts: Mapping[str, Any]) -> str | None:
    """Say where an implementation's first pieces differ from the readable model's; None where they agree."""
    error = compute_log_perplexity_error(expected, facts)
    if error is not None and not error <= LOG_PERPLEXITY_TOLERANCE:
        return f"the log-perplexity is off by {error:.2g} nats, more than {LOG_PERPLEXITY_TOLERANCE:g}"
    if not math.isclose(facts["loss"], expected["loss"], rel_tol=LOSS_TOLERANCE):
        return f"the loss is {facts['loss']:.6g} nats instead of {expected['loss']:.6g}"
    for name, norm in expected["update_norms"].items():
        own_norm = facts["update_norms"].get(name, math.nan)
        if not math.isclose(own_norm, norm, rel_tol=UPDATE_TOLERANCE):
            return f"the update of {name} has norm {own_norm:.6g} instead of {norm:.6g}"
    return None


def compute_log_perplexity_error(expected: Mapping[str, Any], facts: Mapping[str, Any]) -> float | None:
    """Compute the distance of an implementation's log-perplexity from the expected one, nats; None without either."""
    if "log_perplexity" not in expected or "log_perplexity" not in facts:
        return None
    return abs(facts["log_perplexity"] - expected["log_perplexity"])


@contextlib.contextmanager
def pin_process() -> Iterator[int | None]:
    """Keep this process, and those it starts, on the last core that it may use; yield that core.

    None where the system cannot pin. torch computes with one thread meanwhile.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else None
    core = max(cores) if cores else None
    try:
        if cores:
            os.sched_setaffinity(0, {core})
        yield core
    finally:
        if cores:
            os.sched_setaffinity(0, cores)
        torch.set_num_threads(threads)


def collect_machine_facts(core: int | None) -> dict[str, Any]:
    """Collect processor, core, versions and what else tells one measurement from another."""
    import torch

    from reprise.environment import get_instruction_set
    from reprise.training.run_facts import collect_run_facts

    run = collect_run_facts("", torch.device("cpu"), 0.0, 0)
    versions = run["versions"]
    for package in ("jax", "jaxlib"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    command = [*(os.environ.get("CXX", "").split() or ["c++"]), "--version"]
    with contextlib.suppress(OSError):
        answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        versions["compiler"] = answer.partition("\n")[0]
    facts = {key: run[key] for key in ("device", "platform", "cpu_capability")} | {
        "march": get_instruction_set() or "native"
    }
    if torch.cuda.is_available():
        facts["gpu"] = torch.cuda.get_device_name()
    load = round(os.getloadavg()[0], 2)
    return facts | {"cpus": os.cpu_count(), "pinned_to": core, "versions": versions, "load_before": load}


def print_result(result: dict[str, Any], goals: Iterable[Goal], console: Any, ours: str) -> None:
    """Print a table of the rows on a console of rich, then the notes and the goals, a line each."""
    from rich.table import Table

    peak, bandwidth = result["peak_gflops"], result["bandwidth_gb"]
    measured = f"peak {peak:.0f} GFLOP/s" if peak else "peak unknown"
    measured += "".join(f", {level} {rate:.0f} GB/s" for level, rate in (bandwidth or {}).items())
    table = Table(title=f"{result['bench']}: {result['machine']['device']}, one thread, {measured}")
    columns = (
        "workload",
        "implementation",
        "tokens/s",
        "low",
        "high",
        "reps (quiet)",
        "of peak",
        "of limit",
        f"{ours} is",
    )
    for number, name in enumerate(columns):
        table.add_column(name, no_wrap=True, justify="right" if number > 1 else "left")
    for workload, rows in groupby(result["rows"], key=lambda row: row["workload"]):
        for number, row in enumerate(rows):
            cells = ["-"] * 7
            if row["median"] is not None:
                shares, ratio = (row["share_of_peak"], row["share_of_limit"]), row["ratio_to"].get(ours)
                cells = [f"{row[key]:,.0f}" for key in ("median", "low", "high")]
                cells.append(f"{row['reps']} ({row['quiet_reps']})")
                cells += ["-" if share is None else f"{100 * share:.3g} %" for share in shares]
                cells.append("-" if ratio is None else f"{1 / ratio:.2f} x")
            table.add_row("" if number else workload, row["implementation"], *cells)
        table.add_section()
    console.print(table)
    for row in result["rows"]:
        if row["note"]:
            console.print(f"{row['workload']}: {row['implementation']}: {row['note']}", markup=False)
    for goal in goals:
        measured, verdict = goal.measure(result["rows"]), "not measured"
        if measured is not None:
            verdict = f"{measured:.3g}, {'reached' if measured >= goal.at_least else 'not reached'}"
        console.print(f"goal  {goal}: {verdict}", markup=False, highlight=False)
