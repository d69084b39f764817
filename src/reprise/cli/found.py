"""What `list`, `show` and `diff` read: the records and answers that are there, without pandas or torch."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from reprise.errors import UserError
from reprise.files import is_there
from reprise.records.record import read_record
from reprise.records.resolved import Resolved
from reprise.units import derived

if TYPE_CHECKING:
    from rich.console import Console

NOT_RUN = "not run"


_WIDTH = 150
"""Characters of a line where no terminal says how many it has."""


def console() -> Console:
    """Prints to stdout as it is now; colours and the width of the screen on a terminal alone."""
    from rich.console import Console

    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else _WIDTH)


def answers(root: Path, tier: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Every claim's entry in results/<tier>/claims.json, by paper and claim; {} where the file is not there.

    Raises UserError where it is damaged.
    """
    path = root / "results" / tier / "claims.json"
    if not path.is_file():
        return {}
    try:
        return {paper: dict(found) for paper, found in json.loads(path.read_text(encoding="utf-8")).items()}
    except (ValueError, AttributeError, TypeError):
        raise UserError(f"{path}: not a file of claims; run `python -m reprise verify --tier {tier}`") from None


def answer(entry: Mapping[str, Any] | None) -> str:
    """The answer in a few words: "agrees, smaller"; `NOT_RUN` where there is no entry."""
    if not entry:
        return NOT_RUN
    if "direction" not in entry:
        return str(entry.get("verdict", NOT_RUN))
    return ", ".join(str(entry[key]) for key in ("direction", "size") if entry.get(key))


def trained(experiment: Resolved, root: Path) -> list[Path]:
    """The records that are there of an experiment's replicas, relative to `root`; none is read."""
    return [Path(path) for path in experiment.record_paths() if is_there(root / path)]


def records(experiment: Resolved, root: Path) -> list[dict[str, Any]]:
    """The records that are there, read and checked; UserError for one that is damaged."""
    return [read_record(root / path, experiment) for path in trained(experiment, root)]


def numbers(record: Mapping[str, Any]) -> dict[tuple[str, str], tuple[float, str]]:
    """(value, unit) by metric and split of a record, perplexities and bits per character included."""
    rows = [row for stated in record["metrics"] for row in (stated, *derived(stated, record["metrics"]))]
    return {(row["metric"], row["split"]): (row["value"], row["unit"]) for row in rows}


def spread(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and standard deviation over replicas; None for the deviation of one."""
    return mean(values), stdev(values) if len(values) > 1 else None


def shown(value: float) -> str:
    """A number in six significant digits, whole where it is whole."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.6g}"


def command(experiment: Resolved, found: Iterable[Mapping[str, Any]]) -> str:
    """What trains a replica that has a record again, with the engine that made it; else the first replica."""
    train = f"python -m reprise train {experiment.id} --tier {experiment.tier} --replica"
    first = next(iter(found), None)
    if first is None:
        return f"{train} 0"
    return f"{train} {first['replica']} --engine {first['run']['engine']} --output again.json"
