"""Draw the figures of document 002, part 2: training losses on two books, and measures of the texts over training."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reprise.data.text.books import NEIGHBOURS
from reprise.report.papers.books.tables import get_original_losses, list_table_steps, select_near
from reprise.report.parts import style
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import format_fixed
from reprise.report.parts.uncertainty import compute_mean_curve

_SMOOTHING_WIDTH = 2 * NEIGHBOURS + 1
_KEPT_EVERY = 5  # of the points of a smoothed curve, which share most of what they average, so many make one
_BATCH_STYLE = {"color": style.GREY, "linewidth": 0.4, "alpha": 0.5, "zorder": 0}
_MARK_STYLE = {"linestyle": "none", "markersize": 4, "zorder": 6}
_OUR_MARK = {**_MARK_STYLE, "marker": "o", "color": style.BLUE}
_ORIGINAL_MARK = {
    **_MARK_STYLE,
    "marker": "s",
    "color": style.BLACK,
    "fillstyle": "none",
    "capsize": 2,
    "linewidth": 0.8,
}
_ORIGINAL_LINE = style.ORIGINAL
_MAX_GAP = 0.25
"""The largest difference of ours and the original that is drawn, in nats; a larger one is noted."""
_BOOK_LINE = {"color": style.BLACK, "linewidth": 0.8, "linestyle": (0, (4, 2))}
_MEASURES = {
    "words_in_book": "words that the book has",
    "distinct_2": "different pairs of words",
    "spaces": "spaces",
}
"""Titles of the measures, which are shares."""
_DECODER_STYLES = {"sample": style.OURS, "argmax": {**style.OURS, "color": style.VERMILION, "linestyle": (0, (3, 1))}}


def loss_curves(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw a column per book: our loss and the original's over the step; below, ours minus the original.

    Lines are rolling means; the band is the 95 % interval of our mean if there are several replicas. Squares and dots
    are the means at the document's steps.
    """
    names = context.list_cited_experiments(figure_id)
    figure, grid = style.make_panels(
        4.2, 2, len(names), sharex="col", sharey="row", squeeze=False, height_ratios=(2, 1)
    )
    for (loss_axes, gap_axes), name in zip(grid.T, names, strict=True):
        _plot_losses(loss_axes, gap_axes, context, name)
        loss_axes.set_title(context.get_title(name))
        note = style.count_replicas(context.get_status(name))
        style.add_panel_note(loss_axes, style.OTHER_CORPUS if context.find_replaced_dataset(name) else note)
        gap_axes.set_xlabel("step", labelpad=1)
        gap_axes.axhline(0, **_ORIGINAL_LINE)
    first_axes = figure.axes[0]
    first_axes.set(yscale="log", ylabel="loss (nats per character)")
    style.set_ticks(first_axes.yaxis, [0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4], lambda value: f"{value:g}")
    grid[1, 0].set(ylabel="ours − original\n(nats)", ylim=(-_MAX_GAP, _MAX_GAP))
    _add_legend(figure)
    return figure


def _plot_losses(loss_axes: Axes, gap_axes: Axes, context: Context, name: str) -> None:
    """Plot the losses of a book, and their difference from the original's."""
    original = get_original_losses(context, name)
    ours = context.get_curve_points(name, "cross_entropy", "train")
    if original is not None:
        loss_axes.plot(original, **_BATCH_STYLE)
        loss_axes.plot(_smooth(original), **_ORIGINAL_LINE)
    if len(ours):
        curve = compute_mean_curve(_smooth(ours))
        mean, low, high = curve
        loss_axes.fill_between(mean.index, low, high, **style.BAND)
        loss_axes.plot(mean, **style.OURS)
        if original is not None:
            _plot_gap(gap_axes, curve, _smooth(original))
    for _, points in context.get_curve_points(name, "cross_entropy", "train", status="diverged").items():
        loss_axes.plot(points.dropna(), **style.DIVERGED, label="diverged")
    steps = list_table_steps(context, name)
    loss_axes.plot(steps, [select_near(ours, step).mean().mean() for step in steps], **_OUR_MARK)
    if original is not None:
        batches = [select_near(original, step) for step in steps]
        means = [losses.mean() for losses in batches]
        deviations = [2 * losses.std() for losses in batches]
        loss_axes.errorbar(steps, means, yerr=deviations, **_ORIGINAL_MARK)
    style.set_integer_ticks(loss_axes.xaxis, 4)


