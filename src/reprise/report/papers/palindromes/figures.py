"""Document 002, part 1, Figures 1 and 2: how many seeds solve the task by a step, and the loss of each."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from reprise.evidence.statistics import clopper_pearson
from reprise.report.papers.palindromes.tables import SPLIT, first_steps
from reprise.report.parts import style
from reprise.report.parts.context import Context
from reprise.report.parts.style import band, handle, legend, not_all, note

ORIGINAL = "uva_palindrome_curves.csv"
_MODELS = {"elman": "rnn", "lstm": "lstm"}
"""The original's name of a model, by ours."""
_CHANCE = math.log(10)
_COLUMNS = 5
_POINTS = 90
"""Points of a line: more make a larger file and the same drawing."""
_ONE = {"color": style.BLUE, "linewidth": 0.5, "alpha": 0.35, "zorder": 2}
_THEIRS = {"color": style.BLACK, "linewidth": 1.3, "zorder": 4}
_THEIR_STEP = {"color": style.BLACK, "linewidth": 1.0, "linestyle": (0, (4, 2)), "zorder": 4}


def training_curves(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw a column an experiment: the share of seeds that have made no mistake in a batch by a step, above losses.

    The band is the share's 95 % interval after Clopper and Pearson. The original's first such step is a dashed line;
    its loss stands out from ours, a faint line a seed. Option `smooth`: losses are means of so many logged points.
    """
    smooth, names = options["smooth"], context.cited_by(figure_id)
    original = context.original(ORIGINAL)
    blocks = math.ceil(len(names) / _COLUMNS)
    columns = math.ceil(len(names) / blocks)
    figure, grid = style.panels(2.75 * blocks + 0.35, 2 * blocks, columns, sharey="row", squeeze=False)
    for number, name in enumerate(names):
        block, column = divmod(number, columns)
        above, below = grid[2 * block : 2 * block + 2, column]
        length = context.setting(name, "data.length")
        theirs = original[(original.model == _MODELS.get(context.entry(name).model.name))]
        theirs = theirs[theirs.sequence_length == length].set_index("step")
        last = _reached(above, context, name, theirs.train_accuracy)
        last = max(last, _losses(below, context, name, theirs.train_loss_nats, smooth))
        above.set_title(f"T = {length}")
        status = context.status(name)
        words = [*([] if status.missing else [f"n = {status.run}"]), *not_all(status)]
        note(above, ", ".join(words) if status.wanted else status.absence)
        for axes in (above, below):
            axes.set_xlim(0, last or 1)
            style.count_ticks(axes.xaxis, 3)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}k" if x >= 1000 else f"{x:g}"))
        above.tick_params(labelbottom=False)
        below.set_xlabel("step", labelpad=1)
    for above, below in grid[:, 0].reshape(-1, 2):
        above.set_ylabel("seeds that reached\n100 % accuracy")
        below.set_ylabel("loss (nats)")
    for axes in grid[-2:, columns - (columns * blocks - len(names)) :].flat:
        axes.set_visible(False)
    # The losses of every block have the same limits, and ticks at whole powers of ten.
    rows = grid[1::2, 0]
    low, high = (of(bound for axes in rows for bound in axes.get_ylim()) for of in (min, max))
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for axes in rows:
        axes.set_ylim(low, high)
        axes.yaxis.set_major_locator(FixedLocator([10.0**d for d in decades]))
    _legend(figure, smooth)
    return figure


def _reached(axes: Axes, context: Context, name: str, original: pd.Series) -> float:
    """Draws the share over the step; returns the last step of ours."""
    steps = first_steps(context, name)
    ends = [context.points(name, "accuracy", SPLIT, s).index.max() for s in ("finished", "diverged")]
    end = max((float(step) for step in ends if pd.notna(step)), default=0.0)
    if steps:
        x = [0.0, *(step for step in steps if math.isfinite(step)), end]
        counts = [0, *range(1, len(x) - 1), len(x) - 2]
        ends = np.array([clopper_pearson(count, len(steps)) for count in counts])
        axes.fill_between(x, ends[:, 0], ends[:, 1], step="post", **style.BAND)
        axes.step(x, np.array(counts) / len(steps), where="post", color=style.BLUE, linewidth=1.5, zorder=3)
    full = original.index[original == 1]
    if len(full):
        axes.axvline(full[0], **_THEIR_STEP)
    axes.set_ylim(-0.03, 1.05)
    axes.yaxis.set_major_locator(FixedLocator([0, 0.5, 1]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
    return end


def _losses(axes: Axes, context: Context, name: str, original: pd.Series, smooth: int) -> float:
    def rolled(points: pd.DataFrame | pd.Series) -> Any:
        means = points.rolling(smooth, min_periods=1).mean().where(points.notna())
        kept = sorted({*range(0, len(means), max(1, len(means) // _POINTS)), len(means) - 1} - {-1})
        return means.iloc[kept]

    for _, losses in rolled(context.points(name, "cross_entropy", SPLIT)).items():
        axes.plot(losses.dropna(), **_ONE)
    for _, losses in context.points(name, "cross_entropy", SPLIT, "diverged").items():
        lost = losses.dropna()
        axes.plot(rolled(lost), **{**style.DIVERGED, "linewidth": 0.7})
        axes.plot(lost.index[-1:], rolled(lost).iloc[-1:], **style.DIVERGED_END, zorder=6)
    axes.plot(rolled(original), **_THEIRS)
    axes.axhline(_CHANCE, **style.HAIRLINE)
    axes.set_yscale("log")
    axes.yaxis.set_minor_locator(NullLocator())
    return float(original.index.max()) if len(original) else 0.0


def _legend(figure: Figure, smooth: int) -> None:
    rolling = f", rolling mean of {smooth} points" if smooth > 1 else ""
    handles = [
        handle({"color": style.BLUE, "linewidth": 1.5}, "share of our seeds"),
        band(),
        handle(_THEIR_STEP, "original at 100 %"),
        handle({**_ONE, "alpha": 0.8}, f"one seed{rolling}"),
        handle(_THEIRS, "original"),
        handle(style.HAIRLINE, "chance"),
    ]
    if any(drawn.get_marker() == "X" for axes in figure.axes for drawn in axes.lines):
        handles.append(handle({**style.DIVERGED, **style.DIVERGED_END}, "diverged"))
    legend(figure, handles, 4, columnspacing=1.3, handlelength=1.6)
