"""Document 000, Figures 1 and 3: loss against the relative size of the product, and by position in the word."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from reprise.data.text.character_lines import LONG
from reprise.report.papers.gso.tables import CHARACTER, TOKEN, list_unstable, on_equal_folds
from reprise.report.parts import style, words
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import plural, significant
from reprise.report.parts.spreads import Measured, difference_reach, measured
from reprise.report.parts.style import LOOKS, handle, legend, ticks

_FIRST, _SECOND = LOOKS[:2]
_KINDS = {"characters": _FIRST, "bigrams": _SECOND}
_DRAWN = {"markersize": 4, "linewidth": 1.3}
_BEST = {"color": style.BLACK, "marker": "o", "markersize": 9, "fillstyle": "none", "linestyle": "none", "zorder": 5}
_UNSTABLE = {**style.DIVERGED_END, "color": style.BLACK, "linestyle": "none", "zorder": 6}
_BAR = handle({"color": style.GREY, "marker": "|", "markersize": 9, "linestyle": "none"}, "bar: 95 % interval")
_OPTIMUM = 2
"""The paper's best |m|/|h| for both kinds of token (section 4.2)."""
_LEAST = 30
"""A mean over fewer characters says little of a position."""
_SUFFIXES = {"letters": ("", _FIRST), "spaces after words": ("_of_space", _SECOND)}


