"""Draw Figures 1 and 3 of document 000: loss over the product's relative size and the position in a word."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from reprise.data.text.character_lines import MAX_COMMON_LENGTH
from reprise.report.papers.gso.tables import CHARACTER, TOKEN, get_losses_on_equal_folds, list_unstable
from reprise.report.parts import style, wording
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import format_count, format_significant
from reprise.report.parts.style import LINE_STYLES, add_legend, make_handle, set_ticks
from reprise.report.parts.uncertainty import MeanEstimate, compute_difference_half_width, estimate_mean

_FIRST, _SECOND = LINE_STYLES[:2]
_TOKEN_STYLES = {"characters": _FIRST, "bigrams": _SECOND}
_MARKED_LINE = {"markersize": 4, "linewidth": 1.3}
_BEST_STYLE = {
    "color": style.BLACK,
    "marker": "o",
    "markersize": 9,
    "fillstyle": "none",
    "linestyle": "none",
    "zorder": 5,
}
_UNSTABLE_STYLE = {**style.DIVERGED_END, "color": style.BLACK, "linestyle": "none", "zorder": 6}
_BAR_HANDLE = make_handle(
    {"color": style.GREY, "marker": "|", "markersize": 9, "linestyle": "none"}, "bar: 95 % interval"
)
_OPTIMUM = 2
"""The paper's best |m|/|h| for both kinds of token (section 4.2)."""
_MIN_CHARACTERS = 30
"""The smallest number of characters of a position whose mean is shown."""
_CHARACTER_STYLES = {"letters": ("", _FIRST), "spaces after words": ("_of_space", _SECOND)}


