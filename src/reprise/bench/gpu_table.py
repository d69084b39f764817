"""The result of `bench gpu` for the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from reprise.bench.table import show_rows

_COLUMNS = ("replicas", "tokens/s", "low", "high", "us a step", "kernels", "of peak", "of memory", "x eager")


def show(result: dict[str, Any], console: Console, ours: str) -> None:
    """A table of the rows, a line for each that could not be measured and for each goal.

    Rates with a star have something to be said of them, which is under the table.
    """
    peak, bandwidth = result["peak_gflops"], result["bandwidth_gb_s"]
    device = result["machine"]["device"]
    measured = f"{peak / 1e3:.1f} TFLOP/s of float32, {bandwidth:.0f} GB/s" if peak else "called, not as graphs"
    show_rows(result, console, f"{result['bench']}: {device}, {measured}", _COLUMNS, _numbers)
    for row in result["rows"]:
        if row["remark"]:
            console.print(f"* {row['workload']}: {row['implementation']} {row['remark']}", markup=False)
    if not result["complete"]:
        console.print("not complete: what is missing was left out for want of time")


def _numbers(row: dict[str, Any]) -> list[str]:
    if row["median"] is None:
        return ["-"] * len(_COLUMNS)
    eager = row["ratio_to"].get("eager")
    return [
        str(row["replicas"]),
        f"{row['median']:,.0f}" + "*" * bool(row["remark"]),
        *(f"{row[key]:,.0f}" for key in ("low", "high")),
        f"{row['microseconds_a_step']:.1f}",
        "-" if row["kernels_a_piece"] is None else str(row["kernels_a_piece"]),
        *("-" if row[key] is None else f"{100 * row[key]:.1f} %" for key in ("share_of_peak", "share_of_bandwidth")),
        "-" if eager is None else f"{eager:.2f}",
    ]
