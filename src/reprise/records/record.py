"""The run record: the JSON that one replica leaves, and all that tables, figures and claims are made from.

Records are read where torch is not installed, so nothing here imports it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprise.errors import UserError
from reprise.files import entry_exists, write_json
from reprise.records.content import compute_digest, decode_content, read_content, require_owner
from reprise.records.resolved import Resolved, compute_hash

SCHEMA = 1
RESULT_KEYS = (
    "schema",
    "paper",
    "experiment",
    "replica",
    "seed",
    "fold",
    "config",
    "config_hash",
    "status",
    "diverged",
)
RESULT_KEYS += ("parameters", "metrics", "curves", "samples")
"""Keys that must come out the same when a replica is trained again on the same machine; `run` says how it was made."""
ANOTHER = "name a run record"
"""The remedy for a file that the user named: it may be anything, and must not be removed."""
REMEDY = "`git checkout` it if it is committed, else remove it, and run the pipeline again"


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


def make_metric(split: str, name: str, value: float, unit: str, n: int) -> dict[str, Any]:
    """Make an entry of `Outcome.metrics`."""
    return {"split": split, "metric": name, "value": value, "unit": unit, "n": n}


def make_curve(split: str, name: str, unit: str, axis: str, x: Iterable[float], y: list[float]) -> dict[str, Any]:
    """Make an entry of `Outcome.curves`."""
    return {"split": split, "metric": name, "unit": unit, "axis": axis, "x": list(x), "y": y}


def make_record(
    resolved: Resolved,
    replica: int,
    outcome: Outcome,
    parameters: int | None,
    diverged: dict[str, Any] | None,
    run: dict[str, Any],
) -> dict[str, Any]:
    """Make the record of a finished or diverged replica; a diverged one keeps its curves and has no metrics.

    So does one of which a number, measured after the last update, is not finite: `diverged` then names that.
    """
    if not resolved.is_check:  # an error that is not finite is the check's own mistake
        diverged = diverged or _find_infinite_quantity(outcome)
    record = {
        "schema": SCHEMA,
        "paper": resolved.paper,
        "experiment": resolved.experiment,
        "replica": replica,
        "seed": replica,
        # Where the data are cut into folds a replica is a fold, so that experiments can be compared fold by fold.
        "fold": replica if "folds" in resolved.config.get("data", {}).get("options", {}) else None,
        "config": resolved.hashed_config,
        "config_hash": resolved.config_hash,
        "status": "diverged" if diverged else "finished",
        "diverged": diverged,
        "parameters": parameters,
        "metrics": [] if diverged else outcome.metrics,
        "curves": [curve for curve in outcome.curves if all(map(math.isfinite, curve["y"]))],
        "samples": outcome.samples,
    }
    return {**record, "result_sha256": compute_result_digest(record), "run": run}


def _find_infinite_quantity(outcome: Outcome) -> dict[str, Any] | None:
    values = [(metric, [metric["value"]]) for metric in outcome.metrics]
    values += [(curve, curve["y"]) for curve in outcome.curves]
    infinite = next((entry for entry, numbers in values if not all(map(math.isfinite, numbers))), None)
    return {"quantity": f"{infinite['split']} {infinite['metric']}"} if infinite else None


def compute_result_digest(record: dict[str, Any]) -> str:
    """Compute SHA-256 over the result part of a record: equal where two trainings gave the same numbers."""
    return compute_digest(record, RESULT_KEYS)


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write a record to a file, whole or not at all."""
    write_json(path, record)


def read_record(
    path: Path, expected: Resolved | None = None, replica: int | None = None, remedy: str = ""
) -> dict[str, Any]:
    """Read the record in a file and check every value by the model `reprise.records.model.RunRecord`.

    Args:
        path: The file.
        expected: The experiment whose record it must be, with the configuration of today.
        replica: The replica whose record it must be.
        remedy: What errors end with; by default that of a record of the pipeline.

    Raises:
        UserError: There is no such file, or it is damaged, altered, of another shape, or of another replica.
        OSError: The file cannot be read, which is no damage.
    """
    from reprise.records.model import check_record  # it needs pydantic, which training does without

    return check_record(load_record(path, expected, replica, remedy), path, remedy or REMEDY)


def read_records(experiment: Resolved, root: Path) -> list[dict[str, Any]]:
    """Read the records of all replicas that have one, finished or diverged. Raises as `read_record` does."""
    paths = [root / path for path in experiment.list_record_paths()]
    return [read_record(path, experiment, replica) for replica, path in enumerate(paths) if entry_exists(path)]


def load_record(
    path: Path, expected: Resolved | None = None, replica: int | None = None, remedy: str = ""
) -> dict[str, Any]:
    """Read the record in a file as training does, which has no pydantic: whole, unaltered and of this replica.

    Everything else reads with `read_record`, which checks every value besides.

    Raises:
        UserError: There is no such file, or `decode_record` refuses it.
        OSError: The file cannot be read, which is no damage.
    """
    missing, foreign = "run the pipeline to train it", "move it away and run the pipeline again"
    content = read_content(path, "run record", remedy or missing, remedy or foreign)
    return decode_record(content, path, expected, replica, remedy or REMEDY)


def decode_record(
    content: bytes,
    name: Path | str,
    expected: Resolved | None = None,
    replica: int | None = None,
    remedy: str = REMEDY,
) -> dict[str, Any]:
    """Decode a whole, unaltered record; with `expected`, one of that experiment, with `replica` its number.

    Raises:
        UserError: The record is truncated or altered, says a key twice, or is of another configuration or replica. The
            line begins with `name`, which says where the content comes from, and ends with the remedy.
    """
    record = decode_content(content, name, RESULT_KEYS, "run record", remedy)
    if compute_hash(record["config"]) != record["config_hash"]:
        raise UserError(f"{name}: key config_hash is not the hash of the key config; {remedy}")
    require_owner(record, name, expected, replica, remedy)
    return record
