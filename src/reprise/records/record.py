"""The run record: the JSON that one replica leaves, and all that tables, figures and claims are made from.

Records are read where torch is not installed, so nothing here imports it.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprise.errors import UserError
from reprise.files import canonical_json, dead_link, is_there, read_whole, told_of_link, write_json
from reprise.records.resolved import Resolved, hash_of
from reprise.records.shape import RESULT_KEYS, SCHEMA, mistake_in

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_REMEDY = "`git checkout` it if it is committed, else remove it, and run the pipeline again"


@dataclass
class Outcome:
    """The measurements of one replica.

    metrics: {split, metric, value, unit, n} each; n counts what `value` is a mean over.
    curves: {split, metric, unit, axis, x, y} each, x and y lists of equal length.
    samples: texts that the model wrote, each with the step and the way it was drawn.
    """

    metrics: list[dict[str, Any]] = field(default_factory=list)
    curves: list[dict[str, Any]] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)


def metric(split: str, name: str, value: float, unit: str, n: int) -> dict[str, Any]:
    """An entry of `Outcome.metrics`."""
    return {"split": split, "metric": name, "value": value, "unit": unit, "n": n}


def curve(split: str, name: str, unit: str, axis: str, x: Iterable[float], y: list[float]) -> dict[str, Any]:
    """An entry of `Outcome.curves`."""
    return {"split": split, "metric": name, "unit": unit, "axis": axis, "x": list(x), "y": y}


def make_record(
    resolved: Resolved,
    replica: int,
    outcome: Outcome,
    parameters: int | None,
    diverged: dict[str, Any] | None,
    run: dict[str, Any],
) -> dict[str, Any]:
    """The record of a finished or diverged replica; a diverged one keeps its curves and has no metrics.

    So does one of which a number, measured after the last update, is not finite: `diverged` then names that.
    """
    if not resolved.is_check:  # an error that is not finite is the check's own mistake
        diverged = diverged or _not_finite(outcome)
    record = {
        "schema": SCHEMA,
        "paper": resolved.paper,
        "experiment": resolved.experiment,
        "replica": replica,
        "seed": replica,
        # Where the data are cut into folds a replica is a fold, so that experiments can be compared fold by fold.
        "fold": replica if "folds" in resolved.config.get("data", {}).get("options", {}) else None,
        "config": resolved.config,
        "config_hash": resolved.config_hash,
        "status": "diverged" if diverged else "finished",
        "diverged": diverged,
        "parameters": parameters,
        "metrics": [] if diverged else outcome.metrics,
        "curves": [curve for curve in outcome.curves if all(map(math.isfinite, curve["y"]))],
        "samples": outcome.samples,
    }
    return {**record, "result_sha256": result_digest(record), "run": run}


def _not_finite(outcome: Outcome) -> dict[str, Any] | None:
    values = [(metric, [metric["value"]]) for metric in outcome.metrics]
    values += [(curve, curve["y"]) for curve in outcome.curves]
    lost = next((of for of, numbers in values if not all(map(math.isfinite, numbers))), None)
    return {"quantity": f"{lost['split']} {lost['metric']}"} if lost else None


def result_digest(record: dict[str, Any]) -> str:
    """SHA-256 over the result part of a record: equal where two trainings gave the same numbers."""
    return hashlib.sha256(canonical_json({k: record[k] for k in RESULT_KEYS}).encode()).hexdigest()


def write_record(path: Path, record: dict[str, Any]) -> None:
    write_json(path, record)


def read_record(path: Path, expected: Resolved | None = None, replica: int | None = None) -> dict[str, Any]:
    """The record in a file, as `parse_record` takes it.

    Errors: as there, and where there is no such file; `OSError` where it cannot be read, which is no damage.
    """
    try:
        return parse_record(read_whole(path), path, expected, replica)
    except OSError as error:
        if link := dead_link(path):
            raise UserError(f"{path}: no such record: {told_of_link(link)}") from None
        if isinstance(error, FileNotFoundError):
            raise UserError(f"{path}: no such record; run the pipeline to train it") from None
        if isinstance(error, IsADirectoryError):
            raise UserError(f"{path}: a folder, not a run record; move it away and run the pipeline again") from None
        raise


def records_of(experiment: Resolved, root: Path) -> list[dict[str, Any]]:
    """Those of all replicas that have one, finished or diverged. Errors: as of `read_record`, where one is damaged."""
    paths = [root / path for path in experiment.record_paths()]
    return [read_record(path, experiment, replica) for replica, path in enumerate(paths) if is_there(path)]


def parse_record(
    content: bytes, name: Path | str, expected: Resolved | None = None, replica: int | None = None
) -> dict[str, Any]:
    """A whole, unaltered record; with `expected`, one of that experiment and configuration, with `replica` its number.

    Errors: `UserError` for a truncated or altered record, one of another shape, config or replica; it begins with
    `name`, which says where the content comes from, and ends with the remedy.
    """
    try:
        # The digest refuses what is no number, but `run` lies outside it.
        record = json.loads(content.decode("utf-8"), parse_constant=lambda constant: int(constant))  # a ValueError
        # Half of a pair of surrogates is a text in JSON, and in no file.
        if _SURROGATE.search(content):
            json.dumps(record, ensure_ascii=False).encode()
        stated, found = record["result_sha256"], result_digest(record)
        config_hash = hash_of(record["config"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UserError(f"{name}: not a whole run record; {_REMEDY}") from None
    if stated != found:
        raise UserError(f"{name}: key result_sha256 does not fit the content, which was altered; {_REMEDY}")
    if mistake := mistake_in(record):
        raise UserError(f"{name}: {mistake}; {_REMEDY}")
    if config_hash != record["config_hash"]:
        raise UserError(f"{name}: key config_hash is not the hash of the key config; {_REMEDY}")
    of = f"{record['paper']}/{record['experiment']} with {config_hash}"
    if expected and of != (wanted := f"{expected.id} with {expected.config_hash}"):
        raise UserError(f"{name}: key config_hash: the record is of {of}, not of {wanted}; {_REMEDY}")
    # A copy under another replica's name would count as one more replica.
    if replica not in (None, found := record["replica"]):
        raise UserError(f"{name}: key replica: the record is of replica {found}, not of {replica}; {_REMEDY}")
    return record
