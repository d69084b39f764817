"""Document 002, part 2: the training loss on two books over the original, and what the texts show meanwhile."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reprise.data.text.books import NEIGHBOURS
from reprise.report.papers.books.tables import near, original_of, table_steps
from reprise.report.parts import style
from reprise.report.parts.context import Context
from reprise.report.parts.spreads import mean_and_interval
from reprise.report.parts.style import band, handle, legend, not_all, note, ticks

_SMOOTH = 2 * NEIGHBOURS + 1
_EVERY = 5  # of the points of a smoothed curve, which share most of what they average, so many make one
_BATCHES = {"color": style.GREY, "linewidth": 0.4, "alpha": 0.5, "zorder": 0}
_MARK = {"linestyle": "none", "markersize": 4, "zorder": 6}
_OURS_AT = {**_MARK, "marker": "o", "color": style.BLUE}
_ORIGINAL_AT = {**_MARK, "marker": "s", "color": style.BLACK, "fillstyle": "none", "capsize": 2, "linewidth": 0.8}
_THEIRS = style.ORIGINAL
_FAR = 0.25
"""Nats by which ours and the original are shown to differ; what lies beyond is said."""
_BOOK = {"color": style.BLACK, "linewidth": 0.8, "linestyle": (0, (4, 2))}
_MEASURES = {"words_in_book": "words of the book", "distinct_2": "different word pairs", "spaces": "spaces"}
_DECODERS = {"sample": style.OURS, "argmax": {**style.OURS, "color": style.VERMILION, "linestyle": (0, (3, 1))}}


def loss_curves(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw a column a book: the loss over the step, ours over the original; below, ours minus the original.

    Lines are rolling means; the band is the 95 % interval of our mean, where several replicas were run. Squares and
    dots are the means at the document's steps.
    """
    names = context.cited_by(figure_id)
    figure, grid = style.panels(4.2, 2, len(names), sharex="col", sharey="row", squeeze=False, height_ratios=(2, 1))
    for (above, below), name in zip(grid.T, names, strict=True):
        _losses(above, below, context, name)
        above.set_title(context.title(name))
        missing = "".join(not_all(context.status(name))[:1])
        note(above, style.OTHER_CORPUS if context.replaced_dataset(name) else missing)
        below.set_xlabel("step", labelpad=1)
        below.axhline(0, **_THEIRS)
    first = figure.axes[0]
    first.set(yscale="log", ylabel="loss (nats per character)")
    ticks(first.yaxis, [0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4], lambda value: f"{value:g}")
    grid[1, 0].set(ylabel="ours − original", ylim=(-_FAR, _FAR))
    _legend(figure)
    return figure


def _losses(above: Axes, below: Axes, context: Context, name: str) -> None:
    original = original_of(context, name)
    ours = context.points(name, "cross_entropy", "train")
    smooth = _smoothed(ours)
    if original is not None:
        theirs = _smoothed(original)
        above.plot(original, **_BATCHES)
        above.plot(theirs, **_THEIRS)
    if len(ours):
        middle, low, high = mean_and_interval(smooth)
        above.fill_between(smooth.index, low, high, **style.BAND)
        above.plot(middle, **style.OURS)
        if original is not None:
            shared = smooth.index.intersection(theirs.index)
            gap = theirs[shared]
            below.fill_between(shared, low[shared] - gap, high[shared] - gap, **style.BAND)
            below.plot(middle[shared] - gap, **style.OURS)
            if (most := (high[shared] - gap).max()) > _FAR:
                note(below, f"interval up to {most:.2f}")
    for _, points in context.points(name, "cross_entropy", "train", status="diverged").items():
        above.plot(points.dropna(), **style.DIVERGED, label="diverged")
    steps = table_steps(context, name)
    above.plot(steps, [near(ours, step).mean().mean() for step in steps], **_OURS_AT)
    if original is not None:
        theirs = [near(original, step) for step in steps]
        centres, reaches = [some.mean() for some in theirs], [2 * some.std() for some in theirs]
        above.errorbar(steps, centres, yerr=reaches, **_ORIGINAL_AT)
    style.count_ticks(above.xaxis, 4)


def _smoothed(points: Any) -> Any:
    """Means of the points at most NEIGHBOURS steps away; every few of them."""
    gap = pd.Series(points.index).diff().median()
    # NaN of fewer than two points: a book that a tier does not read has none.
    window = max(1, int(_SMOOTH // gap) | 1) if gap > 0 else 1
    return points.rolling(window, center=True, min_periods=1).mean().iloc[::_EVERY]


def _legend(figure: Figure) -> None:
    handles = [
        handle(style.OURS, "ours, mean"),
        band(),
        handle(_THEIRS, "original"),
        handle({**_BATCHES, "alpha": 1}, "original, single batches"),
        handle(_OURS_AT, "ours at the document's steps"),
        handle({k: v for k, v in _ORIGINAL_AT.items() if k != "capsize"}, "original there ± 2 SD"),
    ]
    if any(line.get_label() == "diverged" for axes in figure.axes for line in axes.lines):
        handles.append(handle(style.DIVERGED, "diverged"))
    legend(figure, handles, 4)


def measures_over_steps(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw a row a book, a column a measure of the texts, over the step: sampled, by argmax, and the book's own."""
    names = context.cited_by(figure_id)
    rows, columns = len(names), len(_MEASURES)
    figure, grid = style.panels(1.7 * rows + 0.4, rows, columns, sharex=True, sharey=True, squeeze=False)
    for number, (row, name) in enumerate(zip(grid, names, strict=True)):
        for axes, (measure, label) in zip(row, _MEASURES.items(), strict=True):
            for decoder, look in _DECODERS.items():
                style.course(axes, context.points(name, measure, decoder), look, 0, 1)
            if len(own := context.values(name, measure, "book-short")):
                axes.axhline(own.mean(), **_BOOK)
            axes.set(title="" if number else label, ylim=(0, 1.03))
            style.count_ticks(axes.xaxis, 4)
        row[0].set_ylabel(context.title(name), fontsize=7)
    for axes in grid[-1]:
        axes.set_xlabel("step", labelpad=1)
    handles = [handle(_DECODERS["sample"], "sampled"), handle(_DECODERS["argmax"], "argmax")]
    legend(figure, [*handles, handle(_BOOK, "the book itself"), band(style.GREY)], 4)
    return figure
