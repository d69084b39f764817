"""Document 003, equations 12 to 16: the norm of the Jacobian over the distance, beside its bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from reprise.report import figures, style
from reprise.report.context import Context

_START = {**style.OURS, "marker": ""}
_END = {"color": style.VERMILION, "linewidth": 1.4, "linestyle": (0, (5, 1)), "zorder": 3}
# Above the norms, which lie on it where every slope is 1.
_BOUND = {"color": style.BLACK, "linewidth": 0.9, "linestyle": (0, (4, 2)), "zorder": 4}
_BOUND_1 = style.DOTTED
_SPLITS = {"start": (_START, "before training"), "end": (_END, "after training")}
_LOWEST = 1e-40
"""Norms below it are beside the point, and would leave the others no room."""


def trained(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """A panel a network: before and after training, and both bounds with the first weights."""
    bounds = {"jacobian_bound": _BOUND, "jacobian_bound_1": _BOUND_1}
    labels = ("bound of equation 16", "with a slope of 1, as the notes allow")
    return _panels(context, figure_id, ("start", "end"), bounds, labels)


def random(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """A panel a network that is not trained, and its bound."""
    return _panels(context, figure_id, ("start",), {"jacobian_bound": _BOUND}, ("bound of equation 16",))


def _panels(
    context: Context, figure_id: str, splits: tuple[str, ...], bounds: Mapping[str, Any], labels: tuple[str, ...]
) -> Figure:
    names = context.cited_by(figure_id)
    if not context.total(names).run:
        return figures.absent(context, figure_id, names)
    columns = 3
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(style.WIDTH, 1.7 * rows + 0.5), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, name in zip(grid.flat, names, strict=False):
        for metric, look in bounds.items():
            points = context.points(name, metric, "start")
            # Where the slope's bound is 1 both bounds are one.
            same = metric != "jacobian_bound" and points.equals(context.points(name, "jacobian_bound", "start"))
            if len(points) and not same:
                axes.plot(_middle(points), **look)
        for split in splits:
            _norms(axes, context.points(name, "jacobian_norm", split), _SPLITS[split][0])
        axes.set_title(context.entry(name).title)
        status = context.status(name)
        if status.missing or status.diverged:
            note = f"{status.run} of {status.wanted} run" if status.missing else f"{status.diverged} diverged"
            axes.set_title(note, loc="right", fontsize=6.5, fontweight="normal")
    for axes in grid.flat[len(names) :]:
        axes.set_visible(False)
    grid[0, 0].set(yscale="log", ylim=(_LOWEST, None))
    for axes in grid[-1]:
        axes.set_xlabel("steps t − k", labelpad=1)
    for axes in grid[:, 0]:
        axes.set_ylabel("norm")
    handles = [Line2D([], [], **look, label=label) for look, label in (_SPLITS[split] for split in splits)]
    handles.append(Patch(facecolor=style.BAND["color"], alpha=style.BAND["alpha"], label="lowest to highest replica"))
    handles += [Line2D([], [], **look, label=label) for look, label in zip(bounds.values(), labels, strict=True)]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _norms(axes: Axes, points: pd.DataFrame, look: Mapping[str, Any]) -> None:
    if not len(points):
        return
    axes.plot(_middle(points), **look)
    if points.shape[1] > 1:
        band = {**style.BAND, "color": look["color"]}
        shown = _positive(points)
        axes.fill_between(points.index, shown.min(axis=1).clip(lower=_LOWEST), shown.max(axis=1), **band)


def _middle(points: pd.DataFrame) -> pd.Series:
    """The geometric mean over replicas, as in tables and claims: norms differ by orders of magnitude."""
    return np.exp(np.log(_positive(points)).mean(axis=1))


def _positive(points: pd.DataFrame) -> pd.DataFrame:
    """Without norms of exactly 0, of ReLU networks all of whose paths are cut, for which a logarithm has no place."""
    return points.where(points > 0)
