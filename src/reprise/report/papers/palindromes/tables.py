"""Make the tables of document 002, part 1: the first step without an error, and the accuracy at the end."""

import math
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from reprise.errors import require_known
from reprise.evidence.statistics import compute_clopper_pearson_interval
from reprise.report.papers.shared import cells
from reprise.report.papers.shared.cells import Row, pick_attributes
from reprise.report.parts import verdicts
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import DASH, format_fixed, format_integer, format_range
from reprise.report.parts.tables import Column, Table
from reprise.report.parts.uncertainty import INTERVAL, estimate_mean, write_interval_notes
from reprise.report.parts.wording import format_replicas

SPLIT = "train"
_MODELS = {"elman": "RNN", "lstm": "LSTM"}
_FIRST_STEP, _LAST_ACCURACY = "first_full_accuracy_step", "last_ten_accuracy"


def convergence(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per experiment: first logged step at 100 % accuracy, and accuracy of the last ten batches.

    The gap of the first step is that of the median, in steps. It has no SD, since some seeds never reach 100 %. The
    share that does has Clopper and Pearson's interval.

    Option `variant` ("<assumption>=<alternative>"): show these variants of the experiments instead.
    """
    variant = options["variant"]
    known_variants = [f"{name}={key}" for name, a in context.paper.assumptions.items() for key in a.alternatives]
    if variant:
        require_known(variant, known_variants, context.name_option(table_id, "variant"), "alternative of an assumption")
    rows = pd.DataFrame([_make_row(context, name, variant) for name in context.list_cited_experiments(table_id)])
    notes = []
    if rows.paper_gives_first.any() or rows.paper_gives_last.any():
        notes.append("Paper: the run whose event files the author published; one run, so without an SD.")
    elif rows.recorded.any():
        notes.append("The paper's runs stop earlier, so that there is no gap to show.")
    notes += write_interval_notes(context, rows.experiment, rows, has_gaps=rows.last_gap.notna().any(), has_shares=True)
    if rows.diverged.any():
        notes.append(
            "A diverged replica has no last ten batches. "
            "It counts among those that reached 100 % if it did so before it diverged."
        )
    patterns = ("accuracy *", f"{_FIRST_STEP} *", f"{_LAST_ACCURACY} *")
    return verdicts.add_claims_column(context, Table(_COLUMNS, rows, notes), lambda row: patterns)


def _make_row(context: Context, name: str, variant: str) -> dict[str, Any]:
    """Return the raw values of an experiment."""
    experiment = f"{name}@{variant}" if variant else name
    status = context.get_status(experiment)
    first_steps = [step for step in list_first_steps(context, experiment) if math.isfinite(step)]
    last_accuracy = estimate_mean(context, experiment, _LAST_ACCURACY, SPLIT)
    paper_first, paper_last = (context.get_printed(name, metric, SPLIT) for metric in (_FIRST_STEP, _LAST_ACCURACY))
    median = float(np.median(first_steps)) if first_steps else None
    low, high = compute_clopper_pearson_interval(len(first_steps), status.recorded) if status.recorded else (None, None)
    model = context.paper.experiments[name].model.name
    return {
        "experiment": experiment,
        "model": _MODELS.get(model, model),
        "T": context.get_setting(experiment, "data.length"),
        "steps": context.get_setting(experiment, "training.steps"),
        "paper_gives_first": context.find_reported(name, _FIRST_STEP, SPLIT) is not None,
        "paper_first": paper_first,
        "first_median": median,
        "first_lowest": min(first_steps, default=None),
        "first_highest": max(first_steps, default=None),
        "first_gap": None if median is None or paper_first is None else median - paper_first,
        "reached": len(first_steps),
        "reached_low": low,
        "reached_high": high,
        "paper_gives_last": context.find_reported(name, _LAST_ACCURACY, SPLIT) is not None,
        "paper_last": paper_last,
        **cells.make_mean_values(last_accuracy, "last_mean"),
        "last_gap": last_accuracy.compute_gap(paper_last),
        "last_gap_in_std": last_accuracy.compute_gap_in_sds(paper_last),
        **pick_attributes(status, "finished", "diverged", "recorded", "missing_reason", "planned"),
    }


def list_first_steps(context: Context, name: str) -> list[float]:
    """List the first logged step without an error of every replica, diverged or not; infinite without one."""
    replicas = [
        context.get_curve_points(name, "accuracy", SPLIT, status).items() for status in ("finished", "diverged")
    ]
    reached = [course.index[course == 1] for _, course in chain(*replicas)]
    return sorted(float(steps[0]) if len(steps) else math.inf for steps in reached)


def _format_paper_first(row: Row) -> str:
    """Write the paper's first step at 100 %."""
    if not row["paper_gives_first"]:
        return DASH
    return "never" if pd.isna(row["paper_first"]) else format_integer(row["paper_first"])


def _format_first(row: Row) -> str:
    """Write the median of our first steps at 100 %, with the lowest and highest."""
    if not row["recorded"]:
        return row["missing_reason"]
    if not row["reached"]:
        return "never"
    if row["reached"] == 1:
        return format_integer(row["first_median"])
    return f"{format_integer(row['first_median'])} ({format_range(row['first_lowest'], row['first_highest'])})"


def _format_reached(row: Row) -> str:
    """Write how many seeds reached 100 %, with the interval of their share."""
    if not row["recorded"]:
        return DASH
    low, high = (format_fixed(100 * row[f"reached_{end}"], 0) for end in ("low", "high"))
    return f"{row['reached']} of {row['recorded']} ({low}–{high}\u00a0%)"


_COLUMNS = [
    cells.make_text_column("Model", "model"),
    cells.make_count_column("T", "T"),
    cells.make_count_column("Steps", "steps"),
    Column("First step at 100\u00a0%: paper", _format_paper_first),
    Column("First step at 100\u00a0%: ours, median (lowest–highest)", _format_first),
    cells.make_count_column("Gap, steps", "first_gap"),
    Column(f"Reached by ({INTERVAL})", _format_reached),
    cells.make_number_column("Last ten: paper", "paper_last", 3),
    cells.make_interval_column(f"Last ten: ours ± {INTERVAL}", "last_mean", 3, is_share=True),
    cells.make_number_column("Gap", "last_gap", 3),
    cells.make_number_column("Gap in SDs", "last_gap_in_std", 1),
    Column("Diverged", lambda row: format_integer(row["diverged"]) if row["recorded"] else DASH),
    Column("Replicas", lambda row: format_replicas(row["recorded"], row["planned"])),
]
