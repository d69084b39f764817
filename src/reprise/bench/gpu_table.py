"""The result of `bench gpu` for the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

_COLUMNS = ("replicas", "tokens/s", "low", "high", "us a step", "kernels", "of peak", "of memory", "x eager")


def show(result: dict[str, Any], console: Console, ours: str) -> None:
    """A table of the rows, a line for each that could not be measured and for each goal."""
    peak, bandwidth = result["peak_gflops"], result["bandwidth_gb_s"]
    device = result["machine"]["device"]
    measured = f"{peak / 1e3:.1f} TFLOP/s of float32, {bandwidth:.0f} GB/s" if peak else "called, not as graphs"
    table = Table(title=f"{result['bench']}: {device}, {measured}")
    for name in ("workload", "implementation"):
        table.add_column(name, no_wrap=True)
    for name in _COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    before = None
    for row in result["rows"]:
        workload = row["workload"]
        if workload != before and before is not None:
            table.add_section()
        table.add_row(workload if workload != before else "", row["implementation"], *_numbers(row))
        before = workload
    console.print(table)
    for row in result["rows"]:
        if row["note"]:
            console.print(f"{row['workload']}: {row['implementation']}: {row['note']}", markup=False)
    for goal in result["goals"]:
        found = goal["found"]
        reached = "not measured" if found is None else f"{found:.3g}, {'' if goal['reached'] else 'not '}reached"
        console.print(f"goal  {goal['goal']}: {reached}", markup=False, highlight=False)


def _numbers(row: dict[str, Any]) -> list[str]:
    if row["median"] is None:
        return ["-"] * len(_COLUMNS)
    eager = row["ratio_to"].get("eager")
    return [
        str(row["replicas"]),
        *(f"{row[key]:,.0f}" for key in ("median", "low", "high")),
        f"{row['microseconds_a_step']:.1f}",
        "-" if row["kernels_a_piece"] is None else str(row["kernels_a_piece"]),
        *("-" if row[key] is None else f"{100 * row[key]:.1f} %" for key in ("share_of_peak", "share_of_bandwidth")),
        "-" if eager is None else f"{eager:.2f}",
    ]
