"""Document 001, Figure 1: perplexity against the number of recurrence matrices."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
_LABELS = {("r-rntn", "f"): "f: the most frequent words", ("r-rntn", "f_mod"): "f_mod: rank modulo K"}
_GATED = {"gru-lm": "r-GRU", "lstm-lm": "r-LSTM"}
_READING = "schedule=rnnlm"
"""The reading that is drawn beside the one as chosen: the schedule of the toolkit that the paper used."""
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
    found: Measured
    seeds: np.ndarray


def perplexity_against_matrices(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Test perplexity over K, a line a map, with every seed and 95 % intervals; a panel a reading that was run.

    K = 1 and K = V are the same model under either map: f_mod's line reaches to them, and has no points there. The
    paper's numbers are diamonds. At a reduced tier heights are changes from K = 1, in per cent, since the levels are
    those of fewer epochs. Gated models, of which two K are run, have a panel each. Experiments on another corpus are
    left out. A model and map without a line are refused: `UserError`.
    """
    shown = [name for name in context.cited_by(figure_id) if not context.replaced_dataset(name)]
    points = _points(context, shown, figure_id)
    if not any(point.found.n for point in points):
        return style.empty(context.display(figure_id).title, style.OTHER_CORPUS)
    if any(point.line[0] in _GATED for point in points):
        return _gated(context, points, shown)
    panels = {"as chosen": points}
    under = _points(context, shown, figure_id, f"@{_READING}")
    if sum(bool(point.found.n) for point in under) > 1:
        panels["the toolkit's schedule"] = under
    if change := context.tier != FULL:
        panels = {title: _changed(some) for title, some in panels.items()}
    figure, every = style.panels(3.2, 1, len(panels), sharey=True, squeeze=False)
    for axes, (title, some) in zip(every[0], panels.items(), strict=True):
        _sweep(axes, some, paper=not change)
        axes.set(title=title, xscale="log", xlabel="K, the number of recurrence matrices")
        ticks(axes.xaxis, sorted({point.K for point in some if point.found.n}), lambda k: f"{k:.0f}")
        axes.tick_params(axis="x", labelsize=6 if len(panels) > 1 else 7)
        axes.margins(x=0.05, y=0.08)
    figure.axes[0].set_ylabel("change of the test perplexity from K = 1 (%)" if change else "test perplexity")
    _legend(figure, context, shown, [line for line in _LABELS if any(p.line == line for p in points)], not change)
    return figure


def _points(context: Context, names: list[str], figure_id: str, reading: str = "") -> list[_Point]:
    """In ascending order of K, as chosen or under another reading."""
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
        found = measured(context, name + reading, _METRIC, _SPLIT)
        points.append(_Point(name, line, matrices, paper, found, context.values(name + reading, _METRIC, _SPLIT)))
    return sorted(points, key=lambda point: point.K)


def _changed(points: list[_Point]) -> list[_Point]:
    """The points as changes from K = 1 in per cent, where that was run."""
    base = next((point.found.mean for point in points if point.K == 1 and point.found.mean), None)
    changed = []
    for point in points if base else []:
        mean, reach = point.found.mean, point.found.reach
        found = Measured(mean and 100 * (mean / base - 1), point.found.n, reach=reach and 100 * reach / base)
        changed.append(replace(point, found=found, seeds=100 * (point.seeds / base - 1)))
    return changed or points


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
    return np.array([point.found.mean for point in points], dtype=float)


def _seeds(axes: Axes, x: float, point: _Point, look: Mapping[str, Any]) -> None:
    axes.plot([x] * len(point.seeds), point.seeds, **look, **_SEED)
    style.estimate(axes, x, point.found, look)


def _gated(context: Context, points: list[_Point], shown: list[str]) -> Figure:
    """A panel a model: its slope from one matrix to many, and the paper's, as changes from K = 1."""
    models = [model for model in _GATED if any(point.line[0] == model for point in points)]
    figure, panels = style.panels(2.9, 1, len(models), width=style.WIDTH * 0.75, sharey=True, squeeze=False)
    for axes, model in zip(panels[0], models, strict=True):
        own = [p for p in points if p.line[0] == model]
        drawn, look = _changed(own), _SERIES[own[0].line]
        x = range(len(own))
        axes.plot(x, _heights(drawn), color=look["color"], linewidth=1.3)
        for place, point in zip(x, drawn, strict=True):
            _seeds(axes, place, point, look)
        if own[0].paper and all(p.paper for p in own):
            theirs = [100 * (p.paper / own[0].paper - 1) for p in own]
            axes.plot(x, theirs, **{**_PAPER, "linestyle": (0, (4, 2)), "linewidth": 1})
        axes.set_xticks(list(x), [f"K = {point.K}" for point in own])
        axes.set_title(f"{_GATED[model]}, H = {context.setting(own[0].experiment, 'model.hidden_size')}")
        axes.margins(x=0.25)
    figure.axes[0].set_ylabel("change of the test perplexity (%)")
    _legend(figure, context, shown, [], True)
    return figure


def _legend(figure: Figure, context: Context, shown: list[str], lines: list[tuple[str, str]], paper: bool) -> None:
    handles = [handle({**_SERIES[one], "linewidth": 1.1, "markersize": 4.5}, _LABELS[one]) for one in lines]
    handles.append(handle({"color": style.GREY, "marker": "o", **_SEED, "alpha": 0.8}, "one seed"))
    handles += [handle(_PAPER, "paper, Table 1")] if paper else []
    changed = words.reductions(context, [name for name in shown if context.resolved(name)])
    legend(figure, handles, 4, title=" ".join(["Bars: 95 % intervals; hollow: a single seed.", *changed]))
