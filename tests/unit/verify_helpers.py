"""The toy project with records, for the tests of `reprise verify`."""

import json
from pathlib import Path

import config_helpers

from reprise.cli import main
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.records.record import Outcome, make_record, write_record
from reprise.records.resolved import Resolved

RUN = {"engine": "reference", "device": "cpu", "wall_seconds": 1.5}
CLAIMS = Path("results/quick/claims.json")


def metric(name: str, value: float, split: str = "train", unit: str = "share") -> dict:
    return {"split": split, "metric": name, "value": value, "unit": unit, "n": 10}


def leave(experiments: dict[str, Resolved], name: str, *accuracies: float) -> None:
    """Run records of the replicas, with these accuracies (an error, of a check)."""
    for replica, value in enumerate(accuracies):
        resolved = experiments[f"digits/{name}"]
        one = metric("max_error", value, "4n", "parameters") if name == "count" else metric("last_ten_accuracy", value)
        write_record(Path(resolved.record_path(replica)), make_record(resolved, replica, Outcome([one]), 7, None, RUN))


def resolved() -> dict[str, Resolved]:
    return {e.id: e for e in resolve_tier(load_project("."), "quick")}


def new_clone(folder: Path) -> None:
    """The toy project in `folder`, the current one, with records: the LSTM far better than the RNN, one replica."""
    config_helpers.copy_config(folder, config_helpers.TOY)
    leave(resolved(), "rnn-t5", 0.30, 0.32)
    leave(resolved(), "lstm-t5", 0.9)
    leave(resolved(), "count", 0.0)


def verify(*arguments: str) -> int:
    return main(["verify", "--tier", "quick", *arguments])


def claims() -> dict:
    return json.loads(CLAIMS.read_text(encoding="utf-8"))["digits"]


def edit(old: str, new: str) -> None:
    config_helpers.edit(Path(), "papers/digits.yaml", old, new)
