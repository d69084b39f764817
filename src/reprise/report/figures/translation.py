"""Document 003, section 2.6: the translation model's extensions one after another, and BLEU by length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reprise.errors import UserError, known
from reprise.evaluation.bleu_counts import ORDER
from reprise.evidence.bleu import bleu
from reprise.report import figures, style
from reprise.report.context import Context
from reprise.report.translation import translations

_DOT = {"color": style.BLUE, "marker": "o", "markersize": 4, "linestyle": "none", "zorder": 3}
_MEAN = {"color": style.BLACK, "marker": "|", "markersize": 11, "markeredgewidth": 1.2, "linestyle": "none"}
_LOOKS = [
    {"color": style.GREY, "marker": "v", "linestyle": (0, (1, 1))},
    {"color": style.BLACK, "marker": "^", "linestyle": (0, (6, 1.5, 1, 1.5)), "markerfacecolor": "white"},
    {"color": style.VERMILION, "marker": "s", "linestyle": (0, (4, 1.5)), "markerfacecolor": "white"},
    {"color": style.BLUE, "marker": "o", "linestyle": "-"},
]
_GROUPS = 5
"""Of the test sentences by the length of their sources, about equally large."""


def ladder(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """Perplexity and BLEU, a row a model; BLEU over the length of the source for some of them.

    Option `lines`: the models of the right panel, one after the other, at most as many as there are looks.
    """
    lines = options["lines"].split()
    names = context.cited_by(figure_id)
    where = context.option_key(figure_id, "lines")
    for name in lines:
        if name not in names:
            raise UserError(f"{where}: '{name}' is not cited by this figure; {known(name, names)}")
    if len(lines) > len(_LOOKS):
        raise UserError(f"{where}: {len(lines)} lines are more than {len(_LOOKS)}; leave some out")
    if not context.total(names).finished:
        return figures.absent(context, figure_id, names)
    figure = Figure(figsize=(style.WIDTH, 3.3), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 1.3))
    for axes, metric in ((left, "perplexity"), (middle, "bleu")):
        for row, name in enumerate(names):
            values = context.values(name, metric, "test")
            axes.plot(values, [row] * len(values), **_DOT)
            if len(values):
                axes.plot([values.mean()], [row], **_MEAN)
        axes.set_ylim(len(names) - 0.5, -0.5)
    left.set(title="test perplexity", yticks=range(len(names)))
    left.set_yticklabels([_short(context, name) for name in names])
    middle.set(title="BLEU", yticks=range(len(names)))
    middle.tick_params(labelleft=False)
    for look, name in zip(_LOOKS, lines, strict=False):
        _by_length(right, context, name, look)
    right.set(title="BLEU by length", xlabel="words of the source")
    if right.lines:
        figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def _short(context: Context, name: str) -> str:
    """ "Translation, I to III, two layers" -> "I to III, two layers", and what is missing of it."""
    status, title = context.status(name), context.entry(name).title
    title = title.partition(", ")[2] or title
    return f"{title} ({status.absence})" if not status.run else title


def _by_length(axes: Axes, context: Context, name: str, look: Mapping[str, Any]) -> None:
    """Mean over the replicas of the BLEU of each group of sentences, at the group's mean length.

    A group without a reference of four words is left out: BLEU counts four words in a row.
    """
    found = translations(context, name)
    if not found:
        return
    lengths = np.array(found[0]["source_words"])
    edges = np.unique(np.quantile(lengths, np.arange(1, _GROUPS) / _GROUPS, method="lower"))
    group = np.searchsorted(edges, lengths)
    enough = np.array(found[0]["reference_words"]) >= ORDER
    members = [np.flatnonzero(group == g) for g in np.unique(group) if enough[group == g].any()]
    x = [lengths[chosen].mean() for chosen in members]
    y = [np.mean([bleu(sample, chosen.tolist()) for sample in found]) for chosen in members]
    axes.plot(x, y, **look, markersize=4, linewidth=1.2, label=_short(context, name))
