"""A benchmark's result for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table


def show(result: dict[str, Any], console: Console, ours: str) -> None:
    """A table of the rows and a line for each goal that could be judged or not."""
    peak = result["peak_gflops"]
    measured = f"peak {peak:.0f} GFLOP/s" if peak else "peak unknown (no C++ compiler)"
    title = f"{result['bench']}: {result['machine']['device']}, one thread, {measured}"
    columns = ("tokens/s", "low", "high", "reps (quiet)", "of peak", f"{ours} is")
    show_rows(result, console, title, columns, lambda row: _numbers(row, ours))


def show_rows(
    result: dict[str, Any],
    console: Console,
    title: str,
    columns: Sequence[str],
    numbers: Callable[[dict[str, Any]], list[str]],
) -> None:
    """Workload, implementation and its `numbers` under `columns`; then a line for each note and each goal."""
    table = Table(title=title)
    for name in ("workload", "implementation"):
        table.add_column(name, no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    before = None
    for row in result["rows"]:
        workload = row["workload"]
        if workload != before and before is not None:
            table.add_section()
        table.add_row(workload if workload != before else "", row["implementation"], *numbers(row))
        before = workload
    console.print(table)
    for row in result["rows"]:
        if row["note"]:
            console.print(f"{row['workload']}: {row['implementation']}: {row['note']}", markup=False)
    for goal in result["goals"]:
        console.print(f"goal  {goal['goal']}: {_verdict(goal)}", markup=False, highlight=False)


def _numbers(row: dict[str, Any], ours: str) -> list[str]:
    if row["median"] is None:
        return ["-"] * 6
    rates = [f"{row[key]:,.0f}" for key in ("median", "low", "high")]
    share = row["share_of_peak"]
    ratio = row["ratio_to"].get(ours)
    return [
        *rates,
        f"{row['reps']} ({row['quiet_reps']})",
        "-" if share is None else f"{100 * share:.1f} %" if share >= 0.01 else f"{100 * share:.2f} %",
        "-" if ratio is None else f"{1 / ratio:.2f} x",
    ]


def _verdict(goal: dict[str, Any]) -> str:
    if goal["found"] is None:
        return "not measured"
    return f"{goal['found']:.3g}, {'reached' if goal['reached'] else 'not reached'}"
