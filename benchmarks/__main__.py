"""Speeds of the engines."""

import argparse
import json
import signal
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from reprise.bench import BENCHES
from reprise.errors import Failed, UserError, known

COMMITTED = Path("results/bench")


def bench_command(given: argparse.Namespace) -> None:
    """Time Reprise's engines beside what else one could run, on one core.

    Every implementation first has to compute the readable model's update; one that computes another is not timed, and
    the command exits 1. All are timed by turns. Nothing else should run meanwhile: repetitions during which other
    processes took more than 5 % of a core are counted but left out of the medians, as long as there are three others.
    """
    if given.table:
        print(committed_table(), end="")
        return
    if given.name not in BENCHES:
        raise UserError(f"no benchmark '{given.name or ''}'; {known(given.name or '', BENCHES)}")
    if not given.budget > 0:
        raise UserError(f"--budget {given.budget:g}: give a number of seconds above 0")
    from rich.console import Console

    from reprise.bench.harness import WRONG, run_bench, show
    from reprise.files import write_json

    module, implementations = import_module(f"reprise.bench.{given.name}"), BENCHES[given.name]
    if getattr(module, "ON_GPU", False):
        module.device()
    selected = select(module.WORKLOADS, implementations, given.only)
    # An exception, so that processes and their folder of weights are cleared away.
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        result = run_bench(given.name, module, selected, given.budget, partial(print, file=sys.stderr, flush=True))
    finally:
        signal.signal(signal.SIGTERM, before)
    # First: what was measured for so long is not lost where it cannot be written.
    show(result, Console(width=max(Console().width, 120)), next(iter(implementations)))
    if given.json:
        write_json(given.json, result)
    wrong = [row for row in result["rows"] if (row["note"] or "").startswith(WRONG)]
    if wrong:
        raise Failed("; ".join(f"{row['workload']}/{row['implementation']}: {row['note']}" for row in wrong))


def select(
    workloads: Iterable[Any], implementations: Iterable[str], only: Sequence[str]
) -> list[tuple[Any, list[str]]]:
    """Workloads with the implementations whose "<workload>/<implementation>" holds one of `only`."""
    workloads, implementations = list(workloads), list(implementations)
    found = [(w, [n for n in implementations if any(part in f"{w.name}/{n}" for part in only)]) for w in workloads]
    if selected := [(workload, names) for workload, names in found if names]:
        return selected
    example = f"{workloads[0].name}/{implementations[0]}"
    raise UserError(f"--only {' '.join(only)}: no <workload>/<implementation> holds that; {example} is one")


def committed_table(folder: Path = COMMITTED) -> str:
    """Markdown: the speeds in `folder`, a file a benchmark, and the goals that they missed. UserError without one."""
    from reprise.bench.harness import markdown

    results = []
    for name, implementations in BENCHES.items():
        path, module = folder / f"{name}.json", import_module(f"reprise.bench.{name}")
        if not module.SHOWN:
            continue
        if not path.is_file():
            raise UserError(f"{path} is missing; run `python -m reprise bench {name} --json {path}`")
        result = json.loads(path.read_text(encoding="utf-8"))
        results.append((name, result, module.SHOWN, next(iter(implementations))))
    return markdown(results)
