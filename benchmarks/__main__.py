"""Time Reprise's engines beside what else one could run, on one core.

Every implementation first has to compute the readable model's update. One that computes another is not timed, and the
command exits 1. All are timed by turns. Run nothing else meanwhile. A repetition is disturbed if other processes took
more than 5 % of a core meanwhile, or if the core read its L1 cache more than 10 % below its best just before or after.
Disturbed ones are left out of the medians where three others are left.

From the root of the clone: `python -m benchmarks rntn --only h100-k --budget 150`. Three names print tables in
Markdown. `table` shows the committed results, `machines` the same replicas under two releases of torch or on two
processors. `evaluations` shows how long it takes to measure trained models again.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import BENCHES
from reprise.cli import Parser
from reprise.errors import EXIT_FAILED, EXIT_USAGE, Failed, UserError, suggest_name
from reprise.files import describe_os_error, make_output_type

ROOT = Path(__file__).parents[1]
TABLE, MACHINES, EVALUATIONS = "table", "machines", "evaluations"


def make_parser() -> Parser:
    """Return the parser of the command line."""
    parser = Parser("python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ", ".join((*BENCHES, TABLE, MACHINES))
    parser.add_argument("name", metavar="NAME", help=f"one of {names} or {EVALUATIONS}")
    default = "without FILE: results/bench/[jobs/]<NAME>/<processor>[-<REPRISE_MARCH>].json"
    write = make_output_type("--json", "bench.json")
    parser.add_argument(
        "--json", type=write, nargs="?", const=True, metavar="FILE", help=f"write the result; {default}"
    )
    parser.add_argument(
        "--only", metavar="PART", nargs="+", default=[""], help="of <workload>/<implementation>/, as k100/ or /eager/"
    )
    budget = "for all repetitions together (default 900); of gpu, for checks and compilation too"
    parser.add_argument("--budget", type=float, metavar="SECONDS", default=900.0, help=budget)
    jobs = "in place of the comparison: our engine alone, N times at once, a core each, and a stack of N members"
    parser.add_argument("--jobs", type=int, metavar="N", help=jobs)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 1 where an implementation is wrong, 2 after bad input."""
    try:
        options = make_parser().parse_args(arguments)
        if options.name == TABLE:
            from benchmarks.table import make_committed_table

            print(make_committed_table(), end="")
        elif options.name == MACHINES:
            from benchmarks.machines import make_machines_table

            print(make_machines_table(ROOT), end="")
        elif options.name == EVALUATIONS:
            from benchmarks.evaluations import make_evaluations_table

            print(make_evaluations_table(ROOT), end="")
        else:
            time_bench(options)
    except UserError as error:
        print(f"benchmarks: error: {error}", file=sys.stderr)
        return EXIT_USAGE
    except Failed as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return EXIT_FAILED
    except OSError as error:
        print(f"benchmarks: error: {describe_os_error(error, 'benchmarks')}", file=sys.stderr)
        return EXIT_FAILED
    return 0


def time_bench(options: argparse.Namespace) -> None:
    """Time a benchmark, show its result and write it where `--json` says.

    Raises:
        UserError: The options name nothing that can be timed.
        Failed: An implementation computes another update than the readable model.
    """
    name = options.name
    if name not in BENCHES:
        raise UserError(f"no benchmark '{name}'; {suggest_name(name, BENCHES)}")
    if not options.budget > 0:
        raise UserError(f"--budget {options.budget:g}: give a number of seconds above 0")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if options.jobs is not None and not 2 <= options.jobs <= cores:
        raise UserError(f"--jobs {options.jobs}: give a number of cores from 2; this process may use {cores}")
    from rich.console import Console

    from benchmarks import harness, jobs
    from benchmarks.goals import list_general_goals
    from reprise import files

    module, implementations = import_module(f"benchmarks.{name}"), BENCHES[name]
    on_gpu = getattr(module, "ON_GPU", False)
    if on_gpu:
        module.find_device()
        if options.jobs:
            raise UserError(f"{name} --jobs: jobs at once are timed on a CPU; name another benchmark")
    selected = select_workloads(module.WORKLOADS, implementations, options.only)
    # An exception, so that processes and their folder of weights are cleared away.
    previous_handler = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    report = partial(print, file=sys.stderr, flush=True)
    path = options.json
    if path is True:
        path = make_default_path(name, options.jobs, on_gpu)
        require_whole(path, [(w.name, one) for w, names in selected for one in (*names, jobs.STACKED)])
    # A committed result stays until the new one is whole.
    part = path.with_name(f"{path.name}.part") if options.json is True else path
    keep = partial(files.write_json, part) if part else lambda result: None
    try:
        if options.jobs:
            result = jobs.run_jobs(module, selected, options.jobs, options.budget, report, keep)
        else:
            result = harness.run_bench(name, module, selected, options.budget, report, keep)
    finally:
        signal.signal(signal.SIGTERM, previous_handler)
    if part != path:
        require_whole(path, [(row["workload"], row["implementation"]) for row in result["rows"]])
        part.replace(path)
    if options.jobs:
        return
    ours, console = next(iter(implementations)), Console(width=max(Console().width, 120))
    goals = [*module.GOALS, *(goal for _, goal in list_general_goals(module, ours))]
    harness.print_result(result, goals, console, ours)
    wrong = [row for row in result["rows"] if (row["note"] or "").startswith(harness.WRONG)]
    if wrong:
        raise Failed("; ".join(f"{row['workload']}/{row['implementation']}: {row['note']}" for row in wrong))


def select_workloads(
    workloads: Iterable[Any], implementations: Iterable[str], only: Sequence[str]
) -> list[tuple[Any, list[str]]]:
    """Return the workloads with the implementations whose "<workload>/<implementation>/" holds one of `only`.

    Raises:
        UserError: There are none.
    """
    workloads, implementations = list(workloads), list(implementations)
    chosen = [(w, [n for n in implementations if any(part in f"{w.name}/{n}/" for part in only)]) for w in workloads]
    if selected := [(workload, names) for workload, names in chosen if names]:
        return selected
    example = f"{workloads[0].name}/{implementations[0]}"
    raise UserError(f"--only {' '.join(only)}: no <workload>/<implementation>/ holds that; {example}/ is one")


def make_default_path(name: str, jobs: int | None, on_gpu: bool) -> Path:
    """Return the committed place of a benchmark's result on this processor or GPU, of `jobs` at once if any."""
    from benchmarks.processor import name_processor
    from benchmarks.table import COMMITTED, JOBS
    from reprise.environment import get_instruction_set
    from reprise.processor import read_cpuinfo, read_processor_name

    if on_gpu:
        import torch

        stem = name_processor(torch.cuda.get_device_name(), {})
    else:
        stem = name_processor(read_processor_name(), read_cpuinfo(), get_instruction_set())
    return (COMMITTED / JOBS if jobs else COMMITTED) / name / f"{stem}.json"


def require_whole(path: Path, timed: Collection[tuple[str, str]]) -> None:
    """Raise `UserError` if the result at `path` has more than was or will be timed, workloads and implementations."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    except (FileNotFoundError, ValueError, KeyError):
        return  # nothing to lose
    if lost := [row for row in rows if row["median"] and (row["workload"], row["implementation"]) not in timed]:
        example = f"{lost[0]['workload']}/{lost[0]['implementation']}/"
        raise UserError(
            f"{path}: has {len(lost)} rows that are not timed, such as {example}; name a FILE for --json, or remove it"
        )


if __name__ == "__main__":
    raise SystemExit(main())
