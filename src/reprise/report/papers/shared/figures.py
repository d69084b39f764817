"""Language models, and whatever else is measured while it is trained: a metric over epochs or steps."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reprise.errors import require_known
from reprise.report.parts import style
from reprise.report.parts.context import Context
from reprise.report.parts.names import name_of
from reprise.report.parts.rounding import unit_symbol
from reprise.report.parts.style import LOOKS, not_all
from reprise.units import perplexity

_DRAWN = {"markersize": 3, "linewidth": 1.3}
_PAPER = {"linewidth": 0.8, "linestyle": (0, (6, 3)), "zorder": 1}
_LOGGED = {"perplexity": "cross_entropy"}
"""Metric -> the one on the curves that it is worked out from."""


def curves(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw a line a cited experiment: the mean over the replicas that finished, in the band of its 95 % interval.

    It goes as far as all replicas do. One that diverged is a line of its own.

    Options: `metric` (a curve's, or "perplexity", worked out from a cross-entropy in nats/token) and `split`. The
    paper's number for both is a dashed line in the colour of its experiment, where that reads the paper's text.
    """
    metric, split = options["metric"], options["split"]
    names = context.cited_by(figure_id)
    unit, x = _unit_and_axis(context, figure_id, names, metric, split)
    figure, axes = style.panels(3.4)
    for look, name in zip(cycle(LOOKS), names, strict=False):
        _draw(axes, context, name, metric, split, {**look, **_DRAWN})
    style.count_ticks(axes.xaxis)
    axes.set(xlabel=x, ylabel=name_of(metric, split) + (f" ({unit})" if unit else ""))
    style.legend(figure, axes.get_legend_handles_labels()[0], ncols=3)
    return figure


def _draw(axes: Axes, context: Context, name: str, metric: str, split: str, look: Mapping[str, Any]) -> None:
    points = _points(context, name, metric, split).dropna()
    style.course(axes, points, {**look, "label": f"{context.title(name)}{_note(context, name)}"})
    for _, diverged in _points(context, name, metric, split, "diverged").items():
        axes.plot(diverged.dropna(), **{**style.DIVERGED, "color": look["color"]})
    paper = context.reported(name, metric, split)
    # A number in another unit, or of another text, would be a line at a wrong height.
    if paper and paper.value is not None and not paper.unit and not context.replaced_dataset(name):
        axes.axhline(paper.value, **_PAPER, color=look["color"], label=f"{context.title(name)}, paper")


def _points(context: Context, name: str, metric: str, split: str, status: str = "finished") -> pd.DataFrame:
    points = context.points(name, _LOGGED.get(metric, metric), split, status)
    return points.map(perplexity, na_action="ignore") if metric in _LOGGED else points


def _note(context: Context, name: str) -> str:
    status = context.status(name)
    words = not_all(status) if status.run else [status.absence]
    words += ["other corpus"] if status.run and context.replaced_dataset(name) else []
    return "".join(f" ({text})" for text in words)


def _unit_and_axis(context: Context, figure_id: str, names: list[str], metric: str, split: str) -> tuple[str, str]:
    """Return the unit of what is drawn, "" where the metric's name says it, and what it is drawn over.

    Errors: `UserError` where no curve of the experiments has it.
    """
    bases = set(names)
    runs = (run for run in context.runs if run.partition("@")[0] in bases)
    curves = [curve for run in runs for _, curve in context.curves(run)]
    for option, value in (("metric", metric), ("split", split)):
        known = {getattr(curve, option) for curve in curves}
        if option == "metric" and ("cross_entropy", "nats/token") in {(curve.metric, curve.unit) for curve in curves}:
            known.add("perplexity")
        require_known(value, known, context.option_key(figure_id, option), f"{option} of these experiments' curves")
        curves = [curve for curve in curves if getattr(curve, option) == _LOGGED.get(value, value)]
    return ("" if metric in _LOGGED else unit_symbol(curves[0].unit).strip()), curves[0].axis
