"""The toy project with records, for the tests of `reprise verify`."""

import json
from collections.abc import Sequence
from pathlib import Path

import config_helpers
from project import TOY

from reprise.cli import main
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.records.record import Outcome, make_record, write_record
from reprise.records.resolved import Resolved

RUN = {"engine": "reference", "device": "cpu", "wall_seconds": 1.5}
CLAIMS = Path("results/quick/claims.json")


def metric(name: str, value: float, split: str = "train", unit: str = "share") -> dict:
    return {"split": split, "metric": name, "value": value, "unit": unit, "n": 10}


def leave(name: str, *replicas: float | dict[str, float], curves: Sequence[dict] = ()) -> None:
    """Run records of an experiment: of each replica its metrics, or its accuracy (its error, of a check)."""
    one = resolved()[f"digits/{name}"]
    for replica, numbers in enumerate(replicas):
        values = numbers if isinstance(numbers, dict) else {"last_ten_accuracy": numbers}
        metrics = [metric(*pair) for pair in values.items()]
        if name == "count":
            metrics = [metric("max_error", numbers, "4n", "parameters")]
        record = make_record(one, replica, Outcome(metrics, list(curves)), 7, None, RUN)
        write_record(Path(one.get_record_path(replica)), record)


def resolved() -> dict[str, Resolved]:
    return {e.id: e for e in resolve_tier(load_project("."), "quick")}


def new_clone(folder: Path) -> None:
    """The toy project in `folder`, the current one, with records: the LSTM far better than the RNN, one replica."""
    config_helpers.copy_config(folder, TOY)
    leave("rnn-t5", 0.30, 0.32)
    leave("lstm-t5", 0.9)
    leave("count", 0.0)


def verify(*arguments: str) -> int:
    return main(["verify", "--tier", "quick", *arguments])


def claims() -> dict:
    return json.loads(CLAIMS.read_text(encoding="utf-8"))["digits"]


def edit(old: str, new: str) -> None:
    config_helpers.edit(Path(), "papers/digits.yaml", old, new)
