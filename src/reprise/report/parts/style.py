"""Define how figures look, and save them so that equal figures give equal bytes.

The palette is seaborn's "colorblind" (after Okabe and Ito); people with common colour-vision deficiencies can tell its
hues apart. Colour is never the only difference: ours, the original and diverged runs differ in line width, line style
and marker.
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
from matplotlib.axis import Axis, Tick
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from reprise.files import write_atomically
from reprise.report.parts.context import Context, Status
from reprise.report.parts.uncertainty import MeanEstimate, compute_mean_curve

PALETTE = "colorblind"
BLUE, _, GREEN, VERMILION, PURPLE = sns.color_palette(PALETTE)[:5]
BLACK = "#000000"
GREY = "#8a8a8a"

OURS: dict[str, Any] = {"color": BLUE, "linewidth": 1.4, "linestyle": "-", "zorder": 3}
OUR_REPLICA: dict[str, Any] = {"color": BLUE, "linewidth": 0.5, "linestyle": "-", "alpha": 0.6, "zorder": 2}
BAND: dict[str, Any] = {"color": BLUE, "alpha": 0.18, "linewidth": 0, "zorder": 1}
ORIGINAL: dict[str, Any] = {"color": BLACK, "linewidth": 0.7, "linestyle": "-", "zorder": 4}
DIVERGED: dict[str, Any] = {"color": VERMILION, "linewidth": 0.9, "linestyle": (0, (4, 1.5)), "zorder": 5}
DIVERGED_END: dict[str, Any] = {"color": VERMILION, "marker": "X", "markersize": 4.5, "markeredgewidth": 0}
HAIRLINE: dict[str, Any] = {"color": GREY, "linewidth": 0.6, "linestyle": "-", "zorder": 0}
DOTTED: dict[str, Any] = {"color": BLACK, "linewidth": 0.9, "linestyle": (0, (1, 2)), "zorder": 2}
LINE_STYLES: list[dict[str, Any]] = [
    {"color": BLUE, "marker": "o", "linestyle": "-"},
    {"color": VERMILION, "marker": "s", "linestyle": (0, (4, 1.5))},
    {"color": BLACK, "marker": "^", "linestyle": (0, (1, 1))},
    {"color": GREY, "marker": "v", "linestyle": (0, (6, 1.5, 1, 1.5))},
    {"color": GREEN, "marker": "D", "linestyle": (0, (2, 1))},
    {"color": PURPLE, "marker": "P", "linestyle": "-"},
]
"""Styles that tell the lines of a figure apart. Markers are filled: a hollow one means a single replica."""

WIDTH = 7.2
"""The width of a page's text, in inches."""

# Only what the drawing itself decides may be in a file: no date, no version, no random identifiers.
FORMATS = ("svg", "png", "pdf")
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_STYLE = [sns.plotting_context("paper"), sns.axes_style("ticks"), Path(__file__).with_name("reprise.mplstyle")]


@contextmanager
def apply_style() -> Iterator[None]:
    """Apply the style within a `with` block, whatever a user's matplotlibrc says."""
    with mpl.style.context(_STYLE, after_reset=True):
        yield


def show_dollar_signs(artist: Artist) -> None:
    """Show the texts within an artist as they stand: no dollar sign of a title begins a formula.

    Labels of ticks stay formulas, which logarithmic axes write.
    """
    tick_labels = {label for tick in artist.findobj(Tick) for label in (tick.label1, tick.label2)}
    for text in artist.findobj(Text):
        if text not in tick_labels:
            text.set_parse_math(False)


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """Write `stem`.svg, .png and .pdf, each whole or not at all; return their paths."""
    files = {stem.parent / f"{stem.name}.{kind}": kind for kind in FORMATS}
    for path, kind in files.items():
        content = io.BytesIO()
        with apply_style():
            figure.savefig(content, format=kind, metadata=_METADATA[kind])
        write_atomically(path, content.getvalue())
    return list(files)