def _plot_gap(axes: Axes, curve: tuple[pd.Series, pd.Series, pd.Series], original: pd.Series) -> None:
    """Plot our mean curve, with the ends of its interval, minus the original's, at the steps that both have."""
    steps = curve[0].index.intersection(original.index)
    mean, low, high = (line[steps] - original[steps] for line in curve)
    axes.fill_between(steps, low, high, **style.BAND)
    axes.plot(mean, **style.OURS)
    if max(high.max(), -low.min()) > _MAX_GAP:
        style.add_panel_note(axes, f"interval from {format_fixed(low.min(), 2)} to {format_fixed(high.max(), 2)}")


def _smooth(points: Any) -> Any:
    """Average the points at most NEIGHBOURS steps away; keep every fifth mean."""
    gap = pd.Series(points.index).diff().median()
    # NaN of fewer than two points: a book that a tier does not read has none.
    window = max(1, int(_SMOOTHING_WIDTH // gap) | 1) if gap > 0 else 1
    return points.rolling(window, center=True, min_periods=1).mean().iloc[::_KEPT_EVERY]


def _add_legend(figure: Figure) -> None:
    """Add the legend; it explains diverged replicas if there are any."""
    handles = [
        style.make_handle(style.OURS, "ours, mean"),
        style.make_band_handle(),
        style.make_handle(_ORIGINAL_LINE, "original"),
        style.make_handle({**_BATCH_STYLE, "alpha": 1}, "original, single batches"),
        style.make_handle(_OUR_MARK, "ours at the same steps"),
        style.make_handle(
            {k: v for k, v in _ORIGINAL_MARK.items() if k != "capsize"}, "original, mean ± 2 SD of batches"
        ),
    ]
    if any(line.get_label() == "diverged" for axes in figure.axes for line in axes.lines):
        handles.append(style.make_handle(style.DIVERGED, "diverged"))
    style.add_legend(figure, handles, 3)


def measures_over_steps(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw a row per book, a column per measure of texts over the step: sampled, argmax, the book's own."""
    names = context.list_cited_experiments(figure_id)
    rows, columns = len(names), len(_MEASURES)
    figure, grid = style.make_panels(1.7 * rows + 0.4, rows, columns, sharex=True, sharey=True, squeeze=False)
    for number, (row, name) in enumerate(zip(grid, names, strict=True)):
        for axes, (measure, label) in zip(row, _MEASURES.items(), strict=True):
            for decoder, line_style in _DECODER_STYLES.items():
                style.plot_mean_curve(axes, context.get_curve_points(name, measure, decoder), line_style, 0, 1)
            if len(book_values := context.get_values(name, measure, "book-short")):
                axes.axhline(book_values.mean(), **_BOOK_LINE)
            axes.set(title="" if number else label, ylim=(0, 1.03))
            style.set_integer_ticks(axes.xaxis, 4)
        row[0].set_ylabel(f"{context.get_title(name)}\nshare", fontsize=7)
        style.add_panel_note(row[-1], style.count_replicas(context.get_status(name)))
    for axes in grid[-1]:
        axes.set_xlabel("step", labelpad=1)
    handles = [
        style.make_handle(_DECODER_STYLES["sample"], "sampled"),
        style.make_handle(_DECODER_STYLES["argmax"], "argmax: the most probable character each time"),
    ]
    style.add_legend(
        figure, [*handles, style.make_handle(_BOOK_LINE, "the book itself"), style.make_band_handle(style.GREY)], 4
    )
    return figure
