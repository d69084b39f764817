"""Why two run records of one experiment say other numbers."""

import argparse
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reprise.cli.common import OF_LOGARITHM, console, numbers, shown, spread, table
from reprise.errors import EXIT_FAILED
from reprise.records.record import read_record
from reprise.units import is_ratio_scale

_ABSENT, _UNKNOWN = "-", "not recorded"
_MADE_BY = {
    "code": ("commit", "dirty", "code"),
    "versions": ("versions",),
    "processor": ("device", "platform", "cpu_capability"),
    "engine": ("engine", "threads", "stack_replicas"),
}
"""What makes a number beside the configuration, and the keys of `run` that say it. How long it took says nothing."""


def diff_command(options: argparse.Namespace) -> int:
    """Compare two run records: configuration, code, versions, processor, engine and numbers.

    A difference is "within seeds" if two seeds differ as much: by less than t * SD * sqrt(2), as two single replicas do
    in 95 of 100 cases. SD is the standard deviation over the replicas in results/ of the same configuration. The exit
    status is 0 if the numbers are equal or all within seeds, else 1.
    """
    out = console()
    first, second = read_record(options.first), read_record(options.second)
    names = [f"{r['paper']}/{r['experiment']}" for r in (first, second)]
    if names[0] != names[1]:
        out.print(f"two experiments: {names[0]} and {names[1]}")
    which = [{key: r[key] for key in ("replica", "seed", "fold")} for r in (first, second)]
    sections = [
        ("configuration", list(_differences(first["config"], second["config"])), f"the same ({first['config_hash']})"),
        ("replica", list(_differences(*which)), f"the same ({first['replica']})"),
        *((name, list(_made_otherwise(first["run"], second["run"], name)), "the same") for name in _MADE_BY),
    ]
    for title, differ, same in sections:
        out.print(f"{title}:{'' if differ else f' {same}'}")
        for name, one, other in differ:
            out.print(f"  {name}: {one} | {other}", soft_wrap=True)
    if first["result_sha256"] == second["result_sha256"]:
        out.print("numbers: equal to the last bit")
        return 0
    rows = list(_compared(first, second))
    statuses = f"{first['status']} and {second['status']}"
    if not rows and first["status"] == second["status"]:
        out.print(f"numbers: metrics are equal, curves or samples differ ({statuses})")
        return 0
    if not rows:
        out.print(f"numbers: {statuses}")
        return EXIT_FAILED
    out.print("numbers that differ:")
    out.print(table(("metric", "split", "first", "second", "difference", "SD over seeds", ""), rows))
    verdicts = [row[-1] for row in rows]
    beyond, within = (verdicts.count(f"{place} seeds") for place in ("beyond", "within"))
    other = [title for title, differ, _ in sections if differ]
    why = f"what differs: {', '.join(other)}" if other else "nothing else differs: report it"
    out.print(f"{within} of {len(rows)} within the spread of seeds, {beyond} beyond it; {why}")
    return EXIT_FAILED if beyond or not within else 0


def _made_otherwise(first: Mapping[str, Any], second: Mapping[str, Any], name: str) -> Iterator[tuple[str, str, str]]:
    """Yield what differs in one of `_MADE_BY` between the keys `run` of two records; old ones do not say everything."""
    digests = [run.get("code", {}).get("sha256") for run in (first, second)]
    if name == "code" and digests[0] is not None and digests[0] == digests[1]:
        return  # another commit, of the same code
    for key in _MADE_BY[name]:
        if key in first or key in second:
            values = [
                _name_code(run[key]) if key == "code" and key in run else run.get(key, _UNKNOWN)
                for run in (first, second)
            ]
            yield from _differences(*values, key)


def _name_code(code: Mapping[str, Any]) -> str:
    """Name the packages that trained by their digest: "7815c94ee698 (data, models, …)"."""
    return f"{code['sha256'][:12]} ({', '.join(code['packages'])})"


def _differences(first: Any, second: Any, name: str = "") -> Iterator[tuple[str, str, str]]:
    """(dotted name, value in the first, value in the second) of all that differs."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for key in dict.fromkeys([*first, *second]):
            dotted = f"{name}.{key}" if name else key
            yield from _differences(first.get(key, _ABSENT), second.get(key, _ABSENT), dotted)
    elif first != second:
        yield name, str(first), str(second)


def _compared(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield a row a number that differs; its last cell says how it differs from what other seeds give."""
    from scipy.stats import t

    # The records of the current folder's results that have the second one's configuration, one a replica.
    pattern = f"results/*/runs/{second['paper']}/{second['experiment']}/*-{second['config_hash']}.json"
    seeds = {one["replica"]: numbers(one) for one in map(read_record, sorted(Path().glob(pattern), reverse=True))}
    ours, theirs = numbers(first), numbers(second)
    for key in dict.fromkeys([*ours, *theirs]):
        values = [one[key][0] for one in seeds.values() if key in one]
        log = is_ratio_scale(key[0])
        deviation = spread(values, log)[1] if values else None
        if key not in ours or key not in theirs:
            cells = [shown(n[key][0]) if key in n else _ABSENT for n in (ours, theirs)]
            yield *key, *cells, "", "", "in one only"
        elif (a := ours[key][0]) != (b := theirs[key][0]):
            spread_text, verdict = "", "unknown: fewer than two replicas"
            if deviation is not None:
                gap = abs(math.log(a) - math.log(b) if log else a - b)
                within = gap <= t.ppf(0.975, len(values) - 1) * deviation * math.sqrt(2)
                spread_text, verdict = (
                    f"{shown(deviation)}{OF_LOGARITHM if log else ''} (n = {len(values)})",
                    f"{'within' if within else 'beyond'} seeds",
                )
            yield *key, shown(a), shown(b), f"{a - b:+.3g}", spread_text, verdict
