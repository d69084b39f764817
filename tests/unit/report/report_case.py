"""The project's own papers with made-up records, or with the committed ones, which the tests of the report share."""

import gzip
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from config_helpers import ROOT, experiments, project

from reprise.config.project import Project
from reprise.report.parts.collected import CURVE_COLUMNS, METRIC_COLUMNS
from reprise.report.parts.context import Context, every_tier, load_contexts

FIRST, LAST = "first_full_accuracy_step", "last_ten_accuracy"
Rows = Iterable[dict[str, Any]]


@cache
def contexts() -> dict[str, dict[str, Context]]:
    """What is committed, by tier and paper."""
    return every_tier(project())


def row(name: str, replica: int, **values: Any) -> dict[str, Any]:
    """A row of metrics.csv or curves.csv.gz of "<paper>/<experiment>@<variant>"; "" where nothing is given."""
    paper, _, experiment = name.rpartition("/")
    experiment, _, variant = experiment.partition("@")
    fixed = {"paper": paper or "palindromes", "experiment": experiment, "variant": variant, "replica": replica}
    made = {"status": "finished", "device": "cpu (a chip)", "engine": "reference", "seconds": 1.5}
    return dict.fromkeys(CURVE_COLUMNS, "") | fixed | made | {"seed": replica, "config_hash": "0" * 12} | values


def metric(name: str, replica: int, of: str, value: float, split: str = "train", unit: str = "1") -> dict[str, Any]:
    return row(name, replica, metric=of, value=value, split=split, unit=unit, n=64, parameters=1000)


def curve(name: str, replica: int, accuracy: list[float], status: str = "finished") -> list[dict[str, Any]]:
    """Accuracy and a loss of 1 - accuracy + 0.01 at the steps 0, 5, 10, …"""
    common = {"split": "train", "axis": "step", "status": status}
    made = []
    for i, y in enumerate(accuracy):
        made.append(row(name, replica, metric="accuracy", value=y, x=5 * i, **common))
        made.append(row(name, replica, metric="cross_entropy", value=1.01 - y, x=5 * i, **common))
    return made


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


def make_project(root: Path, metrics: Rows = METRICS, curves: Rows = CURVES, tier: str = "paper") -> Project:
    """The project's configuration with these as its only results, in a folder of its own."""
    folder = root / "results" / tier
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(metrics, columns=list(METRIC_COLUMNS)).astype(object).to_csv(folder / "metrics.csv", index=False)
    text = pd.DataFrame(curves, columns=list(CURVE_COLUMNS)).astype(object).to_csv(index=False)
    (folder / "curves.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    if not (root / "config").exists():
        (root / "config").symlink_to(ROOT / "config")
    return replace(project(tier), root=root)


def make_context(root: Path, paper: str = "palindromes", tier: str = "paper", **given: Rows) -> Context:
    return load_contexts(make_project(root, tier=tier, **given), experiments(tier))[paper]
