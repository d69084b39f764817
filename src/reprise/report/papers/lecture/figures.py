"""Draw the figures of document 003: n-gram models, recall over distance, Jacobians, tagging and translation."""

import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from reprise.data.synthetic.phrases import BASE_DISTANCE, SENTENCE_2_FILLER
from reprise.errors import UserError, require_known
from reprise.evaluation.bleu_counts import MAX_ORDER
from reprise.evidence.bleu import compute_bleu
from reprise.report.papers.lecture.tables import list_translations
from reprise.report.parts import style
from reprise.report.parts.context import Context
from reprise.report.parts.uncertainty import compute_mean_curve, estimate_mean
from reprise.units import convert_to_perplexity

_MARKED_LINE = {"markersize": 4, "linewidth": 1.3}
_SENTENCES = {BASE_DISTANCE: "1", BASE_DISTANCE + SENTENCE_2_FILLER: "2"}


def ngrams(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw perplexity over n, the share of words without a probability over n, and n-grams over the text's size."""
    names = context.list_cited_experiments(figure_id)
    figure, (left, middle, right) = style.make_panels(3.2, 1, 3)
    handles = []
    for name in names:
        points = context.get_curve_points(name, "cross_entropy", "test").mean(axis=1)
        if len(points) > 1:
            line_style = {**style.LINE_STYLES[len(handles) % len(style.LINE_STYLES)], **_MARKED_LINE}
            left.plot(points.index, points.map(convert_to_perplexity), **line_style)
            handles.append(style.make_handle(line_style, context.get_title(name)))
    left.set(title="test perplexity", yscale="log", xlabel="order n")
    style.set_ticks(left.yaxis, [100, 200, 500, 1000, 2000, 5000, 10000], lambda value: f"{value:,.0f}")
    _plot_unpredicted_shares(middle, context, names)
    _plot_stored_ngrams(right, context, names)
    for axes in (left, middle):
        style.set_integer_ticks(axes.xaxis)
    style.add_legend(figure, handles, 3)
    return figure


def _plot_unpredicted_shares(axes: Axes, context: Context, names: list[str]) -> None:
    """Plot the shares of words with probability 0 and without any, stacked, for relative frequencies."""
    name = next((name for name in names if context.get_entry(name).model.name == "relative-ngram"), names[0])
    zero, undefined = (
        context.get_curve_points(name, f"{kind}_share", "test").mean(axis=1) for kind in ("zero", "undefined")
    )
    axes.bar(zero.index, zero, color=style.BLUE, width=0.6, label="probability 0")
    positive = undefined[undefined > 0]
    bar_style = {"color": "white", "edgecolor": style.VERMILION, "hatch": "///", "width": 0.6}
    axes.bar(positive.index, positive, bottom=zero[positive.index], label="context never seen", **bar_style)
    axes.set(title="share of words unpredicted", xlabel="order n", ylim=(0, 1))
    axes.legend(frameon=False, loc="upper left", fontsize=6.5)


def _plot_stored_ngrams(axes: Axes, context: Context, names: list[str]) -> None:
    """Plot the number of different n-grams over the size of the text, a line per order."""
    name = next(name for name in names if context.get_status(name).finished)
    order = context.get_setting(name, "model.order")
    stored = {n: context.get_curve_points(name, f"stored_order_{n}", "train").mean(axis=1) for n in range(1, order + 1)}
    for n, points in stored.items():
        axes.plot(points, color=style.BLUE, marker="o", markersize=3, linewidth=0.8)
        # The largest orders store almost as many: their labels are moved apart.
        offset = (5, 6 * (n - order + 1)) if n > 2 else (5, 0)
        last = points.index[-1], points.iloc[-1]
        axes.annotate(f"n = {n}", last, offset, textcoords="offset points", va="center", fontsize=6.5)
    axes.set(
        title="different n-grams in the text", xscale="log", yscale="log", xlabel="words of training text, thousands"
    )
    sizes = stored[1].index
    axes.set_xlim(sizes[0] * 0.8, sizes[-1] * 2.6)
    style.set_ticks(axes.xaxis, sizes, lambda value: f"{value / 1000:.0f}")


def recall(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw the share of names recalled over the distance, a labelled line per network with its 95 % interval."""
    names = context.list_cited_experiments(figure_id)
    recalled = {name: context.get_curve_points(name, "accuracy", "test") for name in names}
    distances = {distance for points in recalled.values() for distance in points.index}
    if not distances:
        return style.draw_absence(context, figure_id, names)
    figure, axes = style.make_panels(3.4)
    ends: list[tuple[float, str, Any]] = []
    for place, (line_style, (name, points)) in enumerate(zip(cycle(style.LINE_STYLES), recalled.items(), strict=False)):
        if len(points):
            # Later lines are narrower, so that one that lies on another leaves that one's edges to see.
            width, size = (
                max(minimum, maximum - place * step) for minimum, maximum, step in ((1, 3.2, 0.5), (3, 7, 0.9))
            )
            style.plot_mean_curve(axes, points, {**line_style, "linewidth": width, "markersize": size}, 0, 1)
            label = f"{context.get_title(name)} ({style.count_replicas(context.get_status(name))})"
            ends.append((float(points.iloc[-1].mean()), label, line_style["color"]))
    chance, last = 1 / context.get_setting(names[0], "data.names"), max(distances)
    axes.axhline(chance, **style.HAIRLINE)
    axes.annotate("by guessing", (0.38, chance), (0, -14), ("axes fraction", "data"), "offset points", fontsize=6.5)
    for height, (value, title, colour) in zip(_spread_labels([end for end, *_ in ends]), sorted(ends), strict=True):
        place = {"xytext": (1.06, height), "textcoords": axes.get_yaxis_transform()}
        arrow_style = {"arrowprops": {"arrowstyle": "-", "color": colour, "linewidth": 0.5}, "annotation_clip": False}
        axes.annotate(title, (last, value), **place, **arrow_style, va="center", fontsize=7, color=colour)
    for distance, number in _SENTENCES.items():
        if distance in distances:
            axes.axvline(distance, **style.DOTTED)
            axes.annotate(f"Sentence {number}", (distance, 1.05), (2, 0), textcoords="offset points", fontsize=6.5)
    axes.set(xscale="log", ylim=(0, 1.12), xlabel="words between the name and the blank", ylabel="share recalled")
    style.set_ticks(axes.xaxis, sorted(distances), lambda value: f"{value:.0f}")
    return figure


_LABEL_DISTANCE = 0.075
"""The least distance of two labels, as a share of the axis from 0 to 1."""


def _spread_labels(values: list[float]) -> list[float]:
    """Compute heights for labels at these values, in ascending order and apart."""
    heights: list[float] = []
    for value in sorted(values):
        heights.append(max(value, heights[-1] + _LABEL_DISTANCE) if heights else value)
    excess = max(0.0, heights[-1] - 1.06) if heights else 0.0
    return [height - excess for height in heights]


def error_surface(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw the error over weight and bias with both paths, and the error by update."""
    (name,) = context.list_cited_experiments(figure_id)
    w, b, error = _read_surface(context, name)
    line_styles = {
        "plain": {**style.LINE_STYLES[1], "markersize": 4.5},
        "clipped": {**style.LINE_STYLES[0], "markersize": 2},
    }
    if not error.size or any(context.get_curve_points(name, "error", path).empty for path in line_styles):
        return style.draw_absence(context, figure_id, [name])
    figure, (left, right) = style.make_panels(3.3, 1, 2, width_ratios=(1.35, 1))
    shades = left.pcolormesh(w, b, error.T, cmap="Greys", shading="gouraud", rasterized=True, vmin=0)
    figure.colorbar(shades, ax=left, label="error", pad=0.02)
    labels = {"plain": "gradient descent without clipping", "clipped": "with clipping (Algorithm 1)"}
    for path, line_style in line_styles.items():
        path_points = {
            column: context.get_curve_points(name, column, path).iloc[:, 0] for column in ("weight", "bias", "error")
        }
        path_style = {**line_style, "linewidth": 0.9}
        left.plot(path_points["weight"], path_points["bias"], **path_style, label=labels[path])
        right.plot(path_points["error"], **path_style | {"markersize": line_style["markersize"] / 1.5})
        is_inside = path_points["weight"].between(w[0], w[-1]) & path_points["bias"].between(b[0], b[-1])
        if not is_inside.iloc[-1]:
            weight, bias = path_points["weight"].iloc[-1], path_points["bias"].iloc[-1]
            end = f"{labels[path]}\nends at w = {weight:.1f}, b = {bias:.1f}"
            left.annotate(end, (0, 1), (4, -4), "axes fraction", "offset points", fontsize=6.5, va="top")
    start = (context.get_curve_points(name, column, "plain").iloc[0, 0] for column in ("weight", "bias"))
    left.plot(*start, "k*", markersize=8, label="start of both")
    left.set(xlim=(w[0], w[-1]), ylim=(b[0], b[-1]), xlabel="weight w", ylabel="bias b")
    left.grid(visible=False)
    right.set(xlabel="update", ylabel="error")
    style.add_legend(figure, left.get_legend_handles_labels()[0], ncols=3)
    return figure


def _read_surface(context: Context, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights (n,), biases (m,) and errors (n, m) of the grid."""
    curves = (curve for _, curve in context.iterate_curves(name) if curve.axis == "bias")
    rows = {float(curve.split.removeprefix("w = ")): pd.Series(curve.y, index=curve.x) for curve in curves}
    table = pd.DataFrame(rows, dtype=float).T.sort_index().sort_index(axis="columns")
    return table.index.to_numpy(), table.columns.to_numpy(dtype=float), table.to_numpy()


_START_STYLE = {**style.OURS, "marker": ""}
_END_STYLE = {"color": style.VERMILION, "linewidth": 1.4, "linestyle": (0, (5, 1)), "zorder": 3}
# Above the norms, which lie on it where every slope is 1.
_BOUND_STYLE = {"color": style.BLACK, "linewidth": 0.9, "linestyle": (0, (4, 2)), "zorder": 4}
_BOUNDS = [
    ("jacobian_bound", _BOUND_STYLE, "bound of equation 16"),
    ("jacobian_bound_1", style.DOTTED, "bound with a slope of 1, as the notes allow"),
]
_SPLIT_STYLES = {"start": (_START_STYLE, "before training"), "end": (_END_STYLE, "after training")}
_MIN_NORM = 1e-70
"""Lower norms are not shown: they would compress the rest."""


def jacobians(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw a panel per network: norms before and after training, and both bounds for the initial weights."""
    return _draw_jacobian_panels(context, figure_id, ("start", "end"), _BOUNDS)


def random_jacobians(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw a panel per untrained network, and its bound."""
    return _draw_jacobian_panels(context, figure_id, ("start",), _BOUNDS[:1])


def _draw_jacobian_panels(
    context: Context, figure_id: str, splits: Sequence[str], bounds: Sequence[tuple[str, Mapping[str, Any], str]]
) -> Figure:
    """Draw a panel per network with the norms of these splits and these bounds."""
    names = context.list_cited_experiments(figure_id)
    rows = math.ceil(len(names) / 3)
    figure, grid = style.make_panels(1.7 * rows + 0.5, rows, 3, sharex=True, squeeze=False)
    for axes, name in zip(grid.flat, names, strict=False):
        for metric, line_style, _ in bounds:
            points = context.get_curve_points(name, metric, "start")
            # Where the slope's bound is 1 both bounds are one.
            is_same_bound = metric != "jacobian_bound" and points.equals(
                context.get_curve_points(name, "jacobian_bound", "start")
            )
            if len(points) and not is_same_bound:
                axes.plot(_compute_geometric_mean(points), **line_style)
        for split in splits:
            if len(points := context.get_curve_points(name, "jacobian_norm", split)):
                _plot_norms(axes, points, _SPLIT_STYLES[split][0])
        _set_decade_axis(axes, [context.get_curve_points(name, "jacobian_norm", split) for split in splits])
        axes.set_title(context.get_title(name))
        style.add_panel_note(axes, style.count_replicas(context.get_status(name)))
    for axes in grid.flat[len(names) :]:
        axes.set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("steps t − k", labelpad=1)
    for axes in grid[:, 0]:
        axes.set_ylabel("norm of ∂h(t)/∂h(k)")
    handles = [*(style.make_handle(*_SPLIT_STYLES[split]) for split in splits), style.make_band_handle()]
    style.add_legend(figure, [*handles, *(style.make_handle(line_style, label) for _, line_style, label in bounds)], 3)
    return figure


def _set_decade_axis(axes: Axes, norms: list[pd.DataFrame]) -> None:
    """Scale a logarithmic axis to the mean norms of a network, with ticks at whole decades."""
    if not (mean_curves := [_compute_geometric_mean(points) for points in norms if len(points)]):
        return
    means = pd.concat(mean_curves)
    low = math.floor(math.log10(max(means.min(), _MIN_NORM)))
    high = math.ceil(math.log10(means.max())) + 1
    step = next(step for step in (1, 2, 5, 10, 20, 50) if (high - low) / step <= 5)
    axes.set(yscale="log", ylim=(10.0**low, 10.0**high))
    axes.yaxis.set_major_locator(FixedLocator([10.0**d for d in range(low, high + 1) if d % step == 0]))
    axes.yaxis.set_minor_locator(NullLocator())


def _plot_norms(axes: Axes, points: pd.DataFrame, line_style: Mapping[str, Any]) -> None:
    """Plot the geometric mean of the norms, with its interval if there are several replicas."""
    mean, low, high = (10.0**line for line in compute_mean_curve(np.log10(_keep_positive(points))))
    axes.plot(mean, **line_style)
    if points.shape[1] > 1:
        band_style = {**style.BAND, "color": line_style["color"]}
        axes.fill_between(points.index, low.clip(lower=_MIN_NORM), high, **band_style)


def _compute_geometric_mean(points: pd.DataFrame) -> pd.Series:
    """Compute the geometric mean over replicas, as in tables and claims: norms differ by orders of magnitude."""
    return np.exp(np.log(_keep_positive(points)).mean(axis=1))


def _keep_positive(points: pd.DataFrame) -> pd.DataFrame:
    """Remove norms of exactly 0, which have no logarithm: all paths of a ReLU network can be cut."""
    return points.where(points > 0)


_WORD_GROUPS = {"": "all words", "_ambiguous": "words with several tags", "_unseen": "words unseen in training"}
_SEED_STYLE = {"color": style.BLUE, "marker": "o", "markersize": 3, "linestyle": "none", "alpha": 0.35, "zorder": 2}
_MEAN_STYLE = {"color": style.BLUE, "marker": "o", "markersize": 4.5}
_NOT_LEARNED = {**_MEAN_STYLE, "color": style.GREY, "marker": "X"}


def taggers(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw a panel per group of words, a row per network: a dot per seed, their mean, and the baseline."""
    names = context.list_cited_experiments(figure_id)
    statuses = [context.get_status(name) for name in names]
    notes = [
        f" ({status.finished} of {status.planned} run)" if status.missing or status.diverged else ""
        for status in statuses
    ]
    labels = [f"{context.get_title(name)}{note}" for name, note in zip(names, notes, strict=True)]
    figure, panels = style.make_panels(0.32 * len(names) + 0.9, 1, len(_WORD_GROUPS), sharey=True)
    for axes, (group, title) in zip(panels, _WORD_GROUPS.items(), strict=True):
        for row, name in enumerate(names):
            _plot_replicas(axes, row, context, name, f"accuracy{group}", _MEAN_STYLE)
            baselines = context.get_values(name, f"guessing{group}", "test")
            if len(baselines):
                axes.axvline(baselines.mean(), **style.DOTTED)
        axes.set(title=title, xlabel="accuracy")
        axes.set_yticks(range(len(names)), labels)
        axes.set_ylim(len(names) - 0.5, -0.5)
    mean_handle = style.make_handle({**_MEAN_STYLE, "linestyle": "none"}, "mean, 95 % interval")
    baseline_handle = style.make_handle(style.DOTTED, "baseline: the word's most frequent tag")
    style.add_legend(figure, [mean_handle, style.make_handle(_SEED_STYLE, "one seed"), baseline_handle], 3)
    return figure


def _plot_replicas(
    axes: Axes, row: int, context: Context, name: str, metric: str, line_style: Mapping[str, Any]
) -> None:
    """Plot a faint dot per seed and their mean with its interval, in a row."""
    values = context.get_values(name, metric, "test")
    axes.plot(values, [row] * len(values), **_SEED_STYLE)
    style.plot_estimate(axes, row, estimate_mean(context, name, metric, "test"), line_style, is_horizontal=True)


_MIN_DIFFERENT = 0.1
"""A model with a smaller share of different translations has not learned to translate."""
_TRANSLATION_STYLES = [
    {**style.LINE_STYLES[2], "color": style.GREY, "marker": "v"},
    {**style.LINE_STYLES[3], "color": style.BLACK, "marker": "^"},
    style.LINE_STYLES[1],
    style.LINE_STYLES[0],
]
_LENGTH_GROUPS = 5
"""Groups of test sentences by the length of their sources, of about equal size."""


def translation_ladder(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Draw perplexity and BLEU, a row per model; and BLEU over the length of the source for some of them.

    Option `lines`: the models of the right panel, separated by blanks.
    """
    line_names = options["lines"].split()
    names = context.list_cited_experiments(figure_id)
    option_name = context.name_option(figure_id, "lines")
    for name in line_names:
        require_known(name, names, option_name, "experiment of this figure")
    if len(line_names) > len(_TRANSLATION_STYLES):
        raise UserError(
            f"{option_name}: {len(line_names)} lines are more than {len(_TRANSLATION_STYLES)}; leave some out"
        )
    figure, (left, middle, right) = style.make_panels(3.6, 1, 3, width_ratios=(1, 1, 1.3))
    labels = _make_labels(context, names)
    for axes, metric in ((left, "perplexity"), (middle, "bleu")):
        for row, name in enumerate(names):
            _plot_replicas(
                axes, row, context, name, metric, _MEAN_STYLE if has_learned(context, name) else _NOT_LEARNED
            )
        axes.set(ylim=(len(names) - 0.5, -0.5), xscale="log" if metric == "perplexity" else "linear")
        axes.set_yticks(range(len(names)), labels.values())
    left.set_title("test perplexity")
    style.set_ticks(left.xaxis, [5, 10, 20, 50, 100, 200, 500], lambda value: f"{value:g}")
    middle.set_title("BLEU")
    middle.set_xlim(left=0)
    middle.tick_params(labelleft=False)
    for line_style, name in zip(_TRANSLATION_STYLES, line_names, strict=False):
        _plot_bleu_by_length(right, context, name, line_style, labels[name])
    right.set(title="BLEU by length", xlabel="words of the source")
    style.set_integer_ticks(right.xaxis, 6)
    handles = [
        style.make_handle({**_MEAN_STYLE, "linestyle": "none"}, "mean, 95 % interval (hollow: a single seed)"),
        style.make_handle(_SEED_STYLE, "one seed"),
    ]
    if not all(has_learned(context, name) for name in names):
        not_learned = "did not learn: the same few translations for everything"
        handles.append(style.make_handle({**_NOT_LEARNED, "linestyle": "none"}, not_learned))
    title = (
        "I to V: the notes' extensions (section 2.6). Each row adds one, up to V. Then I to III with V, then I to V "
        "with a GRU and with an LSTM"
    )
    style.add_legend(figure, [*handles, *right.lines], 2, title=title)
    return figure


def has_learned(context: Context, name: str) -> bool:
    """Return whether a tenth of a model's translations differ at least, on average over its replicas."""
    texts = [sample["texts"] for sample in list_translations(context, name)]
    return (
        not texts
        or sum(len(set(replica_texts)) / len(replica_texts) for replica_texts in texts) / len(texts) >= _MIN_DIFFERENT
    )


def _make_labels(context: Context, names: list[str]) -> dict[str, str]:
    """Shorten "Translation, I to III, two layers" to "+ two layers"; with its steps if two labels are equal."""
    titles = {name: context.get_title(name).partition(", ")[2] or context.get_title(name) for name in names}
    steps = {name: text.partition(", ") if text.startswith("I") else ("", "", text) for name, text in titles.items()}
    labels, rests = {}, [rest for *_, rest in steps.values()]
    for name, (step, _, rest) in steps.items():
        text = f"{'+ ' if step else ''}{rest}" + (f" ({step})" if rests.count(rest) > 1 else "")
        status = context.get_status(name)
        text = "model as the notes print it" if text == "as printed" else text
        labels[name] = text if status.recorded else f"{text} ({status.missing_reason})"
    return labels


def _plot_bleu_by_length(axes: Axes, context: Context, name: str, line_style: Mapping[str, Any], label: str) -> None:
    """Plot the mean BLEU over replicas of each group of sentences, at the group's mean length.

    A group without a reference of four words is left out, since BLEU counts sequences of four words.
    """
    samples = list_translations(context, name)
    if not samples:
        return
    lengths = np.array(samples[0]["source_words"])
    edges = np.unique(np.quantile(lengths, np.arange(1, _LENGTH_GROUPS) / _LENGTH_GROUPS, method="lower"))
    group_index = np.searchsorted(edges, lengths)
    has_four_words = np.array(samples[0]["reference_words"]) >= MAX_ORDER
    groups = [
        np.flatnonzero(group_index == number)
        for number in np.unique(group_index)
        if has_four_words[group_index == number].any()
    ]
    x = [lengths[indices].mean() for indices in groups]
    y = [np.mean([compute_bleu(sample, indices.tolist()) for sample in samples]) for indices in groups]
    axes.plot(x, y, **line_style, markersize=4, linewidth=1.2, label=label)
