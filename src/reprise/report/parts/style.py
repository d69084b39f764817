"""How figures look, and how they are written so that the same figure gives the same bytes.

The palette is seaborn's "colorblind" (after Okabe and Ito): its hues stay apart for people with any of the
common colour-vision deficiencies. Colour never stands alone: ours, the original and what diverged differ in
line width, line style and marker too, so that a grey print can be read.
"""

import io
import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.style
import pandas as pd
import seaborn as sns
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from reprise.files import write_atomically
from reprise.report.parts.context import Context, Status
from reprise.report.parts.spreads import Measured, mean_and_interval

PALETTE = "colorblind"
BLUE, _, GREEN, VERMILION, PURPLE = sns.color_palette(PALETTE)[:5]
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
LOOKS: list[dict[str, Any]] = [
    {"color": BLUE, "marker": "o", "linestyle": "-"},
    {"color": VERMILION, "marker": "s", "linestyle": (0, (4, 1.5))},
    {"color": BLACK, "marker": "^", "linestyle": (0, (1, 1))},
    {"color": GREY, "marker": "v", "linestyle": (0, (6, 1.5, 1, 1.5))},
    {"color": GREEN, "marker": "D", "linestyle": (0, (2, 1))},
    {"color": PURPLE, "marker": "P", "linestyle": "-"},
]
"""What tells the lines of a figure apart. Markers are filled: a hollow one is of a single replica."""

WIDTH = 7.2
"""Inches: the width of a page's text."""

# Only what the drawing itself decides may be in a file: no date, no version, no random identifiers.
FORMATS = ("svg", "png", "pdf")
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_STYLE = [sns.plotting_context("paper"), sns.axes_style("ticks"), Path(__file__).with_name("reprise.mplstyle")]


@contextmanager
def applied() -> Iterator[None]:
    """Draws and saves in the style, whatever a user's matplotlibrc says; all is as before afterwards."""
    with mpl.style.context(_STYLE, after_reset=True):
        yield


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write `stem`.svg, .png and .pdf, each whole or not at all; returns their paths."""
    files = {stem.parent / f"{stem.name}.{kind}": kind for kind in FORMATS}
    for path, kind in files.items():
        content = io.BytesIO()
        with applied():
            figure.savefig(content, format=kind, metadata=_METADATA[kind])
        write_atomically(path, content.getvalue())
    return list(files)


def panels(height: float, rows: int = 1, columns: int = 1, width: float = WIDTH, **how: Any) -> tuple[Figure, Any]:
    """Make a figure, as wide as the text of a page, and its panels, as pyplot's `subplots` has them."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **how)


OTHER_CORPUS = "trained on another corpus"


def absent(context: Context, figure_id: str, names: Iterable[str]) -> Figure:
    """Draw the frame of a figure for which no replica has what it draws: all diverged, or none has it."""
    status = context.total(names)
    words = "diverged" if status.diverged and not status.finished else status.absence_of(None)
    return empty(context.display(figure_id).title, words)


def empty(title: str, words: str) -> Figure:
    """Draw a frame that says why there is nothing to draw, so that the pipeline always has its outputs."""
    figure, axes = panels(1.6)
    axes.set(title=title, xticks=[], yticks=[])
    axes.spines[["top", "right"]].set_visible(True)
    axes.text(0.5, 0.5, words, ha="center", va="center", transform=axes.transAxes, color=GREY, fontsize=11)
    return figure


def estimate(axes: Axes, x: float, measured: Measured, look: Mapping[str, Any], across: bool = False) -> None:
    """Draw a mean with its 95 % interval at `x`; hollow if of a single replica. `across`: `x` is the height."""
    if measured.mean is None:
        return
    face = "white" if measured.n == 1 else look["color"]
    drawn = {"capsize": 2, "elinewidth": 0.9, "markersize": 4.5, "zorder": 4}
    drawn |= {**look, "linestyle": "none", "markerfacecolor": face}
    low, high = measured.interval or (measured.mean, measured.mean)
    ends = [[measured.mean - low], [high - measured.mean]] if low < high else None
    bar = {"xerr" if across else "yerr": ends}
    axes.errorbar(*([measured.mean], [x]) if across else ([x], [measured.mean]), **bar, **drawn)


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
        ends = lower.clip(low, high), upper.clip(low, high)
        axes.fill_between(points.index, *ends, **BAND | {"color": look["color"]})
    axes.plot(middle, **look)


def ticks(axis: Axis, places: Iterable[float], show: Callable[[float], str]) -> None:
    """Ticks at these places alone, also of a logarithmic axis."""
    axis.set_major_locator(FixedLocator(list(places)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: show(value)))
    axis.set_minor_locator(NullLocator())


def note(axes: Axes, text: str) -> None:
    """Write a small word at the right of a panel's title."""
    axes.set_title(text, loc="right", fontsize=6.5, fontweight="normal")


def not_all(status: Status) -> list[str]:
    """How many replicas ran where some are missing, and how many diverged."""
    counts = [f"{status.run} of {status.wanted} run"] if status.missing else []
    return counts + ([f"{status.diverged} diverged"] if status.diverged else [])


def handle(look: Mapping[str, Any], label: str) -> Line2D:
    """Make an entry of a legend."""
    return Line2D([], [], **look, label=label)


def band(color: Any = BAND["color"]) -> Patch:
    """Make the entry of a legend for the band of an interval."""
    return Patch(facecolor=color, alpha=BAND["alpha"], label="95 % interval")


def legend(figure: Figure, handles: Iterable[Artist], ncols: int, **more: Any) -> None:
    """Write a legend below the panels, in at most `ncols` columns: in as many as the figure is wide enough for.

    A title that alone is too wide is broken into lines.
    """
    renderer = FigureCanvasAgg(figure).get_renderer()
    handles = list(handles)
    for columns in range(ncols, 0, -1):
        drawn = figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, **more)
        excess = drawn.get_window_extent(renderer).width / figure.bbox.width
        if excess <= 1:
            return
        if columns > 1:
            drawn.remove()
    longest = max(len(text.get_text()) for text in drawn.get_texts())
    for text in drawn.get_texts():
        text.set_text(textwrap.fill(text.get_text(), int(longest / excess) - 4))


def count_ticks(axis: Axis, most: int = 10) -> None:
    """Ticks at whole numbers alone, about `most` of them, of an axis that counts; one is enough."""
    axis.set_major_locator(MaxNLocator(most, integer=True, min_n_ticks=1))
