"""Draw Figures 1 and 2 of document 002, part 1: the seeds that solved the task, and their losses."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from reprise.evidence.statistics import compute_clopper_pearson_interval
from reprise.report.papers.palindromes.tables import SPLIT, list_first_steps
from reprise.report.parts import style
from reprise.report.parts.context import Context
from reprise.report.parts.style import (
    add_legend,
    add_panel_note,
    count_replicas,
    make_band_handle,
    make_handle,
)

ORIGINAL_CURVES = "uva_palindrome_curves.csv"
_ORIGINAL_MODELS = {"elman": "rnn", "lstm": "lstm"}
"""The original's name of a model, by ours."""
_CHANCE = math.log(10)
_MAX_COLUMNS = 5
_MAX_POINTS = 90
"""Points per line: more make a larger file and the same drawing."""
_SEED = {"color": style.BLUE, "linewidth": 0.5, "alpha": 0.35, "zorder": 2}
_ORIGINAL_LOSS = {"color": style.BLACK, "linewidth": 1.3, "zorder": 4}
_ORIGINAL_STEP = {"color": style.BLACK, "linewidth": 1.0, "linestyle": (0, (4, 2)), "zorder": 4}


def training_curves(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw a column per experiment: the share of seeds with an error-free batch by a step, above their losses.

    The band is the share's 95 % interval after Clopper and Pearson. A dashed line marks the original's first such step.
    The original's loss is bold, ours is a thin line per seed. Option `smooth`: losses are means of so many logged
    points.
    """
    smooth, names = options["smooth"], context.list_cited_experiments(figure_id)
    original = context.read_reference(ORIGINAL_CURVES)
    blocks = math.ceil(len(names) / _MAX_COLUMNS)
    columns = math.ceil(len(names) / blocks)
    figure, grid = style.make_panels(2.75 * blocks + 0.35, 2 * blocks, columns, sharey="row", squeeze=False)
    for number, name in enumerate(names):
        block, column = divmod(number, columns)
        accuracy_axes, loss_axes = grid[2 * block : 2 * block + 2, column]
        length = context.get_setting(name, "data.length")
        original_run = original[(original.model == _ORIGINAL_MODELS.get(context.get_entry(name).model.name))]
        original_run = original_run[original_run.sequence_length == length].set_index("step")
        last_step = _plot_reached_share(accuracy_axes, context, name, original_run.train_accuracy)
        last_step = max(last_step, _plot_losses(loss_axes, context, name, original_run.train_loss_nats, smooth))
        accuracy_axes.set_title(f"T = {length}")
        status = context.get_status(name)
        add_panel_note(accuracy_axes, count_replicas(status) if status.planned else status.missing_reason)
        for axes in (accuracy_axes, loss_axes):
            axes.set_xlim(0, last_step or 1)
            style.set_integer_ticks(axes.xaxis, 3)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}k" if x >= 1000 else f"{x:g}"))
        accuracy_axes.tick_params(labelbottom=False)
        loss_axes.set_xlabel("step", labelpad=1)
    for accuracy_axes, loss_axes in grid[:, 0].reshape(-1, 2):
        accuracy_axes.set_ylabel("seeds that reached\n100 % accuracy")
        loss_axes.set_ylabel("loss (nats)")
    for axes in grid[-2:, columns - (columns * blocks - len(names)) :].flat:
        axes.set_visible(False)
    # The losses of every block have the same limits, and ticks at whole powers of ten.
    rows = grid[1::2, 0]
    low, high = (function(bound for axes in rows for bound in axes.get_ylim()) for function in (min, max))
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for axes in rows:
        axes.set_ylim(low, high)
        axes.yaxis.set_major_locator(FixedLocator([10.0**d for d in decades]))
    _add_legend(figure, smooth)
    return figure


def _plot_reached_share(axes: Axes, context: Context, name: str, original: pd.Series) -> float:
    """Plot the share over the step; return the last step of ours."""
    steps = list_first_steps(context, name)
    last_steps = [context.get_curve_points(name, "accuracy", SPLIT, s).index.max() for s in ("finished", "diverged")]
    last_step = max((float(step) for step in last_steps if pd.notna(step)), default=0.0)
    if steps:
        x = [0.0, *(step for step in steps if math.isfinite(step)), last_step]
        counts = [0, *range(1, len(x) - 1), len(x) - 2]
        low, high = np.transpose([compute_clopper_pearson_interval(count, len(steps)) for count in counts])
        axes.fill_between(x, low, high, step="post", **style.BAND)
        axes.step(x, np.array(counts) / len(steps), where="post", color=style.BLUE, linewidth=1.5, zorder=3)
    full_accuracy_steps = original.index[original == 1]
    if len(full_accuracy_steps):
        axes.axvline(full_accuracy_steps[0], **_ORIGINAL_STEP)
    axes.set_ylim(-0.03, 1.05)
    axes.yaxis.set_major_locator(FixedLocator([0, 0.5, 1]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
    return last_step


def _plot_losses(axes: Axes, context: Context, name: str, original: pd.Series, smooth: int) -> float:
    """Plot the losses of our seeds and of the original; return the original's last step."""

    def smooth_points(points: pd.DataFrame | pd.Series) -> Any:
        means = points.rolling(smooth, min_periods=1).mean().where(points.notna())
        indices = sorted({*range(0, len(means), max(1, len(means) // _MAX_POINTS)), len(means) - 1} - {-1})
        return means.iloc[indices]

    for _, losses in smooth_points(context.get_curve_points(name, "cross_entropy", SPLIT)).items():
        axes.plot(losses.dropna(), **_SEED)
    for _, losses in context.get_curve_points(name, "cross_entropy", SPLIT, "diverged").items():
        diverged = losses.dropna()
        axes.plot(smooth_points(diverged), **{**style.DIVERGED, "linewidth": 0.7})
        axes.plot(diverged.index[-1:], smooth_points(diverged).iloc[-1:], **style.DIVERGED_END, zorder=6)
    axes.plot(smooth_points(original), **_ORIGINAL_LOSS)
    axes.axhline(_CHANCE, **style.HAIRLINE)
    axes.set_yscale("log")
    axes.yaxis.set_minor_locator(NullLocator())
    return float(original.index.max()) if len(original) else 0.0


def _add_legend(figure: Figure, smooth: int) -> None:
    """Add the legend; it explains diverged seeds if there are any."""
    rolling = f", rolling mean of {smooth} points" if smooth > 1 else ""
    handles = [
        make_handle({"color": style.BLUE, "linewidth": 1.5}, "share of our seeds"),
        make_band_handle(),
        make_handle(_ORIGINAL_STEP, "original reaches 100 %"),
        make_handle({**_SEED, "alpha": 0.8}, f"one seed{rolling}"),
        make_handle(_ORIGINAL_LOSS, "original"),
        make_handle(style.HAIRLINE, "chance"),
    ]
    if any(line.get_marker() == "X" for axes in figure.axes for line in axes.lines):
        handles.append(make_handle({**style.DIVERGED, **style.DIVERGED_END}, "diverged"))
    add_legend(figure, handles, 4, columnspacing=1.3, handlelength=1.6)
