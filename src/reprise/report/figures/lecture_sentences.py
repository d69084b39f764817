"""Document 003, section 2.5: test accuracy of the taggers, network by network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from reprise.report import figures, style
from reprise.report.context import Context

_PANELS = {"": "all words", "_ambiguous": "words with several tags", "_unseen": "words unseen in training"}
_MEAN = {"color": style.BLACK, "marker": "|", "markersize": 13, "markeredgewidth": 1.6, "linestyle": "", "zorder": 4}
_REPLICA = {"color": style.BLUE, "marker": "o", "markersize": 4.5, "linestyle": "", "alpha": 0.7, "zorder": 3}


def taggers(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """A panel a group of words, a row a network: a dot a replica, a bar their mean, and guessing without context."""
    names = context.cited_by(figure_id)
    if not context.total(names).finished:
        return figures.absent(context, figure_id, names)
    figure = Figure(figsize=(style.WIDTH, 0.32 * len(names) + 0.9), layout="constrained")
    for axes, (group, title) in zip(figure.subplots(1, len(_PANELS), sharey=True), _PANELS.items(), strict=True):
        for place, name in enumerate(names):
            values = context.values(name, f"accuracy{group}", "test")
            if len(values):
                axes.plot(values, [place] * len(values), **_REPLICA)
                axes.plot(values.mean(), place, **_MEAN)
            guessed = context.values(name, f"guessing{group}", "test")
            if len(guessed):
                axes.axvline(guessed.mean(), **style.DOTTED)
        axes.set(title=title, xlabel="accuracy")
        axes.set_yticks(range(len(names)), [_label(context, name) for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
    return figure


def _label(context: Context, name: str) -> str:
    status = context.status(name)
    note = f" ({status.finished} of {status.wanted} run)" if status.missing or status.diverged else ""
    return f"{context.entry(name).title}{note}"
