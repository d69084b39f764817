"""Document 003: n-gram models by order and size, names recalled over distance, and its Figure 7, computed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from reprise.data.synthetic.name_lengths import FIXED, SENTENCE_2
from reprise.report import figures, style
from reprise.report.context import Context
from reprise.units import perplexity

_LOOKS = [
    {"color": style.BLUE, "marker": "o", "linestyle": "-"},
    {"color": style.VERMILION, "marker": "s", "linestyle": (0, (4, 1.5)), "markerfacecolor": "white"},
    {"color": style.BLACK, "marker": "^", "linestyle": (0, (1, 1))},
    {"color": style.GREY, "marker": "v", "linestyle": (0, (6, 1.5, 1, 1.5)), "markerfacecolor": "white"},
    {"color": style.BLUE, "marker": "D", "linestyle": (0, (2, 1)), "markerfacecolor": "white"},
    {"color": style.VERMILION, "marker": "P", "linestyle": "-"},
]
_DRAWN = {"markersize": 4, "linewidth": 1.3}
_SIZES = (4, 4, 4, 9, 6.5, 3.5)
"""Of markers, where networks that recall everything lie on one another."""
_SENTENCES = {FIXED: "1", FIXED + SENTENCE_2: "2"}


def ngrams(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Perplexity over n, share of words without a probability over n, and different n-grams over the text's size."""
    names = context.cited_by(figure_id)
    if not context.total(names).finished:
        return figures.absent(context, figure_id, names)
    figure = Figure(figsize=(style.WIDTH, 3.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    handles = []
    for name in names:
        points = context.points(name, "cross_entropy", "test").mean(axis=1)
        if len(points) > 1:
            look = _LOOKS[len(handles) % len(_LOOKS)]
            left.plot(points.index, points.map(perplexity), **look, **_DRAWN)
            handles.append(Line2D([], [], **look, **_DRAWN, label=context.entry(name).title))
    left.set(title="test perplexity", yscale="log", xlabel="n")
    left.yaxis.set_major_locator(FixedLocator([100, 200, 500, 1000, 2000, 5000, 10000]))
    left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    left.yaxis.set_minor_locator(NullLocator())
    _shares(middle, context, names)
    _stored(right, context, names)
    for axes in (left, middle):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _shares(axes: Axes, context: Context, names: list[str]) -> None:
    """Of relative frequencies: the words whose probability is 0, and those that have none, one above the other."""
    name = next((name for name in names if context.entry(name).model.name == "relative-ngram"), names[0])
    zero, undefined = (context.points(name, f"{kind}_share", "test").mean(axis=1) for kind in ("zero", "undefined"))
    axes.bar(zero.index, zero, color=style.BLUE, width=0.6, label="0")
    some = undefined[undefined > 0]
    hatched = {"color": "white", "edgecolor": style.VERMILION, "hatch": "///", "width": 0.6}
    axes.bar(some.index, some, bottom=zero[some.index], label="not defined", **hatched)
    axes.set(title="words without a probability", xlabel="n", ylim=(0, 1))
    axes.legend(frameon=False, loc="upper left")


def _stored(axes: Axes, context: Context, names: list[str]) -> None:
    name = next(name for name in names if context.status(name).finished)
    order = context.setting(name, "model.order")
    stored = {n: context.points(name, f"stored_order_{n}", "train").mean(axis=1) for n in range(1, order + 1)}
    for n, points in stored.items():
        if points.empty:
            continue
        axes.plot(points, color=style.BLUE, marker="o", markersize=3, linewidth=0.8)
        # The largest orders store almost as many: their labels are moved apart.
        place = (5, 6 * (n - order + 1)) if n > 2 else (5, 0)
        last = points.index[-1], points.iloc[-1]
        axes.annotate(f"n = {n}", last, place, textcoords="offset points", va="center", fontsize=6.5)
    axes.set(title="different n-grams", xscale="log", yscale="log", xlabel="words of training text, thousands")
    sizes = stored[1].index
    if sizes.empty:
        return
    axes.set_xlim(sizes[0] * 0.8, sizes[-1] * 2.6)
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1000:.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())


def recall(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Share of names recalled over the distance, a line a network: mean and range of the replicas."""
    names = context.cited_by(figure_id)
    recalled = {name: context.points(name, "accuracy", "test") for name in names}
    distances = {distance for points in recalled.values() for distance in points.index}
    if not distances:
        return figures.absent(context, figure_id, names)
    figure = Figure(figsize=(style.WIDTH, 3.4), layout="constrained")
    axes = figure.add_subplot()
    handles = []
    for size, look, (name, points) in zip(cycle(_SIZES), cycle(_LOOKS), recalled.items(), strict=False):
        look = {**look, **_DRAWN, "markersize": size}
        if len(points):
            axes.plot(points.mean(axis=1), **look)
            axes.fill_between(
                points.index, points.min(axis=1), points.max(axis=1), **{**style.BAND, "color": look["color"]}
            )
        status = context.status(name)
        note = f" ({status.run} of {status.wanted} run)" if status.missing else ""
        note += f" ({status.diverged} diverged)" if status.diverged else ""
        handles.append(Line2D([], [], **look, label=f"{context.entry(name).title}{note}"))
    chance = 1 / context.setting(names[0], "data.names")
    axes.axhline(chance, **style.HAIRLINE)
    axes.annotate("by guessing", (max(distances), chance), (0, 3), textcoords="offset points", ha="right", fontsize=6.5)
    for distance, number in _SENTENCES.items():
        if distance in distances:
            axes.axvline(distance, **style.DOTTED)
            axes.annotate(f"Sentence {number}", (distance, 1.05), (2, 0), textcoords="offset points", fontsize=6.5)
    axes.set(xscale="log", ylim=(0, 1.12), xlabel="words between the name and the blank", ylabel="share recalled")
    axes.xaxis.set_major_locator(FixedLocator(sorted(distances)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


def error_surface(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """The error over weight and bias as shades, and both paths; and the error update by update."""
    (name,) = context.cited_by(figure_id)
    w, b, error = _surface(context, name)
    looks = {"plain": {**_LOOKS[1], "markersize": 4.5}, "clipped": {**_LOOKS[0], "markersize": 2}}
    if not error.size or any(context.points(name, "error", path).empty for path in looks):
        return figures.absent(context, figure_id, [name])
    figure = Figure(figsize=(style.WIDTH, 3.3), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.35, 1))
    shades = left.pcolormesh(w, b, error.T, cmap="Greys", shading="gouraud", rasterized=True, vmin=0)
    figure.colorbar(shades, ax=left, label="error", pad=0.02)
    labels = {"plain": "gradient descent", "clipped": "with Algorithm 1"}
    for path, look in looks.items():
        at = {column: context.points(name, column, path).iloc[:, 0] for column in ("weight", "bias", "error")}
        drawn = {**look, "linewidth": 0.9}
        left.plot(at["weight"], at["bias"], **drawn, label=labels[path])
        right.plot(at["error"], **drawn)
        inside = at["weight"].between(w[0], w[-1]) & at["bias"].between(b[0], b[-1])
        if not inside.iloc[-1]:
            end = f"ends at w = {at['weight'].iloc[-1]:.1f}, b = {at['bias'].iloc[-1]:.1f}"
            left.annotate(end, (1, 1), (-4, -9), "axes fraction", "offset points", ha="right", fontsize=6.5)
    left.plot(*(context.points(name, c, "plain").iloc[0, 0] for c in ("weight", "bias")), "k*", markersize=8)
    left.set(xlim=(w[0], w[-1]), ylim=(b[0], b[-1]), xlabel="weight w", ylabel="bias b")
    left.grid(visible=False)
    right.set(xlabel="update", title="error")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def _surface(context: Context, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (n,), biases (m,) and errors (n, m) of the grid."""
    rows = context.curves[(context.curves.experiment == name) & (context.curves.axis == "bias")]
    table = rows.assign(w=rows.split.str.removeprefix("w = ").astype(float)).pivot(
        index="w", columns="x", values="value"
    )
    return table.index.to_numpy(), table.columns.to_numpy(dtype=float), table.to_numpy()
