"""The project's own papers with made-up records, or with the committed ones, which the tests of the report share."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from config_helpers import ROOT, experiments, project

from reprise.config.project import Project
from reprise.records.record import Outcome, make_record, write_record
from reprise.report.parts.context import Context, load_all_tiers, load_contexts

FIRST, LAST = "first_full_accuracy_step", "last_ten_accuracy"
Rows = Iterable[dict[str, Any]]


@cache
def contexts() -> dict[str, dict[str, Context]]:
    """What is committed, by tier and paper."""
    return load_all_tiers(project())


def row(name: str, replica: int, **values: Any) -> dict[str, Any]:
    """A metric, a point of a curve (with `x`) or the status of a replica of "<paper>/<experiment>@<variant>"."""
    paper, _, experiment = name.rpartition("/")
    return {"id": f"{paper or 'palindromes'}/{experiment}", "replica": replica, "unit": "1"} | values


def metric(
    name: str, replica: int, quantity: str, value: float, split: str = "train", unit: str = "1"
) -> dict[str, Any]:
    return row(name, replica, metric=quantity, value=value, split=split, unit=unit)


def curve(name: str, replica: int, accuracy: list[float], status: str = "finished") -> list[dict[str, Any]]:
    """Accuracy and a loss of 1 - accuracy + 0.01 at the steps 0, 5, 10, …"""
    common = {"split": "train", "axis": "step", "status": status}
    rows = []
    for i, y in enumerate(accuracy):
        rows.append(row(name, replica, metric="accuracy", value=y, x=5 * i, **common))
        rows.append(row(name, replica, metric="cross_entropy", value=1.01 - y, x=5 * i, **common))
    return rows


METRICS = [
    metric("rnn-t10", 0, FIRST, 10),
    metric("rnn-t10", 0, LAST, 1.0),
    metric("rnn-t10", 1, LAST, 0.1 + 0.2),
    row("rnn-t10", 2, status="diverged"),
    metric("rnn-t10@weight-law=corrected", 0, LAST, 0.25),
    metric("u13-parameter-formula", 0, "max_error", 0.0, "left = right", "relative"),
    metric("u15-omega-as-printed", 0, "max_error", 0.25, "as printed", "parameters"),
    metric("rrntn/s-rnn-100", 0, "perplexity", 140.0, "test"),
    metric("rrntn/s-rnn-100", 1, "perplexity", 142.0, "test"),
    metric("rrntn/r-rntn-100-k100", 0, "perplexity", 30.0, "test"),
]
CURVES = [
    *curve("rnn-t10", 0, [0.0, 0.5, 1.0, 1.0]),
    *curve("rnn-t10", 1, [0.25, 0.5, 0.25, 0.75]),
    *curve("rnn-t10", 2, [0.5, 1.0], status="diverged"),
]


def make_project(
    root: Path, metrics: Rows = METRICS, curves: Rows = CURVES, tier: str = "paper", samples: Rows = ()
) -> Project:
    """The project's configuration with records of these rows as its only results, in a folder of its own."""
    by_id = {e.id: e for e in experiments(tier)}
    outcomes: dict[tuple[str, int], Outcome] = defaultdict(Outcome)
    diverged = {}
    for row in (*metrics, *curves):
        key = row["id"], row["replica"]
        outcome = outcomes[key]
        if row.get("status") == "diverged":
            diverged[key] = {"step": 1}
        fields = {name: row.get(name) for name in ("split", "metric", "unit", "axis")}
        if "x" in row:
            of = [c for c in outcome.curves if fields.items() <= c.items()] or [fields | {"x": [], "y": []}]
            outcome.curves += [] if of[0]["x"] else of
            of[0]["x"].append(float(row["x"]))
            of[0]["y"].append(row["value"])
        elif "metric" in row:
            del fields["axis"]
            outcome.metrics.append(fields | {"value": row["value"], "n": 64})
    for sample in samples:
        outcomes[sample["id"], sample["replica"]].samples.append(sample)
    for (name, replica), outcome in outcomes.items():
        if name in by_id:  # what the tier does not have leaves no record
            run = {"engine": "reference", "device": "cpu (a chip)", "wall_seconds": 1.5}
            parameters = 1000 if outcome.metrics else None
            of = diverged.get((name, replica))
            record = make_record(by_id[name], replica, outcome, parameters, of, run)
            write_record(root / by_id[name].get_record_path(replica), record)
    if not (root / "config").exists():
        (root / "config").symlink_to(ROOT / "config")
    return replace(project(tier), root=root)


def make_context(root: Path, paper: str = "palindromes", tier: str = "paper", **rows: Rows) -> Context:
    return load_contexts(make_project(root, tier=tier, **rows), experiments(tier))[paper]
