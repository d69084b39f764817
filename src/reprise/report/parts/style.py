"""How figures look, and how they are written so that the same figure gives the same bytes.

The palette is seaborn's "colorblind" (after Okabe and Ito): its hues stay apart for people with any of the
common colour-vision deficiencies. Colour never stands alone: ours, the original and what diverged differ in
line width, line style and marker too, so that a grey print can be read.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.style
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reprise.files import write_atomically
from reprise.report.parts.context import Context
from reprise.report.parts.spreads import Measured, mean_and_interval

PALETTE = "colorblind"
BLUE, _, _, VERMILION = sns.color_palette(PALETTE)[:4]
BLACK = "#000000"
GREY = "#8a8a8a"

OURS: dict[str, Any] = {"color": BLUE, "linewidth": 1.4, "linestyle": "-", "zorder": 3}
ONE_OF_OURS: dict[str, Any] = {"color": BLUE, "linewidth": 0.5, "linestyle": "-", "alpha": 0.6, "zorder": 2}
BAND: dict[str, Any] = {"color": BLUE, "alpha": 0.18, "linewidth": 0, "zorder": 1}
ORIGINAL: dict[str, Any] = {"color": BLACK, "linewidth": 0.7, "linestyle": "-", "zorder": 4}
DIVERGED: dict[str, Any] = {"color": VERMILION, "linewidth": 0.9, "linestyle": (0, (4, 1.5)), "zorder": 5}
DIVERGED_END: dict[str, Any] = {"color": VERMILION, "marker": "X", "markersize": 4.5, "markeredgewidth": 0}
HAIRLINE: dict[str, Any] = {"color": GREY, "linewidth": 0.6, "linestyle": "-", "zorder": 0}
DOTTED: dict[str, Any] = {"color": BLACK, "linewidth": 0.9, "linestyle": (0, (1, 2)), "zorder": 2}

WIDTH = 7.2
"""Inches: the width of a page's text."""

FORMATS = ("svg", "png", "pdf")
# Only what the drawing itself decides may be in a file: no date, no version, no random identifiers.
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine has the same
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7.5,
    "legend.title_fontsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.5,
    "figure.facecolor": "white",
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.hashsalt": "reprise",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "path.simplify_threshold": 0.3,
}


@contextmanager
def applied() -> Iterator[None]:
    """Draws and saves in the style, whatever a user's matplotlibrc says; all is as before afterwards."""
    settings = {**sns.plotting_context("paper"), **sns.axes_style("ticks"), **_SETTINGS}
    with mpl.style.context(settings, after_reset=True):
        yield


def save(figure: Figure, stem: Path) -> list[Path]:
    """Writes `stem`.svg, .png and .pdf, each whole or not at all; returns their paths."""
    paths = []
    with applied():
        for kind in FORMATS:
            content = io.BytesIO()
            figure.savefig(content, format=kind, metadata=_METADATA[kind])
            path = stem.parent / f"{stem.name}.{kind}"
            write_atomically(path, content.getvalue())
            paths.append(path)
    return paths


OTHER_CORPUS = "trained on another corpus"


def absent(context: Context, figure_id: str, names: Iterable[str]) -> Figure:
    """The frame of a figure for which no replica has what it draws: none has run, all diverged, or none has it."""
    status = context.total(names)
    words = "diverged" if status.diverged and not status.finished else status.absence_of(None)
    return empty(context.display(figure_id).title, words)


def empty(title: str, words: str) -> Figure:
    """A frame that says why there is nothing to draw, so that the pipeline always has its outputs."""
    figure = Figure(figsize=(WIDTH, 1.6), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[["top", "right"]].set_visible(True)
    axes.text(0.5, 0.5, words, ha="center", va="center", transform=axes.transAxes, color=GREY, fontsize=11)
    return figure


def estimate(axes: Axes, x: float, found: Measured, look: Mapping[str, Any], across: bool = False) -> None:
    """A mean with its 95 % interval at `x`; hollow where it is of a single replica. `across`: `x` is the height."""
    if found.mean is None:
        return
    face = "white" if found.n == 1 else look["color"]
    drawn = {"capsize": 2, "elinewidth": 0.9, "markersize": 4.5, "linestyle": "none", "zorder": 4}
    drawn |= {**look, "linestyle": "none", "markerfacecolor": face}
    bar = found.reach or None
    if across:
        axes.errorbar([found.mean], [x], xerr=bar, **drawn)
    else:
        axes.errorbar([x], [found.mean], yerr=bar, **drawn)


def course(
    axes: Axes, points: pd.DataFrame, look: Mapping[str, Any], low: float = -math.inf, high: float = math.inf
) -> None:
    """Draws the mean over the replicas (columns) by step (index) in the band of its 95 % interval.

    The band ends at `low` and `high`, where a share or a loss cannot pass them.
    """
    if points.empty:
        return
    middle, lower, upper = mean_and_interval(points)
    if points.shape[1] > 1:
        axes.fill_between(
            points.index, lower.clip(low, high), upper.clip(low, high), **{**BAND, "color": look["color"]}
        )
    axes.plot(middle, **look)