def loss_against_ratio(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Test loss over |m|/|h| (logarithmic), a line a kind of token: per character, and above the best ratio.

    Points are means over the folds that all models of a curve have, hollow where that is one fold; bars are 95 %
    intervals, in the right panel of the differences of equal folds. The paper's optimum is marked, and where a fold
    stopped being finite.
    """
    names = context.cited_by(figure_id)
    settings = {"tokens": "data.tokens", "second": "model.second_order_size", "hidden": "model.hidden_size"}
    points = pd.DataFrame({key: [context.setting(n, of) for n in names] for key, of in settings.items()}, index=names)
    points["ratio"] = points.second / points.hidden
    points["n"] = [len(context.by_fold(name, TOKEN)) for name in names]
    points["unstable"] = [bool(list_unstable(context, name)) for name in names]
    if not points.n.sum():
        return style.absent(context, figure_id, names)
    figure, (left, right) = style.panels(3.2, 1, 2)
    handles = []
    for kind, look in _KINDS.items():
        cited = points[points.tokens == kind].sort_values("ratio")
        run = cited[cited.n > 0]
        if run.empty:
            continue
        losses = on_equal_folds(context, run.index, CHARACTER)
        best = losses.mean(axis=1).idxmin()
        reaches = {name: _reach(measured(context, name, CHARACTER, "test")) for name in run.index}
        _line(left, run, losses, reaches, look)
        reaches = {name: difference_reach(context, name, best, CHARACTER, "test") for name in run.index}
        _line(right, run, losses - losses.loc[best], reaches | {best: None}, look)
        part = [] if len(run) == len(cited) else [f"{len(run)} of {plural(len(cited), 'ratio')} run"]
        part += ["1 fold"] if losses.notna().sum(axis=1).max() == 1 else []
        handles.append(handle({**look, **_DRAWN}, f"{kind} ({'; '.join(part)})" if part else kind))
    for axes, title in ((left, "nats per character"), (right, "above the best ratio, nats per character")):
        axes.set_title(title)
        axes.axvline(_OPTIMUM, **style.DOTTED)
        _ratios(axes, points[points.n > 0])
    left.set_ylabel("test loss")
    handles += [handle(style.DOTTED, f"best in the paper, about {_OPTIMUM}"), handle(_BEST, "best of ours")]
    handles += [_BAR, handle({**_FIRST, "linestyle": "none", "markerfacecolor": "white"}, "hollow: one fold")]
    handles += [handle(_UNSTABLE, "a fold became unstable")] if points.unstable.any() else []
    _legend(figure, handles, context, names)
    return figure


def loss_by_position(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Test loss over the position in the word, letters and the spaces after words apart, above the number of each.

    Means are over all characters of the folds together; thin lines show the folds, where there are several. Positions
    with fewer than 30 characters have no loss.
    """
    (name,) = context.cited_by(figure_id)
    losses_by_name = {}
    for kind, (suffix, _) in _SUFFIXES.items():
        losses, counts = (context.points(name, f"{metric}{suffix}", "test") for metric in ("cross_entropy", "count"))
        losses_by_name[kind] = losses, counts.fillna(0)  # a position that a fold has not counts 0 there
    if all(counts.empty for _, counts in losses_by_name.values()):
        status = context.status(name)
        return style.empty(context.display(figure_id).title, "diverged" if status.run else status.absence)
    figure, (above, below) = style.panels(4.2, 2, 1, sharex=True, height_ratios=[2, 1])
    handles = []
    for kind, (_, look) in _SUFFIXES.items():
        losses, counts = losses_by_name[kind]
        total = counts.sum(axis=1)
        losses, shown = losses[total >= _LEAST], total >= _LEAST
        if losses.shape[1] > 1:
            above.plot(losses, **style.ONE_OF_OURS | {"color": look["color"]})
        above.plot(((losses * counts).sum(axis=1) / total)[shown], **look, **_DRAWN)
        below.plot(total, **look, **_DRAWN)
        handles.append(handle({**look, **_DRAWN}, kind))
    letters = losses_by_name["letters"][1].sum(axis=1)
    if share := letters[letters.index > LONG].sum() / letters.sum():
        for axes in (above, below):
            axes.axvline(LONG + 0.5, **style.DOTTED)
        beyond, at = f"letters beyond the {LONG}th:\n{significant(100 * share, 2)} % of all", (LONG + 0.5, 0.97)
        below.annotate(beyond, at, (4, 0), ("data", "axes fraction"), "offset points", fontsize=7, va="top")
    style.count_ticks(below.xaxis, 30)
    above.set_ylim(bottom=0)
    above.set_ylabel("test loss (nats per character)")
    below.set(yscale="log", ylabel="characters")
    # Every power of ten from 1 on, and room above the highest.
    below.set_ylim(0.7, 2.5 * max(counts.sum(axis=1).max() for _, counts in losses_by_name.values() if len(counts)))
    below.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    below.yaxis.set_minor_locator(NullLocator())
    below.set_xlabel("position in the word, 1 for its first letter; a space is one after the last")
    if (folds := losses_by_name["letters"][0].shape[1]) > 1:
        handles.append(handle(style.ONE_OF_OURS | {"color": style.GREY}, f"one of {folds} folds"))
    _legend(figure, handles, context, [name])
    return figure


def _reach(loss: Measured) -> float | None:
    return (loss.interval[1] - loss.interval[0]) / 2 if loss.interval else None


def _line(
    axes: Axes, points: pd.DataFrame, losses: pd.DataFrame, reaches: Mapping[str, float | None], look: Mapping[str, Any]
) -> None:
    heights = losses.mean(axis=1)
    axes.plot(points.ratio, heights, color=look["color"], linestyle=look["linestyle"], linewidth=1.2)
    for name, ratio in points.ratio.items():
        reach = reaches[name] or 0.0
        ends = heights[name] - reach, heights[name] + reach
        mean = Measured(heights[name], int(losses.loc[name].notna().sum()), interval=ends)
        style.estimate(axes, ratio, mean, {"color": look["color"], "marker": look["marker"]})
    best = heights.idxmin()
    axes.plot(points.ratio[best], heights[best], **_BEST)
    axes.plot(points.ratio[points.unstable], heights[points.unstable], **_UNSTABLE)


def _ratios(axes: Axes, points: pd.DataFrame) -> None:
    """Label a logarithmic axis with the ratios as the paper names them: of whole sizes, so that 0.0997 is 0.1."""
    axes.set_xscale("log")
    ticks(axes.xaxis, sorted({float(f"{ratio:.1g}") for ratio in points.ratio}), lambda value: f"{value:g}")
    axes.set_xlabel("|m| / |h|", labelpad=1)
    axes.margins(x=0.06, y=0.08)


def _legend(figure: Figure, handles: list[Line2D], context: Context, names: list[str]) -> None:
    remarks = [style.OTHER_CORPUS] if any(context.replaced_dataset(name) for name in names) else []
    if still := sum(map(bool, words.best_at_the_end(context, names).values())):
        remarks.append(f"best at the last epoch, so more might be better: {still} of {plural(len(names), 'model')}")
    legend(figure, handles, min(4, len(handles)), title="; ".join(remarks) or None)
