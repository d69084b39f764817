"""Document 001, Figure 1: perplexity against the number of recurrence matrices."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reprise.errors import UserError
from reprise.records.resolved import FULL
from reprise.report.parts import style, words
from reprise.report.parts.context import Context
from reprise.report.parts.spreads import Measured, measured
from reprise.report.parts.style import LOOKS, handle, legend, ticks

_METRIC, _SPLIT = "perplexity", "test"
_FIRST, _SECOND = ({key: LOOKS[i][key] for key in ("color", "marker")} for i in (0, 1))
_SERIES = {
    ("r-rntn", "f"): _FIRST,
    ("r-rntn", "f_mod"): _SECOND,
    ("gru-lm", "f"): _FIRST,
    ("lstm-lm", "f"): _SECOND,
}
_LABELS = {
    ("r-rntn", "f"): "f: each frequent word has a matrix, the others share one",
    ("r-rntn", "f_mod"): "f_mod: all words share K matrices, by rank modulo K",
}
_GATED = {"gru-lm": "r-GRU", "lstm-lm": "r-LSTM"}
_SETTING = "schedule=rnnlm"
"""The alternative setting drawn next to the one as chosen: the schedule of the toolkit that the paper used."""
_ASIDE = 0.17
"""How far ours stands below, and the paper's number above, the middle of a row."""
_SEED = {"markersize": 3, "linestyle": "none", "alpha": 0.45, "markeredgewidth": 0, "zorder": 2}
_PAPER = {"color": style.BLACK, "marker": "D", "markersize": 5.5, "markerfacecolor": "none", "linestyle": "none"}
_PAPER["zorder"] = 5


@dataclass(frozen=True)
class _Point:
    """One K of a line: the paper's number, and ours, the mean and every seed, in the units of the axis."""

    experiment: str
    line: tuple[str, str]
    K: int
    paper: float | None
    mean: Measured
    seeds: np.ndarray


def perplexity_against_matrices(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw the test perplexity over K, a line a map, with every seed and 95 % intervals; a panel a setting.

    K = 1 and K = V are the same model under either map: f_mod's line reaches to them, and has no points there. The
    paper's numbers are diamonds; at a reduced tier they are left out, since levels are those of fewer epochs. Gated
    models, of which two K are run, have a row an experiment instead. Experiments on another corpus are left out.

    Raises:
        UserError: A model and map have no line here.
    """
    shown = [name for name in context.cited_by(figure_id) if not context.replaced_dataset(name)]
    points = _points(context, shown, figure_id)
    if not any(point.mean.n for point in points):
        return style.empty(context.display(figure_id).title, style.OTHER_CORPUS)
    if any(point.line[0] in _GATED for point in points):
        return _gated(context, points, shown)
    panels = {"as chosen": points}
    under = _points(context, shown, figure_id, f"@{_SETTING}")
    if sum(bool(point.mean.n) for point in under) > 1:
        panels["with Mikolov's schedule"] = under
    full = context.tier == FULL  # levels of fewer epochs are not the paper's
    figure, every = style.panels(3.2, 1, len(panels), sharey=True, squeeze=False)
    for axes, (title, some) in zip(every[0], panels.items(), strict=True):
        _sweep(axes, some, paper=full)
        axes.set(title=title, xscale="log", xlabel="K, the number of recurrence matrices")
        ticks(axes.xaxis, sorted({point.K for point in some if point.mean.n}), lambda k: f"{k:.0f}")
        axes.tick_params(axis="x", labelsize=6 if len(panels) > 1 else 7)
        axes.margins(x=0.05, y=0.08)
    figure.axes[0].set_ylabel("test perplexity")
    _legend(figure, context, shown, [line for line in _LABELS if any(p.line == line for p in points)], full)
    return figure


def _points(context: Context, names: list[str], figure_id: str, setting: str = "") -> list[_Point]:
    """In ascending order of K, as chosen or with an alternative setting."""
    points = []
    for name in names:
        line = context.entry(name).model.name, context.setting(name, "model.mapping")
        if line not in _SERIES:
            remedy = f"leave {figure_id} out, or give it a line in src/reprise/report/papers/rrntn/figures.py"
            where = f"{context.file}: key experiments.{name}.cited_by"
            raise UserError(
                f"{where}: {figure_id} has no line for the model {line[0]} with the map {line[1]}; {remedy}"
            )
        matrices, paper = int(context.setting(name, "model.matrices")), context.printed(name, _METRIC, _SPLIT)
        measurement = measured(context, name + setting, _METRIC, _SPLIT)
        points.append(_Point(name, line, matrices, paper, measurement, context.values(name + setting, _METRIC, _SPLIT)))
    return sorted(points, key=lambda point: point.K)


def _sweep(axes: Axes, points: list[_Point], paper: bool) -> None:
    top = max(point.K for point in points)
    for line, look in _SERIES.items():
        own = [p for p in points if p.line == line]
        if not own:
            continue
        through = [p for p in points if p.line == line or (p.K in (1, top) and p.line[0] == line[0])]
        axes.plot([p.K for p in through], _heights(through), color=look["color"], linewidth=1.1, zorder=3)
        for point in own:
            _seeds(axes, point.K, point, look)
    for point in points:
        if paper and point.paper is not None:
            axes.plot([point.K], [point.paper], **_PAPER)


def _heights(points: list[_Point]) -> np.ndarray:
    """Of a line; a K without a number breaks it."""
    return np.array([point.mean.mean for point in points], dtype=float)


def _seeds(axes: Axes, x: float, point: _Point, look: Mapping[str, Any]) -> None:
    axes.plot([x] * len(point.seeds), point.seeds, **look, **_SEED)
    style.estimate(axes, x, point.mean, look)


def _gated(context: Context, points: list[_Point], shown: list[str]) -> Figure:
    """Draw a row an experiment: our mean with its interval and every seed, and the paper's number above it."""
    models = list(_GATED)
    points = sorted(points, key=lambda point: (models.index(point.line[0]), point.K))
    figure, axes = style.panels(0.36 * len(points) + 1.1, width=style.WIDTH * 0.75)
    labels = []
    for row, point in enumerate(points):
        look = _SERIES[point.line]
        axes.plot(point.seeds, [row + _ASIDE] * len(point.seeds), **look, **_SEED)
        style.estimate(axes, row + _ASIDE, point.mean, look, across=True)
        if point.paper is not None:
            axes.plot([point.paper], [row - _ASIDE], **_PAPER)
        size = context.setting(point.experiment, "model.hidden_size")
        absence = "" if point.mean.n else f" ({context.status(point.experiment).absence})"
        labels.append(f"{_GATED[point.line[0]]}, H = {size}, K = {point.K}{absence}")
    axes.set_yticks(range(len(points)), labels)
    axes.set(ylim=(len(points) - 0.5, -0.5), xlabel="test perplexity")
    _legend(figure, context, shown, [], True)
    return figure


def _legend(figure: Figure, context: Context, shown: list[str], lines: list[tuple[str, str]], paper: bool) -> None:
    handles = [handle({**_SERIES[one], "linewidth": 1.1, "markersize": 4.5}, _LABELS[one]) for one in lines]
    handles.append(handle({"color": style.GREY, "marker": "o", **_SEED, "alpha": 0.8}, "one seed"))
    handles += [handle(_PAPER, "paper, Table 1")] if paper else []
    changed = words.reductions(context, [name for name in shown if context.resolved(name)])
    legend(
        figure, handles, 2 if lines else 4, title=" ".join(["Bars: 95 % intervals; hollow: a single seed.", *changed])
    )
