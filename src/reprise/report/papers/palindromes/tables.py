"""Document 002, part 1: when a network first makes no mistake, and how well it stands at the end."""

import math
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from reprise.errors import require_known
from reprise.evidence.statistics import clopper_pearson
from reprise.report.papers.shared import cells
from reprise.report.papers.shared.cells import Row, picked
from reprise.report.parts import verdicts
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import NONE, fixed, integer, interval
from reprise.report.parts.spreads import INTERVAL, measured, noted
from reprise.report.parts.tables import Column, Table
from reprise.report.parts.words import replicas

SPLIT = "train"
_MODELS = {"elman": "RNN", "lstm": "LSTM"}
_FIRST, _LAST = "first_full_accuracy_step", "last_ten_accuracy"


def convergence(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row an experiment: first logged step at 100 % accuracy, and accuracy of the last ten batches.

    Of the first step the gap is that of the median, in steps: those that never get there have none, so that it has no
    deviation. The share that gets there has Clopper and Pearson's interval.
    Option `variant` ("<assumption>=<alternative>"): these variants of the experiments instead of themselves.
    """
    variant = options["variant"]
    known_variants = [f"{name}={key}" for name, a in context.paper.assumptions.items() for key in a.alternatives]
    if variant:
        require_known(variant, known_variants, context.option_key(table_id, "variant"), "alternative of an assumption")
    rows = pd.DataFrame([_row(context, name, variant) for name in context.cited_by(table_id)])
    notes = []
    if rows.paper_gives_first.any() or rows.paper_gives_last.any():
        notes.append("Paper: the run whose event files the author published; one run, so without an SD.")
    elif rows.run.any():
        notes.append("The paper's runs stop earlier, so that there is no gap to them.")
    notes += noted(context, rows.experiment, rows, gaps=rows.last_gap.notna().any(), shares=True)
    if rows.diverged.any():
        notes.append(
            "A diverged replica has no last ten; it counts among those that reached 100 % "
            "if it did so before it diverged."
        )
    about = ("accuracy *", f"{_FIRST} *", f"{_LAST} *")
    return verdicts.add_claims(context, Table(_COLUMNS, rows, notes), lambda row: about)


def _row(context: Context, name: str, variant: str) -> dict[str, Any]:
    run = f"{name}@{variant}" if variant else name
    status = context.status(run)
    first = [step for step in first_steps(context, run) if math.isfinite(step)]
    last = measured(context, run, _LAST, SPLIT)
    paper_first, paper_last = (context.printed(name, metric, SPLIT) for metric in (_FIRST, _LAST))
    median = float(np.median(first)) if first else None
    low, high = clopper_pearson(len(first), status.run) if status.run else (None, None)
    model = context.paper.experiments[name].model.name
    return {
        "experiment": run,
        "model": _MODELS.get(model, model),
        "T": context.setting(run, "data.length"),
        "steps": context.setting(run, "training.steps"),
        "paper_gives_first": context.reported(name, _FIRST, SPLIT) is not None,
        "paper_first": paper_first,
        "first_median": median,
        "first_lowest": min(first, default=None),
        "first_highest": max(first, default=None),
        "first_gap": None if median is None or paper_first is None else median - paper_first,
        "reached": len(first),
        "reached_low": low,
        "reached_high": high,
        "paper_gives_last": context.reported(name, _LAST, SPLIT) is not None,
        "paper_last": paper_last,
        **cells.values(last, "last_mean"),
        "last_gap": last.gap(paper_last),
        "last_gap_in_std": last.gap_in_deviations(paper_last),
        **picked(status, "finished", "diverged", "run", "absence", "wanted"),
    }


def first_steps(context: Context, name: str) -> list[float]:
    """Of every replica that ran, diverged ones too, the first logged step without a mistake; infinite without one."""
    replicas = [context.points(name, "accuracy", SPLIT, status).items() for status in ("finished", "diverged")]
    reached = [course.index[course == 1] for _, course in chain(*replicas)]
    return sorted(float(steps[0]) if len(steps) else math.inf for steps in reached)


def _paper_first(row: Row) -> str:
    if not row["paper_gives_first"]:
        return NONE
    return "never" if pd.isna(row["paper_first"]) else integer(row["paper_first"])


def _first(row: Row) -> str:
    if not row["run"]:
        return row["absence"]
    if not row["reached"]:
        return "never"
    if row["reached"] == 1:
        return integer(row["first_median"])
    return f"{integer(row['first_median'])} ({interval(row['first_lowest'], row['first_highest'])})"


def _reached(row: Row) -> str:
    if not row["run"]:
        return NONE
    low, high = (fixed(100 * row[f"reached_{end}"], 0) for end in ("low", "high"))
    return f"{row['reached']} of {row['run']} ({low}–{high}\u00a0%)"


_COLUMNS = [
    cells.text("Model", "model"),
    cells.count("T", "T"),
    cells.count("Steps", "steps"),
    Column("First step at 100\u00a0%: paper", _paper_first),
    Column("First step at 100\u00a0%: ours, median (lowest–highest)", _first),
    cells.count("Gap, steps", "first_gap"),
    Column(f"Reached by ({INTERVAL})", _reached),
    cells.number("Last ten: paper", "paper_last", 3),
    cells.interval(f"Last ten: ours ± {INTERVAL}", "last_mean", 3, share=True),
    cells.number("Gap", "last_gap", 3),
    cells.number("Gap in SDs", "last_gap_in_std", 1),
    Column("Diverged", lambda row: integer(row["diverged"]) if row["run"] else NONE),
    Column("Replicas", lambda row: replicas(row["run"], row["wanted"])),
]
