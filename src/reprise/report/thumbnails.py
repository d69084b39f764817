"""A small drawing of how an experiment's training went, for its card."""

from __future__ import annotations

import base64
import io

import pandas as pd
from matplotlib.figure import Figure

from reprise.evidence.names import name_of
from reprise.report import style
from reprise.report.context import Context, of_experiment
from reprise.report.measured import unit_words
from reprise.report.rounding import interval, mean, plural, significant

_PREFERRED = ("cross_entropy", "accuracy")
_POINTS, _REPLICAS = 300, 8
_LINES = {
    "train": {"color": style.GREY},
    "valid": {"color": style.OURS["color"]},
    "test": {"color": style.BLACK},
    "test1": {"color": style.BLACK},
    "test2": {"color": style.BLACK, "linestyle": "--"},
}


def training_curve(context: Context, experiment: str) -> str | None:
    """A PNG as a data address: the training's main curve, a line a replica and split; None where there is no curve."""
    rows = of_experiment(context.curves, experiment)
    rows = rows[rows.axis.isin(("epoch", "step"))]
    metric = next((m for m in _PREFERRED if (rows.metric == m).any()), None)
    if metric is None:
        return None
    rows = rows[rows.metric == metric]
    with style.applied():
        figure = _drawn(rows, metric)
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=100)
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def described(context: Context, experiment: str) -> str:
    """What that curve shows, in words: model and variant, where each split ends on the mean over the replicas that
    finished, how many these are, and how many diverged.
    """
    base, _, variant = experiment.partition("@")
    text = f"Training curve of {context.entry(base).title}{f' ({variant})' if variant else ''}"
    rows = of_experiment(context.curves, experiment)
    rows = rows[rows.axis.isin(("epoch", "step")) & rows.metric.isin(_PREFERRED)]
    diverged = rows[rows.status == "diverged"].replica.nunique()
    rows = rows[rows.status == "finished"]
    if rows.empty:
        return f"{text}: {plural(diverged, 'replica')}, diverged" if diverged else text
    said = []
    rows = rows[rows.metric == next(m for m in _PREFERRED if (rows.metric == m).any())]
    for split, of_split in rows.groupby("split", sort=False):
        last = of_split.sort_values("x", kind="stable").groupby("replica").tail(1)
        end, at = significant(mean(last.value.to_numpy()), 3), interval(last.x.min(), last.x.max())
        name, unit = name_of(rows.metric.iloc[0], split), unit_words(last.unit.iloc[0])
        said.append(f"{name} {end}{unit} at {last.axis.iloc[0]} {at}")
    count = rows.replica.nunique()
    text += f": at its end {', '.join(said)}{f', means over {count} replicas' if count > 1 else ', 1 replica'}"
    return text + (f"; {diverged} more diverged" if diverged else "")


def _drawn(rows: pd.DataFrame, metric: str) -> Figure:
    figure = Figure(figsize=(4.6, 2.1), layout="constrained")
    axes = figure.add_subplot()
    for split, of_split in rows.groupby("split", sort=False):
        for index, (_, line) in enumerate(of_split.groupby("replica")):
            if index == _REPLICAS:
                break
            line = line.iloc[:: max(1, len(line) // _POINTS)]
            label = split if index == 0 else None
            axes.plot(line.x, line.value, linewidth=0.8, label=label, **_LINES.get(split, _LINES["train"]))
    axes.set_xlabel(rows.axis.iloc[0])
    unit = rows.unit.iloc[0]
    axes.set_ylabel(metric.replace("_", " ") + (f", {unit}" if unit not in ("", "1", "share") else ""))
    axes.legend(frameon=False, fontsize=7)
    return figure
