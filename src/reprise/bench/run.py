"""Runs a benchmark: every implementation is checked, then all are timed by turns."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from types import ModuleType
from typing import Any

from reprise.bench.goals import judge
from reprise.bench.machine import machine_facts, pinned
from reprise.bench.peak import peak_gflops
from reprise.bench.process import Worker, WorkerFailed
from reprise.bench.timing import Repetition, interleave, summarise

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
) -> dict[str, Any]:
    """Times the selected implementations of each workload; what `bench NAME --json FILE` writes.

    `budget` is in seconds, for the repetitions of all workloads together; checks and compilation, with a
    limit of their own, come on top. `bench` is the module of `reprise.bench.Bench`.
    """
    with pinned() as core:
        machine = machine_facts(core)
        peak = peak_gflops()
        found, workloads = [], []
        for workload, implementations in selected:
            with tempfile.TemporaryDirectory(prefix="reprise-bench-") as folder:
                task, facts = bench.make_task(workload, Path(folder))
                workloads.append(workload.described() | facts)
                seconds = budget / len(selected)
                expected = bench.expected(task)
                report(f"{workload.name}: {facts['text']}")
                errors: dict[str, float | None] = {}
                timed = compare(name, Path(folder), expected, implementations, seconds, report, errors)
            found += [(workload, one, timed[one], errors.get(one)) for one in implementations]
        # The better of two: a disturbance at the start would make all look close to the peak.
        peak = max(peak, peak_gflops() or peak) if peak else None
    rows = [_row(one, peak) for one in found]
    _add_ratios(rows)
    return {
        "schema": SCHEMA,
        "bench": name,
        "machine": machine,
        "peak_gflops": peak,
        "workloads": workloads,
        "rows": rows,
        "goals": judge(bench.GOALS, rows),
    }


def compare(
    bench: str,
    folder: Path,
    expected: Mapping[str, Any],
    implementations: Iterable[str],
    seconds: float,
    report: Report,
    errors: dict[str, float | None] | None = None,
) -> dict[str, list[Repetition] | str]:
    """For each implementation its repetitions, or why there are none; `errors` gets those of its log-perplexity."""
    errors = {} if errors is None else errors
    found: dict[str, list[Repetition] | str] = {}
    with ExitStack() as stack:
        ready: dict[str, tuple[Worker, dict[str, Any]]] = {}
        for name in implementations:
            worker = stack.enter_context(closing(Worker(bench, name, folder)))
            try:
                facts = worker.ready(PREPARATION_LIMIT)
                if difference := disagreement(expected, facts):
                    raise WorkerFailed(f"{WRONG}: {difference}")
            except WorkerFailed as failure:
                worker.close()  # or it might go on computing while others are timed
                found[name] = str(failure)
            else:
                ready[name] = worker, facts
                errors[name] = log_perplexity_error(expected, facts)
            report(f"  {name}: {found.get(name) or _same(errors[name])}")
        each = min(REPETITION_SECONDS, seconds / (REPETITIONS * max(1, len(ready))))

        def runner(name: str) -> Callable[[], Repetition | None]:
            worker, facts = ready[name]
            pace, block = facts["seconds_a_piece"], facts["block"]
            count = block * max(1, round(each / pace / block))
            limit = 60 + 20 * count * pace

            def one() -> Repetition | None:
                try:
                    return worker.run(count, limit)
                except WorkerFailed as failure:
                    worker.close()
                    found[name] = str(failure)
                    return None

            return one

        timed = interleave({name: runner(name) for name in ready}, REPETITIONS, seconds)
    return timed | found


def disagreement(expected: Mapping[str, Any], facts: Mapping[str, Any]) -> str | None:
    """Where an implementation's first pieces went another way than the readable model's."""
    error = log_perplexity_error(expected, facts)
    if error is not None and not error <= LOG_PERPLEXITY_TOLERANCE:
        return f"the log-perplexity is off by {error:.2g} nats, more than {LOG_PERPLEXITY_TOLERANCE:g}"
    if not math.isclose(facts["loss"], expected["loss"], rel_tol=LOSS_TOLERANCE):
        return f"the loss is {facts['loss']:.6g} nats instead of {expected['loss']:.6g}"
    ours, theirs = facts["update_norms"], expected["update_norms"]
    for name, norm in theirs.items():
        if not math.isclose(ours.get(name, math.nan), norm, rel_tol=UPDATE_TOLERANCE):
            return f"the update of {name} has norm {ours.get(name, math.nan):.6g} instead of {norm:.6g}"
    return None


def log_perplexity_error(expected: Mapping[str, Any], facts: Mapping[str, Any]) -> float | None:
    """How far an implementation's log-perplexity is from the expected one, nats; None where either has none."""
    if "log_perplexity" not in expected or "log_perplexity" not in facts:
        return None
    return abs(facts["log_perplexity"] - expected["log_perplexity"])


def _same(error: float | None) -> str:
    return "the same update" + ("" if error is None else f", log-perplexity within {error:.1e} nats")


def _row(found: tuple[Any, str, list[Repetition] | str, float | None], peak: float | None) -> dict[str, Any]:
    workload, name, result, error = found
    row: dict[str, Any] = {
        "workload": workload.name,
        "implementation": name,
        "threads": 1,
        "replicas": 1,
        "unit": "tokens/s",
        **dict.fromkeys(("median", "low", "high")),
        "reps": 0,
        "quiet_reps": 0,
        "share_of_peak": None,
        "ratio_to": {},
        "note": None,
    }
    if error is not None:
        row["log_perplexity_error"] = error
    if isinstance(result, str):
        return row | {"note": result}
    row |= vars(summarise(result))
    if peak:
        row["share_of_peak"] = row["median"] * workload.flops_a_token / (peak * 1e9)
    return row


def _add_ratios(rows: list[dict[str, Any]]) -> None:
    """Each row's median over those of the others of its workload."""
    for row in rows:
        row["ratio_to"] = {
            other["implementation"]: row["median"] / other["median"]
            for other in rows
            if row["median"] and other["median"] and other is not row and other["workload"] == row["workload"]
        }
