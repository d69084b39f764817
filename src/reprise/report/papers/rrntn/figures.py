"""Draw Figure 1 of document 001: perplexity against the number of recurrence matrices."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reprise.errors import UserError
from reprise.records.resolved import FULL
from reprise.report.parts import style, wording
from reprise.report.parts.context import Context
from reprise.report.parts.style import LINE_STYLES, add_legend, make_handle, set_ticks
from reprise.report.parts.uncertainty import MeanEstimate, estimate_mean

_METRIC, _SPLIT = "perplexity", "test"
_FIRST, _SECOND = ({key: LINE_STYLES[i][key] for key in ("color", "marker")} for i in (0, 1))
_LINE_STYLES_BY_MODEL = {
    ("r-rntn", "f"): _FIRST,
    ("r-rntn", "f_mod"): _SECOND,
    ("gru-lm", "f"): _FIRST,
    ("lstm-lm", "f"): _SECOND,
}
_LABELS = {
    ("r-rntn", "f"): "f: each frequent word has a matrix, the others share one",
    ("r-rntn", "f_mod"): "f_mod: all words share K matrices, by rank modulo K",
}
_GATED_MODELS = {"gru-lm": "r-GRU", "lstm-lm": "r-LSTM"}
_ALTERNATIVE = "schedule=rnnlm"
"""The alternative setting drawn beside the chosen one: the schedule of the toolkit that the paper used."""
_ROW_OFFSET = 0.17
"""The distance of ours and of the paper's number from the middle of a row."""
_SEED_STYLE = {"markersize": 3, "linestyle": "none", "alpha": 0.45, "markeredgewidth": 0, "zorder": 2}
_PAPER_STYLE = {"color": style.BLACK, "marker": "D", "markersize": 5.5, "markerfacecolor": "none", "linestyle": "none"}
_PAPER_STYLE["zorder"] = 5


@dataclass(frozen=True)
class _Point:
    """Hold one K of a line: the paper's number, and our mean and seeds, as perplexities."""

    experiment: str
    line: tuple[str, str]
    K: int
    paper: float | None
    mean: MeanEstimate
    seeds: np.ndarray


