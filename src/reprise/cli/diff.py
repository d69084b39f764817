"""Compare two run records: configuration, environment, numbers, and whether these differ by more than seeds do.

The spread is the standard deviation over the committed replicas of the same configuration; two single replicas differ
by less than t * SD * sqrt(2) in 95 of 100 cases. Exit status: 0 where the numbers are equal or within that, else 1.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprise.cli.found import console, numbers, shown, spread
from reprise.errors import EXIT_FAILED, report_packages
from reprise.records.record import read_record

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLE = "reprise diff again.json results/paper/runs/palindromes/rnn-t10/0-d2f4cbc3ddb4.json"
_ABSENT = "-"
# How long it took and what it needed say nothing about the numbers.
_UNIMPORTANT = {"wall_seconds", "peak_memory_mib", "resumed"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", type=Path, help="a run record, such as `reprise train --output again.json` leaves")
    parser.add_argument("second", type=Path, help="the record to compare it with")


def run(given: argparse.Namespace) -> int:
    out = console()
    first, second = read_record(given.first), read_record(given.second)
    names = [f"{r['paper']}/{r['experiment']}" for r in (first, second)]
    if names[0] != names[1]:
        out.print(f"two experiments: {names[0]} and {names[1]}")
    configuration = list(_differences(first["config"], second["config"]))
    _section(out, "configuration", configuration, f"the same ({first['config_hash']})")
    replicas = [
        (key, str(first[key]), str(second[key])) for key in ("replica", "seed", "fold") if first[key] != second[key]
    ]
    environment = [d for d in _differences(first["run"], second["run"]) if d[0] not in _UNIMPORTANT]
    _section(out, "replica", replicas, f"the same ({first['replica']})")
    _section(out, "environment", environment, "the same")
    if first["result_sha256"] == second["result_sha256"]:
        out.print("numbers: equal to the last bit")
        return 0
    others = _others(second)
    rows, outside, unknown = _compared(first, second, others)
    if not rows:
        what = f"{first['status']} and {second['status']}"
        equal = (
            all(numbers(first).get(k) == v for k, v in numbers(second).items()) and first["status"] == second["status"]
        )
        out.print(f"numbers: metrics are equal, curves or samples differ ({what})" if equal else f"numbers: {what}")
        return 0 if equal else EXIT_FAILED
    _print(out, rows)
    return _conclusion(out, rows, outside, unknown, len(others), configuration, replicas, environment)


def _differences(first: Any, second: Any, name: str = "") -> Iterator[tuple[str, str, str]]:
    """(dotted name, value in the first, value in the second) of all that differs."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for key in dict.fromkeys([*first, *second]):
            dotted = f"{name}.{key}" if name else key
            yield from _differences(first.get(key, _ABSENT), second.get(key, _ABSENT), dotted)
    elif first != second:
        yield name, str(first), str(second)


def _section(out: Console, title: str, rows: list[tuple[str, str, str]], same: str) -> None:
    if not rows:
        out.print(f"{title}: {same}")
        return
    out.print(f"{title}:")
    for name, first, second in rows:
        out.print(f"  {name}: {first} | {second}", soft_wrap=True)


def _others(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The records of the current folder's results that have the configuration of `record`."""
    pattern = f"results/*/runs/{record['paper']}/{record['experiment']}/*-{record['config_hash']}.json"
    found = {}
    for path in sorted(Path().glob(pattern)):
        one = read_record(path)
        found.setdefault(one["replica"], one)
    return list(found.values())


def _compared(
    first: Mapping[str, Any], second: Mapping[str, Any], others: list[dict[str, Any]]
) -> tuple[list[tuple[str, ...]], int, int]:
    """Rows of the numbers that differ; how many do by more than seeds, and of how many that is not known."""
    with report_packages("diff"):
        from scipy.stats import t
    ours, theirs, known = numbers(first), numbers(second), [numbers(one) for one in others]
    rows, outside, unknown = [], 0, 0
    for key in dict.fromkeys([*ours, *theirs]):
        if key not in ours or key not in theirs:
            rows.append(
                (*key, *(shown(n[key][0]) if key in n else _ABSENT for n in (ours, theirs)), "", "", "in one only")
            )
            unknown += 1
            continue
        a, b = ours[key][0], theirs[key][0]
        if a == b:
            continue
        values = [n[key][0] for n in known if key in n]
        deviation = spread(values)[1] if values else None
        verdict = "unknown: fewer than two replicas"
        if deviation is not None:
            within = abs(a - b) <= t.ppf(0.975, len(values) - 1) * deviation * math.sqrt(2)
            verdict = "within seeds" if within else "beyond seeds"
            outside += not within
        else:
            unknown += 1
        told = "" if deviation is None else f"{shown(deviation)} (n = {len(values)})"
        rows.append((*key, shown(a), shown(b), f"{a - b:+.3g}", told, verdict))
    return rows, outside, unknown


def _print(out: Console, rows: list[tuple[str, ...]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("metric", "split", "first", "second", "difference", "SD over seeds", ""):
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    out.print("numbers that differ:")
    out.print(table)


def _conclusion(
    out: Console,
    rows: list[tuple[str, ...]],
    outside: int,
    unknown: int,
    seeds: int,
    configuration: list[Any],
    replicas: list[Any],
    environment: list[Any],
) -> int:
    if outside or unknown == len(rows):
        part = f"{outside} of {len(rows)} differ by more than seeds do" if outside else "no spread to compare with"
    else:
        part = f"all {len(rows)} lie within the spread of {seeds} seeds" + (f", {unknown} unknown" if unknown else "")
    why = (
        "the configurations differ"
        if configuration
        else "the replicas differ"
        if replicas
        else "the environments differ"
        if environment
        else "nothing else differs: please report it"
    )
    out.print(f"{part}; {why}")
    return EXIT_FAILED if outside or unknown == len(rows) else 0
