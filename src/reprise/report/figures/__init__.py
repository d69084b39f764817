"""Figures.

A function `name(context, figure_id, options) -> Figure` in a module here is `module.name` in a paper's file.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from reprise.report import style

OTHER_CORPUS = "trained on another corpus at this tier"


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
