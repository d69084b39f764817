"""The records of an experiment's finished replicas, as far as they say how long one takes on a core."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprise.files import is_there
from reprise.records.record import read_record
from reprise.records.resolved import Resolved
from reprise.training.devices import processor


def records_of(experiment: Resolved, root: Path) -> list[dict[str, Any]]:
    """Those of all replicas that have one, finished or diverged. Raises `UserError` where one is damaged."""
    paths = [root / path for path in experiment.record_paths()]
    return [read_record(path, experiment, replica) for replica, path in enumerate(paths) if is_there(path)]


def on_cpu(record: Mapping[str, Any]) -> bool:
    """Whether the record's time says what its replica takes on a core, whichever that was."""
    return record["status"] == "finished" and record["run"]["device"].startswith("cpu ")


def ran_here(run: Mapping[str, Any]) -> bool:
    """Whether it ran on this kind of processor."""
    return run["device"] == f"cpu ({processor()})"
