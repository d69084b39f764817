"""Draw language models, and whatever else is measured during training: a metric over epochs or steps."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reprise.errors import UserError, require_known
from reprise.report.parts import style
from reprise.report.parts.context import Context
from reprise.report.parts.names import name_metric
from reprise.report.parts.rounding import format_unit
from reprise.report.parts.style import LINE_STYLES, list_incomplete_replicas
from reprise.units import convert_to_perplexity

_LINE = {"markersize": 3, "linewidth": 1.3}
_PAPER_LINE = {"linewidth": 0.8, "linestyle": (0, (6, 3)), "zorder": 1}
_CURVE_METRICS = {"perplexity": "cross_entropy"}
"""By metric, the metric of the curves that it is computed from."""


def curves(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Plot a line per cited experiment: the mean over its finished replicas, in the band of its 95 % interval.

    The line ends with the shortest replica. A diverged replica has a line of its own. The paper's number is a dashed
    line in the colour of its experiment, if trained on the paper's text.

    Options: `metric` (that of a curve, or "perplexity", computed from a cross-entropy in nats/token) and `split`.
    """
    metric, split = options["metric"], options["split"]
    names = context.list_cited_experiments(figure_id)
    unit, axis = _find_unit_and_axis(context, figure_id, names, metric, split)
    figure, axes = style.make_panels(3.4)
    for line_style, name in zip(cycle(LINE_STYLES), names, strict=False):
        _plot_experiment(axes, context, name, metric, split, {**line_style, **_LINE})
    style.set_integer_ticks(axes.xaxis)
    axes.set(xlabel=axis, ylabel=name_metric(metric, split) + (f" ({unit})" if unit else ""))
    style.add_legend(figure, axes.get_legend_handles_labels()[0], ncols=3)
    return figure


def _plot_experiment(
    axes: Axes, context: Context, name: str, metric: str, split: str, line_style: Mapping[str, Any]
) -> None:
    """Plot the curves of one experiment, and the paper's number."""
    points = _get_points(context, name, metric, split).dropna()
    style.plot_mean_curve(
        axes, points, {**line_style, "label": f"{context.get_title(name)}{_write_status_note(context, name)}"}
    )
    for _, diverged in _get_points(context, name, metric, split, "diverged").items():
        axes.plot(diverged.dropna(), **{**style.DIVERGED, "color": line_style["color"]})
    paper = context.find_reported(name, metric, split)
    # A number in another unit, or of another text, would be a line at a wrong height.
    if paper and paper.value is not None and not paper.unit and not context.find_replaced_dataset(name):
        axes.axhline(paper.value, **_PAPER_LINE, color=line_style["color"], label=f"{context.get_title(name)}, paper")


def _get_points(context: Context, name: str, metric: str, split: str, status: str = "finished") -> pd.DataFrame:
    """Return the curves of an experiment, as perplexities where these are asked for."""
    points = context.get_curve_points(name, _CURVE_METRICS.get(metric, metric), split, status)
    return points.map(convert_to_perplexity, na_action="ignore") if metric in _CURVE_METRICS else points


def _write_status_note(context: Context, name: str) -> str:
    """Write what limits an experiment: " (2 of 3 run)", " (other corpus)"; "" if nothing does."""
    status = context.get_status(name)
    notes = list_incomplete_replicas(status) if status.recorded else [status.missing_reason]
    notes += ["other corpus"] if status.recorded and context.find_replaced_dataset(name) else []
    return "".join(f" ({text})" for text in notes)


def _find_unit_and_axis(context: Context, figure_id: str, names: list[str], metric: str, split: str) -> tuple[str, str]:
    """Return the unit of a metric, "" if its name says it, and the axis of its curves.

    Raises:
        UserError: No curve of the experiments has the metric and split, or their units or axes differ.
    """
    experiments = set(names)
    runs = (run for run in context.runs if run.partition("@")[0] in experiments)
    curves = [curve for run in runs for _, curve in context.iterate_curves(run)]
    for option, value in (("metric", metric), ("split", split)):
        known_values = {getattr(curve, option) for curve in curves}
        if option == "metric" and ("cross_entropy", "nats/token") in {(curve.metric, curve.unit) for curve in curves}:
            known_values.add("perplexity")
        require_known(
            value, known_values, context.name_option(figure_id, option), f"{option} of these experiments' curves"
        )
        curves = [curve for curve in curves if getattr(curve, option) == _CURVE_METRICS.get(value, value)]
    if len(kinds := {f"{curve.unit} over the {curve.axis}" for curve in curves}) > 1:
        place = context.name_option(figure_id, "metric")
        raise UserError(f"{place}: its curves are {' and '.join(sorted(kinds))}; cite experiments of one kind")
    return ("" if metric in _CURVE_METRICS else format_unit(curves[0].unit).strip()), curves[0].axis
