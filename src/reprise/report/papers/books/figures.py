"""Document 002, part 2: the training loss on two books over the original, and what the texts show meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from reprise.catalogue.displays import display
from reprise.report.papers.books.numbers import NEIGHBOURS, loss_near, original_near, original_of, table_steps
from reprise.report.parts import style
from reprise.report.parts.context import Context

_SMOOTH = 2 * NEIGHBOURS + 1
_EVERY = 5  # of the points of a smoothed curve, which share most of what they average, so many make one
_BATCHES = {"color": style.GREY, "linewidth": 0.4, "alpha": 0.5, "zorder": 0}
_MARK = {"linestyle": "none", "markersize": 4, "zorder": 6}
_OURS_AT = {**_MARK, "marker": "o", "color": style.BLUE}
_ORIGINAL_AT = {**_MARK, "marker": "s", "color": style.BLACK, "fillstyle": "none", "capsize": 2, "linewidth": 0.8}
_BOOK = {"color": style.BLACK, "linewidth": 0.8, "linestyle": (0, (4, 2))}
_MEASURES = {"words_in_book": "words of the book", "distinct_2": "different word pairs", "spaces": "spaces"}
_DECODERS = {"sample": style.OURS, "argmax": {**style.OURS, "color": style.VERMILION, "linestyle": (0, (3, 1))}}


@display(protocols=("character-windows",))
def loss_curves(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """A panel a book, loss over the step: ours, mean and range of the replicas, over the original."""
    names = context.cited_by(figure_id)
    if not context.total(names).run:
        return style.absent(context, figure_id, names)
    figure = Figure(figsize=(style.WIDTH, 3.2), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(names), sharey=True, squeeze=False)[0], names, strict=True):
        _losses(axes, context, name)
        axes.set_title(context.entry(name).title)
        note = style.OTHER_CORPUS if context.replaced_dataset(name) else _missing(context, name)
        axes.set_title(note, loc="right", fontsize=6.5, fontweight="normal")
        axes.set_xlabel("step", labelpad=1)
    first = figure.axes[0]
    first.set_yscale("log")
    first.set_ylabel("loss (nats per character)")
    first.yaxis.set_major_locator(FixedLocator([0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4]))
    first.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    first.yaxis.set_minor_locator(NullLocator())
    _legend(figure)
    return figure


def _losses(axes: Axes, context: Context, name: str) -> None:
    original = original_of(context, name)
    ours = context.points(name, "cross_entropy", "train")
    if original is not None:
        axes.plot(original, **_BATCHES, label="original, single batches")
        axes.plot(_smoothed(original), **style.ORIGINAL, label="original")
    if len(ours):
        smooth = _smoothed(ours)
        axes.fill_between(smooth.index, smooth.min(axis=1), smooth.max(axis=1), **style.BAND)
        axes.plot(smooth.mean(axis=1), **style.OURS)
    for _, points in context.points(name, "cross_entropy", "train", status="diverged").items():
        axes.plot(points.dropna(), **style.DIVERGED, label="ours, diverged")
    steps = table_steps(context, name)
    near = [loss_near(ours, step).mean() for step in steps]
    axes.plot(steps, near, **_OURS_AT)
    if original is not None:
        centres, deviations = zip(*(original_near(original, step) for step in steps), strict=True)
        axes.errorbar(steps, centres, yerr=[2 * d for d in deviations], **_ORIGINAL_AT)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))


def _smoothed(points: Any) -> Any:
    """Means of the points at most NEIGHBOURS steps away; every few of them."""
    gap = pd.Series(points.index).diff().median() or 1
    window = max(1, int(_SMOOTH // gap) | 1)
    return points.rolling(window, center=True, min_periods=1).mean().iloc[::_EVERY]


def _missing(context: Context, name: str) -> str:
    status = context.status(name)
    return f"{status.run} of {status.wanted} run" if status.missing else ""


def _legend(figure: Figure) -> None:
    handles = [
        Line2D([], [], **style.OURS, label="ours, mean"),
        Patch(facecolor=style.BAND["color"], alpha=style.BAND["alpha"], label="ours, lowest to highest"),
    ]
    lines = [line for axes in figure.axes for line in axes.lines]
    labels = {line.get_label(): line for line in lines if not str(line.get_label()).startswith("_")}
    figure.legend(handles=[*handles, *labels.values()], loc="outside lower center", ncols=5, frameon=False)


@display(protocols=("character-windows",))
def measures_over_steps(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """A row a book, a column a measure of the texts, over the step: sampled, by argmax, and the book's own value."""
    names = context.cited_by(figure_id)
    if not context.total(names).run:
        return style.absent(context, figure_id, names)
    figure = Figure(figsize=(style.WIDTH, 1.7 * len(names) + 0.4), layout="constrained")
    grid = figure.subplots(len(names), len(_MEASURES), sharex="row", sharey="col", squeeze=False)
    for number, (row, name) in enumerate(zip(grid, names, strict=True)):
        for axes, (measure, label) in zip(row, _MEASURES.items(), strict=True):
            for decoder, look in _DECODERS.items():
                points = context.points(name, measure, decoder)
                axes.plot(points.mean(axis=1), **look)
                if points.shape[1] > 1:
                    band = {**style.BAND, "color": look["color"]}
                    axes.fill_between(points.index, points.min(axis=1), points.max(axis=1), **band)
            own = context.values(name, measure, "book-short")
            if len(own):
                axes.axhline(own.mean(), **_BOOK)
            if number == 0:
                axes.set_title(label)
            axes.set_ylim(0, 1.03)
            axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        row[0].set_ylabel(context.entry(name).title, fontsize=7)
    for axes in grid[-1]:
        axes.set_xlabel("step", labelpad=1)
    handles = [
        Line2D([], [], **_DECODERS["sample"], label="sampled"),
        Line2D([], [], **_DECODERS["argmax"], label="argmax"),
        Line2D([], [], **_BOOK, label="the book itself"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return figure
