"""Document 001, Figure 1: perplexity against the number of recurrence matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from reprise.catalogue.displays import display
from reprise.errors import UserError
from reprise.report.parts import style, words
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import deviation, mean

_METRIC, _SPLIT = "perplexity", "test"
_WHITE = {"markerfacecolor": "white"}
_SERIES = {
    ("r-rntn", "f"): {"color": style.BLUE, "marker": "o", "linestyle": "-"},
    ("r-rntn", "f_mod"): {"color": style.VERMILION, "marker": "s", "linestyle": (0, (4, 1.5)), **_WHITE},
    ("gru-lm", "f"): {"color": style.BLUE, "marker": "^", "linestyle": "-"},
    ("lstm-lm", "f"): {"color": style.VERMILION, "marker": "v", "linestyle": (0, (4, 1.5)), **_WHITE},
}
_LABELS = {
    ("r-rntn", "f"): "ours, f: the most frequent words",
    ("r-rntn", "f_mod"): "ours, f_mod: rank modulo K",
    ("gru-lm", "f"): "ours, r-GRU",
    ("lstm-lm", "f"): "ours, r-LSTM",
}


@display(protocols=("batched-sgd", "subsequence-sgd"), settings=("model.mapping", "model.matrices"))
def perplexity_against_matrices(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Test perplexity over K (logarithmic), a line a model and map; bars: ± one standard deviation over replicas.

    K = 1 and K = V are the same model under either map, so that both lines begin and end there. Numbers that the paper
    gives for one of these experiments are diamonds of its line's colour. Experiments that the tier trains on another
    corpus are left out. Where a K was not run the line breaks; the legend counts those that were, and says what the
    tier changes in the experiments that it has. A model and map without a line are refused: `UserError`.
    """
    cited = context.cited_by(figure_id)
    shown = [name for name in cited if not context.replaced_dataset(name)]
    points = pd.DataFrame([_point(context, name, figure_id) for name in shown])
    if points.empty or not points.n.sum():
        title = context.display(figure_id).title
        status = context.total(cited)
        return style.empty(title, style.OTHER_CORPUS if status.run else status.absence)
    figure = Figure(figsize=(style.WIDTH, 3.4), layout="constrained")
    axes = figure.add_subplot()
    for (model, mapping), look in _SERIES.items():
        of_model = points[points.model == model]
        own = of_model[of_model["mapping"] == mapping]
        if own.empty:
            continue
        drawn, label = {**look, "markersize": 4, "linewidth": 1.3}, _LABELS[model, mapping]
        if not own.n.any():
            axes.plot([], [], label=f"{label}: not run", **drawn | {"color": style.GREY})
            continue
        ends = of_model[of_model.K.isin([1, of_model.K.max()])]
        series = pd.concat([own, ends]).drop_duplicates("experiment").sort_values("K")
        part = "" if series.n.all() else f" ({(series.n > 0).sum()} of {len(series)} K)"
        # A K without a number breaks the line.
        heights, bars = series["mean"].astype(float), series["std"].astype(float).fillna(0)
        axes.errorbar(series.K, heights, bars, label=f"{label}{part}", **drawn, capsize=2, elinewidth=0.8)
    _originals(axes, points.dropna(subset="paper"))
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(sorted(points.K.unique())))
    run = set(points[points.n > 0].K)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda k, _: f"{k:.0f}" if round(k) in run else f"{k:.0f}\nnot run"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("K, the number of recurrence matrices")
    axes.set_ylabel("test perplexity")
    axes.margins(x=0.03, y=0.08)
    changed = words.reductions(context, [name for name in shown if context.resolved(name)])
    figure.legend(loc="outside lower center", ncols=3, frameon=False, title=" ".join(changed) or None)
    return figure


def _point(context: Context, name: str, figure_id: str) -> dict[str, Any]:
    values = context.values(name, _METRIC, _SPLIT)
    line = context.entry(name).model.name, context.setting(name, "model.mapping")
    if line not in _SERIES:
        remedy = f"leave {figure_id} out, or give it a line in src/reprise/report/figures/rrntn.py"
        where = f"{context.file}: key experiments.{name}.cited_by"
        raise UserError(f"{where}: {figure_id} has no line for the model {line[0]} with the map {line[1]}; {remedy}")
    return {
        "experiment": name,
        "model": line[0],
        "title": context.entry(name).title,
        "K": int(context.setting(name, "model.matrices")),
        "mapping": line[1],
        "mean": mean(values),
        "std": deviation(values),
        "n": len(values),
        "paper": context.reported(name, _METRIC, _SPLIT)[1],
    }


def _originals(axes: Axes, points: pd.DataFrame) -> None:
    look = {"linestyle": "", "marker": "D", "markersize": 5.5, "fillstyle": "none", "zorder": 4}
    for point in points.itertuples():
        axes.plot([point.K], [point.paper], color=_SERIES[point.model, point.mapping]["color"], **look)
    if len(points):
        axes.plot([], [], color=style.BLACK, **look, label="paper, Table 1")
