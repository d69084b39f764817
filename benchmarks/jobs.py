"""How fast a job is alone, and beside others on cores of their own, as `snakemake --cores N` runs them."""

import os
import statistics
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import BENCHES
from benchmarks.harness import PREPARATION_LIMIT, Report, machine_facts
from benchmarks.worker import Worker

ROUNDS = 5
SECONDS = 2.0
"""Of a round, at most."""


def run_jobs(
    name: str,
    bench: ModuleType,
    selected: Sequence[tuple[Any, Sequence[str]]],
    jobs: int,
    budget: float,
    report: Report,
    keep: Callable[[dict[str, Any]], None],
) -> dict[str, Any]:
    """Time our engine alone and `jobs` times at once on the selected workloads; the content of `--jobs N --json FILE`.

    Rounds take turns: one job alone, then all at once. Arguments are those of `run_bench`.
    """
    ours, cores = next(iter(BENCHES[name])), sorted(os.sched_getaffinity(0))[-jobs:]
    result = {"bench": name, "jobs": jobs, "machine": machine_facts(cores[-1]), "rows": []}
    for workload, _ in selected:
        with tempfile.TemporaryDirectory(prefix="reprise-bench-") as folder, ExitStack() as stack:
            bench.make_task(workload, Path(folder))
            workers = []
            for core in cores:
                workers.append(stack.enter_context(closing(Worker(name, ours, Path(folder)))))
                os.sched_setaffinity(workers[-1].process.pid, {core})
            facts = [worker.ready(PREPARATION_LIMIT) for worker in workers][0]
            each = min(SECONDS, budget / len(selected) / (2 * ROUNDS))
            count = facts["block"] * max(1, round(each / facts["seconds_a_piece"] / facts["block"]))
            alone, together = [], []
            for _ in range(ROUNDS):
                alone.append(workers[0].run(count, 60 + 20 * each).rate)
                for worker in workers:
                    worker.start(count)
                together.append(statistics.fmean(worker.finish(60 + 20 * each).rate for worker in workers))
        row = {"workload": workload.name, "implementation": ours, "unit": "tokens/s"}
        row |= {"alone": statistics.median(alone), "together": statistics.median(together)}
        row["lost"] = 1 - row["together"] / row["alone"]
        speeds = f"{row['alone']:,.0f} alone, {row['together']:,.0f} each of {jobs}"
        report(f"{workload.name}: {speeds}: {row['lost']:.1%} lost")
        result["rows"].append(row)
        keep(result)
    return result