def make_panels(
    height: float, rows: int = 1, columns: int = 1, width: float = WIDTH, **subplot_options: Any
) -> tuple[Figure, Any]:
    """Make a figure as wide as a page's text, and its panels, as pyplot's `subplots` returns them."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **subplot_options)


OTHER_CORPUS = "trained on another corpus"


def draw_absence(context: Context, figure_id: str, names: Iterable[str]) -> Figure:
    """Draw the frame of a figure without data: all replicas diverged, or none has the metric."""
    return draw_empty_figure(
        context.get_display(figure_id).title, context.sum_status(names).explain_missing_value(None)
    )


def draw_empty_figure(title: str, reason: str) -> Figure:
    """Draw a frame that says why there is nothing to draw, since the pipeline expects its files."""
    figure, axes = make_panels(1.6)
    axes.set(title=title, xticks=[], yticks=[])
    axes.spines[["top", "right"]].set_visible(True)
    axes.text(0.5, 0.5, reason, ha="center", va="center", transform=axes.transAxes, color=GREY, fontsize=11)
    return figure


def plot_estimate(
    axes: Axes, x: float, estimate: MeanEstimate, line_style: Mapping[str, Any], is_horizontal: bool = False
) -> None:
    """Plot a mean with its 95 % interval at `x`, or at the height `x` if `is_horizontal`; hollow for one replica."""
    if estimate.mean is None:
        return
    face_color = "white" if estimate.n == 1 else line_style["color"]
    marker_style = {"capsize": 2, "elinewidth": 0.9, "markersize": 4.5, "zorder": 4}
    marker_style |= {**line_style, "linestyle": "none", "markerfacecolor": face_color}
    low, high = estimate.interval or (estimate.mean, estimate.mean)
    errors = [[estimate.mean - low], [high - estimate.mean]] if low < high else None
    error_bars = {"xerr" if is_horizontal else "yerr": errors}
    axes.errorbar(*([estimate.mean], [x]) if is_horizontal else ([x], [estimate.mean]), **error_bars, **marker_style)


def plot_mean_curve(
    axes: Axes,
    points: pd.DataFrame,
    line_style: Mapping[str, Any],
    minimum: float = -math.inf,
    maximum: float = math.inf,
) -> None:
    """Plot the mean over the replicas (columns) by step (index), in the band of its 95 % interval.

    The band is clipped to `minimum` and `maximum`, which a share or a loss cannot pass.
    """
    if points.empty:
        return
    mean, lower, upper = compute_mean_curve(points)
    if points.shape[1] > 1:
        ends = lower.clip(minimum, maximum), upper.clip(minimum, maximum)
        axes.fill_between(points.index, *ends, **BAND | {"color": line_style["color"]})
    axes.plot(mean, **line_style)


def set_ticks(axis: Axis, positions: Iterable[float], format_value: Callable[[float], str]) -> None:
    """Set ticks at these positions only, also on a logarithmic axis."""
    axis.set_major_locator(FixedLocator(list(positions)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: format_value(value)))
    axis.set_minor_locator(NullLocator())


def add_panel_note(axes: Axes, text: str) -> None:
    """Write a short note at the right of a panel's title."""
    axes.set_title(text, loc="right", fontsize=6.5, fontweight="normal")


def list_incomplete_replicas(status: Status) -> list[str]:
    """Write how many replicas ran if some are missing, and how many diverged."""
    counts = [f"{status.recorded} of {status.planned} run"] if status.missing else []
    return counts + ([f"{status.diverged} diverged"] if status.diverged else [])


def count_replicas(status: Status) -> str:
    """Write how many replicas were recorded, how many are missing, and how many diverged."""
    counts = [] if status.missing or not status.recorded else [f"n = {status.recorded}"]
    return ", ".join([*counts, *list_incomplete_replicas(status)])


def make_handle(line_style: Mapping[str, Any], label: str) -> Line2D:
    """Make an entry of a legend."""
    return Line2D([], [], **line_style, label=label)


def make_band_handle(color: Any = BAND["color"]) -> Patch:
    """Make the legend entry for the band of an interval."""
    return Patch(facecolor=color, alpha=BAND["alpha"], label="95 % interval")


def add_legend(figure: Figure, handles: Iterable[Artist], ncols: int, **options: Any) -> None:
    """Add a legend below the panels, in as many columns as the figure is wide enough for, at most `ncols`.

    A title that is too wide is broken into lines.
    """
    renderer = FigureCanvasAgg(figure).get_renderer()
    handles = list(handles)
    for columns in range(ncols, 0, -1):
        legend = figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, **options)
        show_dollar_signs(legend)
        excess = legend.get_window_extent(renderer).width / figure.bbox.width
        if excess <= 1:
            return
        if columns > 1:
            legend.remove()
    longest = max(len(text.get_text()) for text in legend.get_texts())
    for text in legend.get_texts():
        text.set_text(textwrap.fill(text.get_text(), int(longest / excess) - 4))


def set_integer_ticks(axis: Axis, max_ticks: int = 10) -> None:
    """Set ticks at whole numbers only, about `max_ticks` of them; one is enough."""
    axis.set_major_locator(MaxNLocator(max_ticks, integer=True, min_n_ticks=1))
