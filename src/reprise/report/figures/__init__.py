"""Figures.

A function `name(context, figure_id, options) -> Figure` in a module here is `module.name` in a paper's file and in
`reprise.catalogue.displays`, which says what `options` hold.
"""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.figure import Figure

from reprise.report import style
from reprise.report.context import Context

OTHER_CORPUS = "trained on another corpus at this tier"


def absent(context: Context, figure_id: str, names: Iterable[str]) -> Figure:
    """The frame of a figure for which no replica has what it draws: none has run, all diverged, or none has it."""
    status = context.total(names)
    words = "diverged" if status.only_diverged else status.absence_of(None)
    return empty(context.display(figure_id).title, words)


def empty(title: str, words: str) -> Figure:
    """A frame that says why there is nothing to draw, so that the pipeline always has its outputs."""
    figure = Figure(figsize=(style.WIDTH, 1.6), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[["top", "right"]].set_visible(True)
    axes.text(0.5, 0.5, words, ha="center", va="center", transform=axes.transAxes, color=style.GREY, fontsize=11)
    return figure
