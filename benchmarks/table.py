"""The committed results in Markdown: speeds by processor, goals, and several jobs at once."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from benchmarks import BENCHES
from benchmarks.goals import SHARE_OF_LIMIT, TIMES_EAGER, list_general_goals
from benchmarks.limits import LEVELS
from benchmarks.tasks import CORPORA, get_bench_name
from reprise.errors import UserError

COMMITTED = Path(__file__).parents[1] / "results/bench"
JOBS = "jobs"
EAGER = "eager"
"""The implementation by which a benchmark calls eager PyTorch."""


class BenchResult(NamedTuple):
    """A benchmark's result on a processor; its module, and the name of our engine."""

    bench: ModuleType
    processor: str
    result: dict[str, Any]
    ours: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Those of the result."""
        return self.result["rows"]

    def name_text(self, workload: str) -> str:
        """Say whether a workload read a prepared corpus or random words."""
        (text,) = (one["text"] for one in self.result["workloads"] if one["name"] == workload)
        return "corpus" if CORPORA.as_posix() in text else "random"

    def select_timed_rows(self, workload: str) -> dict[str, dict[str, Any]]:
        """Return the rows of a workload that have a speed, by implementation."""
        return {row["implementation"]: row for row in self.rows if row["workload"] == workload and row["median"]}


def make_committed_table(folder: Path = COMMITTED) -> str:
    """Return what the results in `folder` show, a file a benchmark and processor, in Markdown.

    Raises:
        UserError: The files of a benchmark are missing or damaged.
    """
    results = read_results(folder, "")
    for name in BENCHES:
        module = import_module(f"benchmarks.{name}")
        if module.TABLE_ROWS and not any(one.bench is module for one in results):
            raise UserError(f"{folder / name}: no results; run `python -m benchmarks {name} --json`")
    parts = [
        *make_processor_lines(results),
        *make_speed_lines(results),
        *make_goal_lines(results),
        *make_missed_lines(results),
    ]
    return "\n".join([*parts, *make_job_lines(read_results(folder / JOBS, " --jobs 2"))]) + "\n"


def read_results(folder: Path, option: str) -> list[BenchResult]:
    """Return the results of all benchmarks in a folder, which the command with this `option` wrote.

    Raises:
        UserError: A file is damaged.
    """
    results = []
    for name, implementations in BENCHES.items():
        for path in sorted((folder / name).glob("*.json")):
            try:
                result = json.loads(path.read_text(encoding="utf-8"))
                result["rows"]
            except (ValueError, KeyError, TypeError, RecursionError):
                remedy = f"run `python -m benchmarks {name}{option} --json`"
                raise UserError(f"{path}: not a whole benchmark; {remedy}") from None
            module = import_module(f"benchmarks.{name}")
            results.append(BenchResult(module, path.stem, result, next(iter(implementations))))
    return results


def make_table(*columns: str) -> list[str]:
    """Return the head of a table."""
    return [make_line(columns), "|" + "---|" * len(columns)]


def make_line(cells: Sequence[str]) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def format_times(ratio: float) -> str:
    """Return how many times as fast something is, in the one format of all tables."""
    return f"{ratio:.2f}" if ratio < 1 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:,.0f}"


def format_percent(share: float | None) -> str:
    """Return a share in whole percent, a dash without one."""
    return "–" if share is None else f"{round(100 * share)} %".replace("-", "−")


def format_range(values: Sequence[float], write: Callable[[float], str]) -> str:
    """Return the least and the largest value, one where they read alike."""
    return " to ".join(dict.fromkeys(map(write, (min(values), max(values)))))


def list_timed_rows(
    results: Sequence[BenchResult],
) -> Iterator[tuple[Any, BenchResult, dict[str, Any], dict[str, float]]]:
    """Yield each row of the table that was timed: what is shown, the result, our row, and our speed over the peers'."""
    for bench in dict.fromkeys(one.bench for one in results):
        for table_row in bench.TABLE_ROWS:
            for one in (one for one in results if one.bench is bench):
                timed = one.select_timed_rows(table_row.workload)
                if row := timed.get(one.ours):
                    yield table_row, one, row, {p: r for p in table_row.peers if (r := row["ratio_to"].get(p))}


def make_processor_lines(results: Sequence[BenchResult]) -> list[str]:
    """Return the range of our speed over eager PyTorch's, on all processors and on each."""
    factors = [(one.processor, ratios[EAGER]) for _, one, _, ratios in list_timed_rows(results) if EAGER in ratios]
    capabilities = sorted({one.result["machine"]["cpu_capability"] for one in results})
    head = f"Our engines are {format_range([ratio for _, ratio in factors], format_times)} times as fast as eager "
    head += f"PyTorch, which uses {' or '.join(capabilities)}. Workload and processor decide:"
    columns = ("processor", "times as fast", "workloads", "peak of a core, GFLOP/s")
    lines = [head, "", *make_table(*columns, *(f"{level}, GB/s" for level in LEVELS))]
    for processor in sorted({processor for processor, _ in factors}):
        ratios = [ratio for name, ratio in factors if name == processor]
        own_results = [one.result for one in results if one.processor == processor]
        bandwidths = [result["bandwidth_gb"] for result in own_results if result["bandwidth_gb"]]
        measured = [
            [result["peak_gflops"] for result in own_results if result["peak_gflops"]],
            *([bandwidth[level] for bandwidth in bandwidths] for level in LEVELS),
        ]
        limits = [format_range(values, "{:.0f}".format) if values else "–" for values in measured]
        lines.append(make_line([f"`{processor}`", format_range(ratios, format_times), str(len(ratios)), *limits]))
    return [*lines, ""]


