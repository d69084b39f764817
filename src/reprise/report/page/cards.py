"""The numbers on an experiment's card: every metric by its name, its unit, and how sure its mean is."""

from __future__ import annotations

import ast
import base64
import inspect
import io
import re
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from reprise.config.resolved import Resolved
from reprise.evidence.names import name_of
from reprise.evidence.statistics import clopper_pearson
from reprise.models import MODELS
from reprise.report.parts import rounding, style
from reprise.report.parts.context import Context, of_experiment
from reprise.report.parts.rounding import interval, mean, plural, significant, unit_words
from reprise.report.parts.spreads import measured

_OF_REPLICAS = {"reached_full_accuracy"}
"""Metrics that are 1 or 0 of a replica: their mean is a share of replicas, with its interval as in verdicts."""


def metrics(context: Context, experiment: Resolved, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Every metric in `rows`, mean and its 95 % interval over the finished replicas, beside the paper's number.

    `paper_unit` and `ours_unit` are those numbers with their units, for where no column says them; `paper_value` and
    `ours_value` the numbers themselves, None where there is none.
    """
    comparable = not context.replaced_dataset(experiment.base)
    found = []
    named = rows.loc[rows.metric != "", ["metric", "split", "unit"]].drop_duplicates()
    for metric, split, unit in named.itertuples(index=False):
        values = measured(context, experiment.experiment, metric, split)
        # Numbers that are counted do not vary: nothing stands beside them.
        reach = values.reach if values.own or values.reach else None
        ours = rounding.even(values.mean, reach, share=unit == "share", least=rounding.least_of(metric))
        if metric in _OF_REPLICAS and values.n:
            low, high = (rounding.fixed(end, 2) for end in clopper_pearson(round(values.mean * values.n), values.n))
            ours = rounding.from_to(rounding.fixed(values.mean, 2), low, high)
        given, paper = context.reported(experiment.base, metric, split)
        theirs = rounding.significant(paper, 5) if given and comparable else ""
        stated = context.printed_unit(experiment.base, metric, split)
        words = unit_words(unit)
        shown = f"{theirs}{words}" if theirs not in ("", rounding.NONE) and not stated else theirs
        if theirs and stated:  # beside the unit of ours it would look as if it were in that one
            theirs += f" (printed as {stated})"
            shown = theirs
        found.append(
            {
                "metric": name_of(metric, split),
                "split": split,
                "paper": theirs,
                "ours": ours,
                "n": str(values.n),
                "unit": "" if unit == "1" else unit,
                "paper_unit": shown,
                "ours_unit": ours if ours == rounding.NONE else f"{ours}{words}",
                "paper_value": paper if comparable else None,
                "ours_value": values.mean,
            }
        )
    return found


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


_PACKAGE = Path(__file__).resolve().parents[2]


@cache
def equation(model: str) -> str:
    """The indented lines of the docstrings of the model's class and file that hold a `=`; "" where there are none.

    The class speaks first: a file may hold several models.
    """
    if model not in MODELS:
        return ""
    module, _, name = MODELS[model].target.partition(":")
    path = _PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    if not path.is_file():
        return ""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    for node in (*classes, tree):
        found = _equations(ast.get_docstring(node, clean=False) or "")
        if found:
            return found
    return ""


def _equations(docstring: str) -> str:
    lines = inspect.cleandoc(docstring).splitlines()
    chosen = [line.strip() for line in lines if " = " in line and (line.startswith("    ") or _is_formula(line))]
    return "\n".join(chosen)


def _is_formula(line: str) -> bool:
    """A line of prose has words before its equals sign; a formula has one name, or a probability as P(x | y)."""
    left = line.partition(" = ")[0].strip()
    return re.fullmatch(r"\S+|\w+\(.* \| .*\)", left) is not None
