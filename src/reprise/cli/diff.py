"""Compare two run records of one experiment: why their numbers differ."""

import argparse
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reprise.cli.common import LOG_SUFFIX, format_number, index_numbers, make_console, make_table, summarise_values
from reprise.errors import EXIT_FAILED
from reprise.records.record import ANOTHER, read_record
from reprise.units import is_ratio_scale

_ABSENT, _UNKNOWN = "-", "not recorded"
_RUN_KEYS = {
    "code": ("commit", "dirty", "code", "sources"),
    "versions": ("versions",),
    "processor": ("device", "platform", "cpu_capability"),
    "engine": ("engine", "threads", "stack_replicas"),
}
"""What makes a number beside the configuration, and the keys of `run` that say it. How long it took says nothing."""


def diff_command(options: argparse.Namespace) -> int:
    """Compare two run records: configuration, code, versions, processor, engine and numbers.

    A difference is "within seeds" if it is less than t * SD * sqrt(2). Two single replicas differ by less in 95 of 100
    cases. SD is the standard deviation over the replicas in results/ of the same configuration. The exit
    status is 0 if the numbers are equal or all within seeds, else 1.
    """
    out = make_console()
    first, second = (read_record(path, remedy=ANOTHER) for path in (options.first, options.second))
    names = [f"{r['paper']}/{r['experiment']}" for r in (first, second)]
    if names[0] != names[1]:
        out.print(f"two experiments: {names[0]} and {names[1]}")
    identities = [{key: r[key] for key in ("replica", "seed", "fold")} for r in (first, second)]
    sections = [
        (
            "configuration",
            list(_list_differences(first["config"], second["config"])),
            f"the same ({first['config_hash']})",
        ),
        ("replica", list(_list_differences(*identities)), f"the same ({first['replica']})"),
        *((name, list(_list_run_differences(first["run"], second["run"], name)), "the same") for name in _RUN_KEYS),
    ]
    for title, differences, equal_text in sections:
        out.print(f"{title}:{'' if differences else f' {equal_text}'}")
        for name, first_value, second_value in differences:
            out.print(f"  {name}: {first_value} | {second_value}", soft_wrap=True)
    if first["result_sha256"] == second["result_sha256"]:
        out.print("numbers: equal to the last bit")
        return 0
    rows = list(_compare_numbers(first, second))
    statuses = f"{first['status']} and {second['status']}"
    if not rows and first["status"] == second["status"]:
        out.print(f"numbers: metrics are equal, curves or samples differ ({statuses})")
        return 0
    if not rows:
        out.print(f"numbers: {statuses}")
        return EXIT_FAILED
    out.print("numbers that differ:")
    out.print(make_table(("metric", "split", "first", "second", "difference", "SD over seeds", ""), rows))
    verdicts = [row[-1] for row in rows]
    beyond, within = (verdicts.count(f"{place} seeds") for place in ("beyond", "within"))
    differing_parts = [title for title, differences, _ in sections if differences]
    reason = (
        f"what differs: {', '.join(differing_parts)}"
        if differing_parts
        else "configuration, code and machine are equal, so this is a bug; please report it"
    )
    out.print(f"{within} of {len(rows)} within the spread of seeds, {beyond} beyond it; {reason}")
    return 0 if within == len(rows) else EXIT_FAILED


def _list_run_differences(
    first: Mapping[str, Any], second: Mapping[str, Any], name: str
) -> Iterator[tuple[str, str, str]]:
    """Yield what differs in one of `_RUN_KEYS` between the `run` of two records; old ones do not say all."""
    digests = [run.get("code", {}).get("sha256") for run in (first, second)]
    keys = _RUN_KEYS[name]
    if name == "code" and digests[0] is not None and digests[0] == digests[1]:
        keys = ("sources",)  # perhaps another commit, of the same code
    for key in keys:
        if key in first or key in second:
            values = [
                _format_code(run[key]) if key == "code" and key in run else run.get(key, _UNKNOWN)
                for run in (first, second)
            ]
            yield from _list_differences(*values, key)


def _format_code(code: Mapping[str, Any]) -> str:
    """Name the packages that trained by their digest: "7815c94ee698 (data, models, …)"."""
    return f"{code['sha256'][:12]} ({', '.join(code['packages'])})"


def _list_differences(first: Any, second: Any, name: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield (dotted name, value in the first, value in the second) of all that differs."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for key in dict.fromkeys([*first, *second]):
            dotted = f"{name}.{key}" if name else key
            yield from _list_differences(first.get(key, _ABSENT), second.get(key, _ABSENT), dotted)
    elif first != second:
        yield name, str(first), str(second)


def _compare_numbers(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield a row a number that differs; its last cell says how it differs from what other seeds give."""
    from scipy.stats import t

    # The records of the current folder's results that have the second one's configuration, one a replica.
    pattern = f"results/*/runs/{second['paper']}/{second['experiment']}/*-{second['config_hash']}.json"
    numbers_by_seed = {
        one["replica"]: index_numbers(one) for one in map(read_record, sorted(Path().glob(pattern), reverse=True))
    }
    first_numbers, second_numbers = index_numbers(first), index_numbers(second)
    for key in dict.fromkeys([*first_numbers, *second_numbers]):
        values = [one[key][0] for one in numbers_by_seed.values() if key in one]
        is_log = is_ratio_scale(key[0])
        deviation = summarise_values(values, is_log)[1] if values else None
        if key not in first_numbers or key not in second_numbers:
            cells = [format_number(n[key][0]) if key in n else _ABSENT for n in (first_numbers, second_numbers)]
            yield *key, *cells, "", "", "in one only"
        elif (a := first_numbers[key][0]) != (b := second_numbers[key][0]):
            spread_text, verdict = "", "unknown: fewer than two replicas"
            if deviation is not None:
                gap = abs(math.log(a) - math.log(b) if is_log else a - b)
                is_within = gap <= t.ppf(0.975, len(values) - 1) * deviation * math.sqrt(2)
                spread_text, verdict = (
                    f"{format_number(deviation)}{LOG_SUFFIX if is_log else ''} (n = {len(values)})",
                    f"{'within' if is_within else 'beyond'} seeds",
                )
            yield *key, format_number(a), format_number(b), f"{a - b:+.3g}", spread_text, verdict