def make_speed_lines(results: Sequence[BenchResult]) -> list[str]:
    """Return our engines' speeds beside others', a row a workload and processor."""
    columns = ("document, workload", "processor", "text", "ours, a second", "low to high", "quiet", "of the limit")
    lines = make_table(*columns, "times as fast as")
    unknown, shares = set(), []
    for table_row, one, row, ratios in list_timed_rows(results):
        share = row.get("share_of_limit")
        if share is None:
            unknown.add(one.processor)
        else:
            shares.append((share, row["share_of_peak"]))
        peers = ", ".join(f"{table_row.peers[peer]} {format_times(ratio)}" for peer, ratio in ratios.items())
        cells = [table_row.title, f"`{one.processor}`", one.name_text(table_row.workload)]
        cells += [f"{row['median']:,.0f} {table_row.counted}", f"{row['low']:,.0f} to {row['high']:,.0f}"]
        cells += [f"{row['quiet_reps']} of {row['reps']}", format_percent(share)]
        lines.append(make_line([*cells, peers or "–"]))
    # Both shares are of one speed: where they are equal, the multiply-adds are the lower line.
    bound = sum(math.isclose(of_limit, of_peak) for of_limit, of_peak in shares)
    lines += ["", f"The multiply-adds are the lower line of the limit in {bound} of {len(shares)} rows."]
    if unknown:
        names = ", ".join(f"`{name}`" for name in sorted(unknown))
        lines += [f"No bandwidth was measured on {names}, so that the limit is not known there."]
    return [*lines, ""]


def format_missed(value: float, goal: float) -> str:
    """Return what missed a goal in three digits, or in as many more as tell it from the goal."""
    texts = (f"{value:.{digits}g}" for digits in range(3, 18))
    return next(text for text in texts if float(text) < goal)


def make_goal_lines(results: Sequence[BenchResult]) -> list[str]:
    """Return which workloads reach the goals of every processor."""
    lines = make_table("goal on every processor", "processor", "reached by", "missed by")
    kinds = {
        f"at least {SHARE_OF_LIMIT:g} of the limit": lambda goal: goal.over is None,
        f"at least {TIMES_EAGER} times eager PyTorch": lambda goal: goal.over == EAGER,
    }
    for text, belongs in kinds.items():
        for processor in sorted({one.processor for one in results}):
            measured = [
                (title, goal, value)
                for one in results
                if one.processor == processor
                for title, goal in list_general_goals(one.bench, one.ours)
                if belongs(goal) and (value := goal.measure(one.rows)) is not None
            ]
            wrong = [
                f"{title}: {format_missed(value, goal.at_least)}"
                for title, goal, value in measured
                if value < goal.at_least
            ]
            reached = f"{len(measured) - len(wrong)} of {len(measured)}" if measured else "not measured"
            lines.append(make_line([text, f"`{processor}`", reached, "; ".join(wrong)]))
    return [*lines, ""]


def make_missed_lines(results: Sequence[BenchResult]) -> list[str]:
    """Return the goals of a workload that its engine missed, compiled for the processor at hand."""
    # The goals were set for the processor's own instructions.
    own = [one for one in results if one.result["machine"].get("march", "native") == "native"]
    values = [(one, goal, goal.measure(one.rows)) for one in own for goal in one.bench.GOALS]
    measured = [(one, goal, value) for one, goal, value in values if value is not None]
    lines = [
        make_line(
            [f"`{get_bench_name(one.bench)}`", f"`{one.processor}`", str(goal), format_missed(value, goal.at_least)]
        )
        for one, goal, value in measured
        if value < goal.at_least
    ]
    finding = f"Goals of single workloads: {len(lines)} of {len(measured)} that were measured were missed. "
    finding += f"{len(values) - len(measured)} were not measured."
    return [finding, "", *make_table("benchmark", "processor", "goal", "measured"), *lines]


def make_job_lines(results: Sequence[BenchResult]) -> list[str]:
    """Return what jobs at once and members of a stack do on the same cores; nothing without a result."""
    lost, beside, lines = [], [], []
    for one in results:
        titles, N = {table_row.workload: table_row.title for table_row in one.bench.TABLE_ROWS}, one.result["jobs"]
        ways = {(row["workload"], row["jobs"], row["members"], row["threads"]): row for row in one.rows}
        for workload in dict.fromkeys(row["workload"] for row in one.rows):
            single, jobs = ways[workload, 1, 1, 1], ways[workload, N, 1, 1]
            stacks = [ways[workload, 1, N, threads] for threads in (1, N)]
            lost.append(1 - 1 / (N * single["ratio_to_jobs"]))
            beside += [stack["ratio_to_jobs"] for stack in stacks]
            cells = [titles.get(workload, f"`{workload}`"), f"`{one.processor}`", str(N)]
            cells += [f"{way['median']:,.0f} ({way['low']:,.0f} to {way['high']:,.0f})" for way in (single, jobs)]
            cells.append(format_percent(lost[-1]))
            lines.append(make_line([*cells, *(f"{way['median']:,.0f}" for way in stacks)]))
    if not lines:
        return []
    finding = f"N jobs at once, a core each, lose at most {format_percent(max(lost))} of their speed to each other."
    finding += f" N members of one stack do {format_range(beside, format_times)} times as much as N jobs."
    columns = ("document, workload", "processor", "N", "1 job", "N jobs", "lost")
    head = make_table(*columns, "N members, 1 thread", "N members, N threads")
    return ["", f"{finding} Words or characters a second, in all:", "", *head, *lines]