def loss_against_ratio(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw the test loss over |m|/|h|, a line per kind of token: per character, and above the best ratio.

    Points are means over the folds that all models of a line have; hollow for one fold. Bars are 95 % intervals; in the
    right panel, of differences on equal folds. The paper's optimum is marked, and models of which a fold became
    unstable.
    """
    names = context.list_cited_experiments(figure_id)
    points = _collect_ratio_points(context, names)
    if not points.n.sum():
        return style.draw_absence(context, figure_id, names)
    figure, (left, right) = style.make_panels(3.2, 1, 2)
    handles = []
    for kind, line_style in _TOKEN_STYLES.items():
        cited_points = points[points.tokens == kind].sort_values("ratio")
        run_points = cited_points[cited_points.n > 0]
        if run_points.empty:
            continue
        losses = get_losses_on_equal_folds(context, run_points.index, CHARACTER)
        best_name = losses.mean(axis=1).idxmin()
        estimates = {name: estimate_mean(context, name, CHARACTER, "test") for name in run_points.index}
        # A model with more folds than the others has another mean over its own.
        half_widths = {
            name: _get_half_width(estimate) if estimate.n == losses.loc[name].notna().sum() else None
            for name, estimate in estimates.items()
        }
        _plot_losses(left, run_points, losses, half_widths, line_style)
        half_widths = {
            name: compute_difference_half_width(context, name, best_name, CHARACTER, "test")
            for name in run_points.index
        }
        _plot_losses(right, run_points, losses - losses.loc[best_name], half_widths | {best_name: None}, line_style)
        remarks = (
            []
            if len(run_points) == len(cited_points)
            else [f"{len(run_points)} of {format_count(len(cited_points), 'ratio')} run"]
        )
        remarks.append(format_count(int(losses.notna().sum(axis=1).max()), "fold"))
        handles.append(make_handle({**line_style, **_MARKED_LINE}, f"{kind} ({'; '.join(remarks)})"))
    for axes, title in ((left, "test loss"), (right, "test loss above that of the best ratio")):
        axes.set(title=title, ylabel="nats per character")
        axes.axvline(_OPTIMUM, **style.DOTTED)
        _set_ratio_axis(axes, points[points.n > 0])
    _add_legend(figure, [*handles, *_make_mark_handles(points.unstable.any())], context, names)
    return figure


def _collect_ratio_points(context: Context, names: list[str]) -> pd.DataFrame:
    """Collect the kind of token and the ratio of each model, its number of folds, and whether one became unstable."""
    settings = {"tokens": "data.tokens", "second": "model.second_order_size", "hidden": "model.hidden_size"}
    points = pd.DataFrame(
        {key: [context.get_setting(n, setting) for n in names] for key, setting in settings.items()}, index=names
    )
    points["ratio"] = points.second / points.hidden
    points["n"] = [len(context.get_values_by_replica(name, TOKEN)) for name in names]
    points["unstable"] = [bool(list_unstable(context, name)) for name in names]
    return points


def _make_mark_handles(has_unstable: bool) -> list[Line2D]:
    """Make the legend's entries of what both panels mark."""
    handles = [
        make_handle(style.DOTTED, f"best in the paper, about {_OPTIMUM}"),
        make_handle(_BEST_STYLE, "best of ours"),
        _BAR_HANDLE,
        make_handle({**_FIRST, "linestyle": "none", "markerfacecolor": "white"}, "hollow: one fold"),
    ]
    return [*handles, make_handle(_UNSTABLE_STYLE, "a fold became unstable")] if has_unstable else handles


def loss_by_position(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw the test loss over the position in the word, for letters and spaces, above the number of each.

    Means are over the characters of all folds; thin lines show single folds. Positions with fewer than 30 characters
    have no loss.
    """
    (name,) = context.list_cited_experiments(figure_id)
    losses_by_name = {}
    for kind, (suffix, _) in _CHARACTER_STYLES.items():
        losses, counts = (
            context.get_curve_points(name, f"{metric}{suffix}", "test") for metric in ("cross_entropy", "count")
        )
        losses_by_name[kind] = losses, counts.fillna(0)  # a position that a fold has not counts 0 there
    if all(counts.empty for _, counts in losses_by_name.values()):
        return style.draw_absence(context, figure_id, [name])
    figure, (loss_axes, count_axes) = style.make_panels(4.2, 2, 1, sharex=True, height_ratios=[2, 1])
    handles = []
    for kind, (_, line_style) in _CHARACTER_STYLES.items():
        losses, counts = losses_by_name[kind]
        total = counts.sum(axis=1)
        losses, is_frequent = losses[total >= _MIN_CHARACTERS], total >= _MIN_CHARACTERS
        if losses.shape[1] > 1:
            loss_axes.plot(losses, **style.OUR_REPLICA | {"color": line_style["color"]})
        loss_axes.plot(((losses * counts).sum(axis=1) / total)[is_frequent], **line_style, **_MARKED_LINE)
        count_axes.plot(total, **line_style, **_MARKED_LINE)
        handles.append(make_handle({**line_style, **_MARKED_LINE}, kind))
    _mark_long_words(loss_axes, count_axes, losses_by_name["letters"][1].sum(axis=1))
    style.set_integer_ticks(count_axes.xaxis, 30)
    loss_axes.set_ylim(bottom=0)
    loss_axes.set_ylabel("test loss (nats per character)")
    count_axes.set(yscale="log", ylabel="characters")
    # Every power of ten from 1 on, and room above the highest.
    count_axes.set_ylim(
        0.7, 2.5 * max(counts.sum(axis=1).max() for _, counts in losses_by_name.values() if len(counts))
    )
    count_axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    count_axes.yaxis.set_minor_locator(NullLocator())
    count_axes.set_xlabel("position in the word, 1 for its first letter; a space is one after the last")
    if (folds := losses_by_name["letters"][0].shape[1]) > 1:
        handles.append(make_handle(style.OUR_REPLICA | {"color": style.GREY}, f"one of {folds} folds"))
    _add_legend(figure, handles, context, [name])
    return figure


def _mark_long_words(loss_axes: Axes, count_axes: Axes, letter_counts: pd.Series) -> None:
    """Mark where long words begin, with the share of letters beyond."""
    if share := letter_counts[letter_counts.index > MAX_COMMON_LENGTH].sum() / letter_counts.sum():
        for axes in (loss_axes, count_axes):
            axes.axvline(MAX_COMMON_LENGTH + 0.5, **style.DOTTED)
        text = f"letters beyond the {MAX_COMMON_LENGTH}th:\n{format_significant(100 * share, 2)} % of all"
        position = (MAX_COMMON_LENGTH + 0.5, 0.97)
        count_axes.annotate(text, position, (4, 0), ("data", "axes fraction"), "offset points", fontsize=7, va="top")


def _get_half_width(loss: MeanEstimate) -> float | None:
    """Return half the width of the interval of a mean; None without one."""
    return (loss.interval[1] - loss.interval[0]) / 2 if loss.interval else None


def _plot_losses(
    axes: Axes,
    points: pd.DataFrame,
    losses: pd.DataFrame,
    half_widths: Mapping[str, float | None],
    line_style: Mapping[str, Any],
) -> None:
    """Plot the mean losses over the ratio with their intervals; mark the best and the unstable ones."""
    means = losses.mean(axis=1)
    axes.plot(points.ratio, means, color=line_style["color"], linestyle=line_style["linestyle"], linewidth=1.2)
    for name, ratio in points.ratio.items():
        half_width = half_widths[name] or 0.0
        interval = means[name] - half_width, means[name] + half_width
        estimate = MeanEstimate(means[name], int(losses.loc[name].notna().sum()), interval=interval)
        style.plot_estimate(axes, ratio, estimate, {"color": line_style["color"], "marker": line_style["marker"]})
    best_name = means.idxmin()
    axes.plot(points.ratio[best_name], means[best_name], **_BEST_STYLE)
    axes.plot(points.ratio[points.unstable], means[points.unstable], **_UNSTABLE_STYLE)


def _set_ratio_axis(axes: Axes, points: pd.DataFrame) -> None:
    """Label a logarithmic axis with the ratios as the paper rounds them: 0.0997 is 0.1."""
    axes.set_xscale("log")
    set_ticks(axes.xaxis, sorted({float(f"{ratio:.1g}") for ratio in points.ratio}), lambda value: f"{value:g}")
    axes.set_xlabel("|m| / |h|", labelpad=1)
    axes.margins(x=0.06, y=0.08)


def _add_legend(figure: Figure, handles: list[Line2D], context: Context, names: list[str]) -> None:
    """Add the legend, with remarks on other corpora and on models best at the last epoch."""
    remarks = [style.OTHER_CORPUS] if any(context.find_replaced_dataset(name) for name in names) else []
    if count := sum(map(bool, wording.count_best_at_last_epoch(context, names).values())):
        verb = "is" if count == 1 else "are"
        remarks.append(
            f"{count} of {format_count(len(names), 'model')} {verb} best at the last epoch: more epochs might be better"
        )
    add_legend(figure, handles, min(4, len(handles)), title="; ".join(remarks) or None)
