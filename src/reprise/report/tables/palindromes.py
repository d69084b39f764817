"""Document 002, part 1: when a network first makes no mistake, and how well it stands at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reprise.report import verdicts
from reprise.report.context import Context
from reprise.report.rounding import NONE, deviation, fixed, integer, interval, mean, spread
from reprise.report.tables import Column, Table

SPLIT = "train"
_MODELS = {"elman": "RNN", "lstm": "LSTM"}
_FIRST, _LAST = "first_full_accuracy_step", "last_ten_accuracy"


def convergence(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row an experiment: first logged step at 100 % accuracy, and accuracy of the last ten batches.

    Option `variant` ("<assumption>=<alternative>"): these variants of the experiments instead of themselves.
    """
    variant = context.options(table_id, options, variant="")["variant"]
    rows = pd.DataFrame([_row(context, name, variant) for name in context.cited_by(table_id)])
    notes = []
    if rows.paper_gives_first.any() or rows.paper_gives_last.any():
        notes.append("Paper: the run whose event files the author published; one run, so without a deviation.")
    if rows.diverged.any():
        notes.append(
            "A diverged replica has no last ten; it counts among those that reached 100 % "
            "if it did so before it diverged."
        )
    return verdicts.beside(context, Table(_COLUMNS, rows, notes))


def _row(context: Context, name: str, variant: str) -> dict[str, Any]:
    run = f"{name}@{variant}" if variant else name
    status = context.status(run)
    first = np.concatenate([context.values(run, _FIRST, SPLIT), _first_of_diverged(context, run)])
    last = context.values(run, _LAST, SPLIT)
    gives_first, paper_first = context.reported(name, _FIRST, SPLIT)
    gives_last, paper_last = context.reported(name, _LAST, SPLIT)
    return {
        "experiment": run,
        "model": _MODELS[context.paper.experiments[name].model.name],
        "T": context.setting(run, "data.length"),
        "steps": context.setting(run, "training.steps"),
        "paper_gives_first": gives_first,
        "paper_first": paper_first,
        "first_median": float(np.median(first)) if len(first) else None,
        "first_lowest": min(first, default=None),
        "first_highest": max(first, default=None),
        "reached": len(first),
        "paper_gives_last": gives_last,
        "paper_last": paper_last,
        "last_mean": mean(last),
        "last_std": deviation(last),
        "finished": status.finished,
        "diverged": status.diverged,
        "run": status.run,
        "absence": status.absence,
        "wanted": status.wanted,
    }


def _first_of_diverged(context: Context, name: str) -> list[float]:
    """First logged steps without a mistake of replicas that diverged later: these have only curves."""
    points = context.points(name, "accuracy", SPLIT, status="diverged")
    return [float(points.index[points[replica] == 1][0]) for replica in points if (points[replica] == 1).any()]


def _paper_first(row: Mapping[str, Any]) -> str:
    if not row["paper_gives_first"]:
        return NONE
    return "never" if pd.isna(row["paper_first"]) else integer(row["paper_first"])


def _first(row: Mapping[str, Any]) -> str:
    if not row["run"]:
        return row["absence"]
    if not row["reached"]:
        return "never"
    if row["reached"] == 1:
        return integer(row["first_median"])
    return f"{integer(row['first_median'])} ({interval(row['first_lowest'], row['first_highest'])})"


_COLUMNS = [
    Column("Model", lambda row: row["model"], words=True),
    Column("T", lambda row: integer(row["T"])),
    Column("Steps", lambda row: integer(row["steps"])),
    Column("First at 100\u00a0%: paper", _paper_first),
    Column("First at 100\u00a0%: ours", _first),
    Column("Reached by", lambda row: f"{row['reached']} of {row['run']}" if row["run"] else NONE),
    Column("Last ten: paper", lambda row: fixed(row["paper_last"], 3)),
    Column("Last ten: ours", lambda row: spread(row["last_mean"], row["last_std"], 3)),
    Column("Diverged", lambda row: integer(row["diverged"]) if row["run"] else NONE),
    Column(
        "Replicas",
        lambda row: f"{row['run']} of {row['wanted']}" if row["wanted"] > row["run"] else str(row["run"]),
    ),
]
