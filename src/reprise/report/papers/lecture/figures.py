"""Document 003: n-gram models by order and size, names recalled over distance, and its Figure 7, computed."""

import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from reprise.data.synthetic.phrases import FIXED, SENTENCE_2
from reprise.errors import UserError, require_known
from reprise.evaluation.bleu_counts import ORDER
from reprise.evidence.numbers import bleu
from reprise.report.papers.lecture.tables import translations
from reprise.report.parts import style
from reprise.report.parts.context import Context
from reprise.report.parts.spreads import mean_and_interval, measured
from reprise.report.parts.style import LOOKS, band, handle, legend, not_all, note, ticks
from reprise.units import perplexity

_DRAWN = {"markersize": 4, "linewidth": 1.3}
_SENTENCES = {FIXED: "1", FIXED + SENTENCE_2: "2"}


def ngrams(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Perplexity over n, share of words without a probability over n, and different n-grams over the text's size."""
    names = context.cited_by(figure_id)
    figure, (left, middle, right) = style.panels(3.2, 1, 3)
    handles = []
    for name in names:
        points = context.points(name, "cross_entropy", "test").mean(axis=1)
        if len(points) > 1:
            look = {**LOOKS[len(handles) % len(LOOKS)], **_DRAWN}
            left.plot(points.index, points.map(perplexity), **look)
            handles.append(handle(look, context.title(name)))
    left.set(title="test perplexity", yscale="log", xlabel="order n")
    ticks(left.yaxis, [100, 200, 500, 1000, 2000, 5000, 10000], lambda value: f"{value:,.0f}")
    _shares(middle, context, names)
    _stored(right, context, names)
    for axes in (left, middle):
        style.count_ticks(axes.xaxis)
    legend(figure, handles, 3)
    return figure


def _shares(axes: Axes, context: Context, names: list[str]) -> None:
    """Of relative frequencies: the words whose probability is 0, and those that have none, one above the other."""
    name = next((name for name in names if context.entry(name).model.name == "relative-ngram"), names[0])
    zero, undefined = (context.points(name, f"{kind}_share", "test").mean(axis=1) for kind in ("zero", "undefined"))
    axes.bar(zero.index, zero, color=style.BLUE, width=0.6, label="probability 0")
    some = undefined[undefined > 0]
    hatched = {"color": "white", "edgecolor": style.VERMILION, "hatch": "///", "width": 0.6}
    axes.bar(some.index, some, bottom=zero[some.index], label="context never seen", **hatched)
    axes.set(title="share of words unpredicted", xlabel="order n", ylim=(0, 1))
    axes.legend(frameon=False, loc="upper left", fontsize=6.5)


def _stored(axes: Axes, context: Context, names: list[str]) -> None:
    name = next(name for name in names if context.status(name).finished)
    order = context.setting(name, "model.order")
    stored = {n: context.points(name, f"stored_order_{n}", "train").mean(axis=1) for n in range(1, order + 1)}
    for n, points in stored.items():
        axes.plot(points, color=style.BLUE, marker="o", markersize=3, linewidth=0.8)
        # The largest orders store almost as many: their labels are moved apart.
        place = (5, 6 * (n - order + 1)) if n > 2 else (5, 0)
        last = points.index[-1], points.iloc[-1]
        axes.annotate(f"n = {n}", last, place, textcoords="offset points", va="center", fontsize=6.5)
    axes.set(
        title="different n-grams in the text", xscale="log", yscale="log", xlabel="words of training text, thousands"
    )
    sizes = stored[1].index
    axes.set_xlim(sizes[0] * 0.8, sizes[-1] * 2.6)
    ticks(axes.xaxis, sizes, lambda value: f"{value / 1000:.0f}")


def recall(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Share of names recalled over the distance, a labelled line a network: mean and its 95 % interval."""
    names = context.cited_by(figure_id)
    recalled = {name: context.points(name, "accuracy", "test") for name in names}
    distances = {distance for points in recalled.values() for distance in points.index}
    if not distances:
        return style.absent(context, figure_id, names)
    figure, axes = style.panels(3.4)
    ends: list[tuple[float, str, Any]] = []
    for place, (look, (name, points)) in enumerate(zip(cycle(LOOKS), recalled.items(), strict=False)):
        if len(points):
            # Later lines are narrower, so that one that lies on another leaves that one's edges to see.
            width, size = (max(least, most - place * step) for least, most, step in ((1, 4.5, 0.7), (3, 9, 1.2)))
            style.course(axes, points, {**look, "linewidth": width, "markersize": size}, 0, 1)
            label = ", ".join([context.title(name), *not_all(context.status(name))])
            ends.append((float(points.iloc[-1].mean()), label, look["color"]))
    chance, last = 1 / context.setting(names[0], "data.names"), max(distances)
    axes.axhline(chance, **style.HAIRLINE)
    axes.annotate("by guessing", (min(distances), chance), (2, -8), textcoords="offset points", fontsize=6.5)
    for height, (value, title, colour) in zip(_apart([end for end, *_ in ends]), sorted(ends), strict=True):
        place = {"xytext": (1.06, height), "textcoords": axes.get_yaxis_transform()}
        line = {"arrowprops": {"arrowstyle": "-", "color": colour, "linewidth": 0.5}, "annotation_clip": False}
        axes.annotate(title, (last, value), **place, **line, va="center", fontsize=7, color=colour)
    for distance, number in _SENTENCES.items():
        if distance in distances:
            axes.axvline(distance, **style.DOTTED)
            axes.annotate(f"Sentence {number}", (distance, 1.05), (2, 0), textcoords="offset points", fontsize=6.5)
    axes.set(xscale="log", ylim=(0, 1.12), xlabel="words between the name and the blank", ylabel="share recalled")
    ticks(axes.xaxis, sorted(distances), lambda value: f"{value:.0f}")
    return figure


def _apart(values: list[float], least: float = 0.075) -> list[float]:
    """Heights for labels at these values, in ascending order, no two nearer than `least`."""
    places: list[float] = []
    for value in sorted(values):
        places.append(max(value, places[-1] + least) if places else value)
    over = max(0.0, places[-1] - 1.06) if places else 0.0
    return [place - over for place in places]


def error_surface(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw the error over weight and bias as shades, and both paths; and the error update by update."""
    (name,) = context.cited_by(figure_id)
    w, b, error = _surface(context, name)
    looks = {"plain": {**LOOKS[1], "markersize": 4.5}, "clipped": {**LOOKS[0], "markersize": 2}}
    if not error.size or any(context.points(name, "error", path).empty for path in looks):
        return style.absent(context, figure_id, [name])
    figure, (left, right) = style.panels(3.3, 1, 2, width_ratios=(1.35, 1))
    shades = left.pcolormesh(w, b, error.T, cmap="Greys", shading="gouraud", rasterized=True, vmin=0)
    figure.colorbar(shades, ax=left, label="error", pad=0.02)
    labels = {"plain": "gradient descent", "clipped": "with Algorithm 1"}
    for path, look in looks.items():
        at = {column: context.points(name, column, path).iloc[:, 0] for column in ("weight", "bias", "error")}
        drawn = {**look, "linewidth": 0.9}
        left.plot(at["weight"], at["bias"], **drawn, label=labels[path])
        right.plot(at["error"], **drawn | {"markersize": look["markersize"] / 1.5})
        inside = at["weight"].between(w[0], w[-1]) & at["bias"].between(b[0], b[-1])
        if not inside.iloc[-1]:
            end = f"ends at w = {at['weight'].iloc[-1]:.1f}, b = {at['bias'].iloc[-1]:.1f}"
            left.annotate(end, (0, 1), (4, -9), "axes fraction", "offset points", fontsize=6.5)
    left.plot(*(context.points(name, c, "plain").iloc[0, 0] for c in ("weight", "bias")), "k*", markersize=8)
    left.set(xlim=(w[0], w[-1]), ylim=(b[0], b[-1]), xlabel="weight w", ylabel="bias b")
    left.grid(visible=False)
    right.set(xlabel="update", title="error")
    style.legend(figure, left.get_legend_handles_labels()[0], ncols=2)
    return figure


def _surface(context: Context, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (n,), biases (m,) and errors (n, m) of the grid."""
    curves = (curve for _, curve in context.curves(name) if curve.axis == "bias")
    rows = {float(curve.split.removeprefix("w = ")): pd.Series(curve.y, index=curve.x) for curve in curves}
    table = pd.DataFrame(rows, dtype=float).T.sort_index().sort_index(axis="columns")
    return table.index.to_numpy(), table.columns.to_numpy(dtype=float), table.to_numpy()


_START = {**style.OURS, "marker": ""}
_END = {"color": style.VERMILION, "linewidth": 1.4, "linestyle": (0, (5, 1)), "zorder": 3}
# Above the norms, which lie on it where every slope is 1.
_BOUND = {"color": style.BLACK, "linewidth": 0.9, "linestyle": (0, (4, 2)), "zorder": 4}
_BOUNDS = [
    ("jacobian_bound", _BOUND, "bound of equation 16"),
    ("jacobian_bound_1", style.DOTTED, "with a slope of 1, as the notes allow"),
]
_SPLITS = {"start": (_START, "before training"), "end": (_END, "after training")}
_LOWEST = 1e-70
"""Norms below it are beside the point, and would leave the others no room."""


def jacobians(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw a panel a network: before and after training, and both bounds with the first weights."""
    return _panels(context, figure_id, ("start", "end"), _BOUNDS)


def random_jacobians(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw a panel a network that is not trained, and its bound."""
    return _panels(context, figure_id, ("start",), _BOUNDS[:1])


def _panels(
    context: Context, figure_id: str, splits: Sequence[str], bounds: Sequence[tuple[str, Mapping[str, Any], str]]
) -> Figure:
    names = context.cited_by(figure_id)
    rows = math.ceil(len(names) / 3)
    figure, grid = style.panels(1.7 * rows + 0.5, rows, 3, sharex=True, squeeze=False)
    for axes, name in zip(grid.flat, names, strict=False):
        for metric, look, _ in bounds:
            points = context.points(name, metric, "start")
            # Where the slope's bound is 1 both bounds are one.
            same = metric != "jacobian_bound" and points.equals(context.points(name, "jacobian_bound", "start"))
            if len(points) and not same:
                axes.plot(_middle(points), **look)
        for split in splits:
            if len(points := context.points(name, "jacobian_norm", split)):
                _norms(axes, points, _SPLITS[split][0])
        _decades(axes, [context.points(name, "jacobian_norm", split) for split in splits])
        axes.set_title(context.title(name))
        note(axes, ", ".join(not_all(context.status(name))))
    for axes in grid.flat[len(names) :]:
        axes.set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("steps t − k", labelpad=1)
    for axes in grid[:, 0]:
        axes.set_ylabel("norm (own scale)")
    handles = [*(handle(*_SPLITS[split]) for split in splits), band()]
    legend(figure, [*handles, *(handle(look, label) for _, look, label in bounds)], 3)
    return figure


def _decades(axes: Axes, norms: list[pd.DataFrame]) -> None:
    """Scale a logarithmic axis at whole decades to the mean norms of a network, down to `_LOWEST`."""
    if not (middles := [_middle(points) for points in norms if len(points)]):
        return
    means = pd.concat(middles)
    low = math.floor(math.log10(max(means.min(), _LOWEST)))
    high = math.ceil(math.log10(means.max())) + 1
    step = next(step for step in (1, 2, 5, 10, 20, 50) if (high - low) / step <= 5)
    axes.set(yscale="log", ylim=(10.0**low, 10.0**high))
    axes.yaxis.set_major_locator(FixedLocator([10.0**d for d in range(low, high + 1) if d % step == 0]))
    axes.yaxis.set_minor_locator(NullLocator())


def _norms(axes: Axes, points: pd.DataFrame, look: Mapping[str, Any]) -> None:
    middle, low, high = (10.0**line for line in mean_and_interval(np.log10(_positive(points))))
    axes.plot(middle, **look)
    if points.shape[1] > 1:
        band = {**style.BAND, "color": look["color"]}
        axes.fill_between(points.index, low.clip(lower=_LOWEST), high, **band)


def _middle(points: pd.DataFrame) -> pd.Series:
    """Return the geometric mean over replicas, as in tables and claims: norms differ by orders of magnitude."""
    return np.exp(np.log(_positive(points)).mean(axis=1))


def _positive(points: pd.DataFrame) -> pd.DataFrame:
    """Without norms of exactly 0, of ReLU networks all of whose paths are cut, for which a logarithm has no place."""
    return points.where(points > 0)


_PANELS = {"": "all words", "_ambiguous": "words with several tags", "_unseen": "words unseen in training"}
_REPLICA = {"color": style.BLUE, "marker": "o", "markersize": 3, "linestyle": "none", "alpha": 0.35, "zorder": 2}
_ESTIMATE = {"color": style.BLUE, "marker": "o", "markersize": 4.5}
_DULL = {**_ESTIMATE, "color": style.GREY, "marker": "X"}


def taggers(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw a panel a group of words, a row a network: a faint dot a seed, their mean, and the baseline."""
    names = context.cited_by(figure_id)
    states = [context.status(name) for name in names]
    run = [f" ({s.finished} of {s.wanted} run)" if s.missing or s.diverged else "" for s in states]
    labels = [f"{context.title(name)}{note}" for name, note in zip(names, run, strict=True)]
    figure, panels = style.panels(0.32 * len(names) + 0.9, 1, len(_PANELS), sharey=True)
    for axes, (group, title) in zip(panels, _PANELS.items(), strict=True):
        for place, name in enumerate(names):
            _dots(axes, place, context, name, f"accuracy{group}", _ESTIMATE)
            guessed = context.values(name, f"guessing{group}", "test")
            if len(guessed):
                axes.axvline(guessed.mean(), **style.DOTTED)
        axes.set(title=title, xlabel="accuracy")
        axes.set_yticks(range(len(names)), labels)
        axes.set_ylim(len(names) - 0.5, -0.5)
    mean = handle({**_ESTIMATE, "linestyle": "none"}, "mean, 95 % interval")
    baseline = handle(style.DOTTED, "baseline: the word's most frequent tag")
    legend(figure, [mean, handle(_REPLICA, "one seed"), baseline], 3)
    return figure


def _dots(axes: Axes, place: int, context: Context, name: str, metric: str, look: Mapping[str, Any]) -> None:
    """Draw a faint dot a seed and their mean with its interval, in the row at `place`."""
    values = context.values(name, metric, "test")
    axes.plot(values, [place] * len(values), **_REPLICA)
    style.estimate(axes, place, measured(context, name, metric, "test"), look, across=True)


_DIFFERENT = 0.1
"""A model with fewer different translations, of all, has not learned to translate."""
_TRANSLATION_LOOKS = [
    {**LOOKS[2], "color": style.GREY, "marker": "v"},
    {**LOOKS[3], "color": style.BLACK, "marker": "^"},
    LOOKS[1],
    LOOKS[0],
]
_GROUPS = 5
"""Of the test sentences by the length of their sources, about equally large."""


def translation_ladder(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Perplexity and BLEU, a row a model; BLEU over the length of the source for some of them.

    Option `lines`: the models of the right panel, one after the other, at most as many as there are looks.
    """
    lines = options["lines"].split()
    names = context.cited_by(figure_id)
    where = context.option_key(figure_id, "lines")
    for name in lines:
        require_known(name, names, where, "experiment of this figure")
    if len(lines) > len(_TRANSLATION_LOOKS):
        raise UserError(f"{where}: {len(lines)} lines are more than {len(_TRANSLATION_LOOKS)}; leave some out")
    figure, (left, middle, right) = style.panels(3.6, 1, 3, width_ratios=(1, 1, 1.3))
    labels = _labels(context, names)
    for axes, metric in ((left, "perplexity"), (middle, "bleu")):
        for row, name in enumerate(names):
            _dots(axes, row, context, name, metric, _ESTIMATE if learned(context, name) else _DULL)
        axes.set(ylim=(len(names) - 0.5, -0.5), xscale="log" if metric == "perplexity" else "linear")
        axes.set_yticks(range(len(names)), labels.values())
    left.set_title("test perplexity")
    ticks(left.xaxis, [5, 10, 20, 50, 100, 200, 500], lambda value: f"{value:g}")
    middle.set_title("BLEU")
    middle.set_xlim(left=0)
    middle.tick_params(labelleft=False)
    for look, name in zip(_TRANSLATION_LOOKS, lines, strict=False):
        _by_length(right, context, name, look, labels[name])
    right.set(title="BLEU by length", xlabel="words of the source")
    handles = [
        handle({**_ESTIMATE, "linestyle": "none"}, "mean, 95 % interval (hollow: a single seed)"),
        handle(_REPLICA, "one seed"),
    ]
    if not all(learned(context, name) for name in names):
        dull = "did not learn: the same few translations for everything"
        handles.append(handle({**_DULL, "linestyle": "none"}, dull))
    title = "I to V: the notes' extensions, in their order (section 3); each row adds one to the row above"
    legend(figure, [*handles, *right.lines], 2, title=title)
    return figure


def learned(context: Context, name: str) -> bool:
    """Whether a model's translations differ: a tenth of them at least, on the mean over its replicas."""
    texts = [sample["texts"] for sample in translations(context, name)]
    return not texts or sum(len(set(of_one)) / len(of_one) for of_one in texts) / len(texts) >= _DIFFERENT


def _labels(context: Context, names: list[str]) -> dict[str, str]:
    """Write "Translation, I to III, two layers" -> "+ two layers"; with its steps where two would be called alike."""
    parts = {name: context.title(name).partition(", ")[2] or context.title(name) for name in names}
    steps = {name: text.partition(", ") if text.startswith("I") else ("", "", text) for name, text in parts.items()}
    labels, last = {}, [rest for *_, rest in steps.values()]
    for name, (step, _, rest) in steps.items():
        text = f"{'+ ' if step else ''}{rest}" + (f" ({step})" if last.count(rest) > 1 else "")
        status = context.status(name)
        text = "model as the notes print it" if text == "as printed" else text
        labels[name] = text if status.run else f"{text} ({status.absence})"
    return labels


def _by_length(axes: Axes, context: Context, name: str, look: Mapping[str, Any], label: str) -> None:
    """Mean over the replicas of the BLEU of each group of sentences, at the group's mean length.

    A group without a reference of four words is left out: BLEU counts four words in a row.
    """
    written = translations(context, name)
    if not written:
        return
    lengths = np.array(written[0]["source_words"])
    edges = np.unique(np.quantile(lengths, np.arange(1, _GROUPS) / _GROUPS, method="lower"))
    group = np.searchsorted(edges, lengths)
    enough = np.array(written[0]["reference_words"]) >= ORDER
    members = [np.flatnonzero(group == g) for g in np.unique(group) if enough[group == g].any()]
    x = [lengths[chosen].mean() for chosen in members]
    y = [np.mean([bleu(sample, chosen.tolist()) for sample in written]) for chosen in members]
    axes.plot(x, y, **look, markersize=4, linewidth=1.2, label=label)