def perplexity_against_matrices(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw the test perplexity over K: a line per map with every seed and 95 % intervals, a panel per setting.

    K = 1 and K = V are the same model under both maps: f_mod's line reaches them without own points. The paper's
    numbers are diamonds; a reduced tier leaves them out, since it trains for fewer epochs. Gated models have a row per
    experiment instead. Experiments on another corpus are left out.

    Raises:
        UserError: There is no line for a model and its map.
    """
    names = [name for name in context.list_cited_experiments(figure_id) if not context.find_replaced_dataset(name)]
    points = _list_points(context, names, figure_id)
    if not any(point.mean.n for point in points):
        if context.sum_status(names).recorded:
            return style.draw_absence(context, figure_id, names)
        return style.draw_empty_figure(context.get_display(figure_id).title, style.OTHER_CORPUS)
    is_full_tier = context.tier == FULL  # levels of fewer epochs are not the paper's
    if any(point.line[0] in _GATED_MODELS for point in points):
        return _draw_gated(context, points, names, is_full_tier)
    panels = {"learning-rate schedule as chosen": points}
    alternative_points = _list_points(context, names, figure_id, f"@{_ALTERNATIVE}")
    if sum(bool(point.mean.n) for point in alternative_points) > 1:
        panels["Mikolov's learning-rate schedule"] = alternative_points
    figure, grid = style.make_panels(3.2, 1, len(panels), sharey=True, squeeze=False)
    for axes, (title, panel_points) in zip(grid[0], panels.items(), strict=True):
        _plot_sweep(axes, panel_points, show_paper=is_full_tier)
        axes.set(title=title, xscale="log", xlabel="K, the number of recurrence matrices")
        set_ticks(axes.xaxis, sorted({point.K for point in panel_points if point.mean.n}), lambda k: f"{k:.0f}")
        axes.tick_params(axis="x", labelsize=6 if len(panels) > 1 else 7)
        axes.margins(x=0.05, y=0.08)
    figure.axes[0].set_ylabel("test perplexity")
    _add_legend(figure, context, names, [line for line in _LABELS if any(p.line == line for p in points)], is_full_tier)
    return figure


def _list_points(context: Context, names: list[str], figure_id: str, variant_suffix: str = "") -> list[_Point]:
    """List the points of experiments in ascending order of K, as chosen or under an alternative setting."""
    points = []
    for name in names:
        line = context.get_entry(name).model.name, context.get_setting(name, "model.mapping")
        if line not in _LINE_STYLES_BY_MODEL:
            remedy = f"leave {figure_id} out, or give it a line in src/reprise/report/papers/rrntn/figures.py"
            key = f"{context.path}: key experiments.{name}.cited_by"
            raise UserError(f"{key}: {figure_id} has no line for the model {line[0]} with the map {line[1]}; {remedy}")
        matrices, paper = int(context.get_setting(name, "model.matrices")), context.get_printed(name, _METRIC, _SPLIT)
        estimate = estimate_mean(context, name + variant_suffix, _METRIC, _SPLIT)
        points.append(
            _Point(name, line, matrices, paper, estimate, context.get_values(name + variant_suffix, _METRIC, _SPLIT))
        )
    return sorted(points, key=lambda point: point.K)


def _plot_sweep(axes: Axes, points: list[_Point], show_paper: bool) -> None:
    """Plot the lines of a panel over K."""
    largest = max(point.K for point in points)
    for line, line_style in _LINE_STYLES_BY_MODEL.items():
        own_points = [point for point in points if point.line == line]
        if not own_points:
            continue
        line_points = [
            point for point in points if point.line == line or (point.K in (1, largest) and point.line[0] == line[0])
        ]
        axes.plot(
            [point.K for point in line_points],
            _get_means(line_points),
            color=line_style["color"],
            linewidth=1.1,
            zorder=3,
        )
        for point in own_points:
            _plot_seeds(axes, point.K, point, line_style)
    for point in points:
        if show_paper and point.paper is not None:
            axes.plot([point.K], [point.paper], **_PAPER_STYLE)


def _get_means(points: list[_Point]) -> np.ndarray:
    """Return the means of a line; a K without a number breaks it."""
    return np.array([point.mean.mean for point in points], dtype=float)


def _plot_seeds(axes: Axes, x: float, point: _Point, line_style: Mapping[str, Any]) -> None:
    """Plot the seeds of a point, and their mean with its interval."""
    axes.plot([x] * len(point.seeds), point.seeds, **line_style, **_SEED_STYLE)
    style.plot_estimate(axes, x, point.mean, line_style)


def _draw_gated(context: Context, points: list[_Point], names: list[str], show_paper: bool) -> Figure:
    """Draw a row per experiment: our mean with its interval and every seed, and perhaps the paper's number above."""
    models = list(_GATED_MODELS)
    points = sorted(points, key=lambda point: (models.index(point.line[0]), point.K))
    figure, axes = style.make_panels(0.36 * len(points) + 1.1, width=style.WIDTH * 0.75)
    labels = []
    for row, point in enumerate(points):
        line_style = _LINE_STYLES_BY_MODEL[point.line]
        axes.plot(point.seeds, [row + _ROW_OFFSET] * len(point.seeds), **line_style, **_SEED_STYLE)
        style.plot_estimate(axes, row + _ROW_OFFSET, point.mean, line_style, is_horizontal=True)
        if show_paper and point.paper is not None:
            axes.plot([point.paper], [row - _ROW_OFFSET], **_PAPER_STYLE)
        size = context.get_setting(point.experiment, "model.hidden_size")
        absence = "" if point.mean.n else f" ({context.get_status(point.experiment).missing_reason})"
        labels.append(f"{_GATED_MODELS[point.line[0]]}, H = {size}, K = {point.K}{absence}")
    axes.set_yticks(range(len(points)), labels)
    axes.set(ylim=(len(points) - 0.5, -0.5), xlabel="test perplexity")
    _add_legend(figure, context, names, [], show_paper)
    return figure


def _add_legend(
    figure: Figure, context: Context, names: list[str], lines: list[tuple[str, str]], show_paper: bool
) -> None:
    """Add the legend of lines, seeds and the paper's numbers."""
    handles = [
        make_handle({**_LINE_STYLES_BY_MODEL[line], "linewidth": 1.1, "markersize": 4.5}, _LABELS[line])
        for line in lines
    ]
    handles.append(make_handle({"color": style.GREY, "marker": "o", **_SEED_STYLE, "alpha": 0.8}, "one seed"))
    handles += [make_handle(_PAPER_STYLE, "paper, Table 1")] if show_paper else []
    notes = wording.write_reduction_notes(context, [name for name in names if context.get_resolved(name)])
    add_legend(
        figure, handles, 2 if lines else 4, title=" ".join(["Bars: 95 % intervals; hollow: a single seed.", *notes])
    )
