"""What figures share: looks that tell lines apart, ticks at given places, legends below, and notes on panels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from reprise.report.parts import style
from reprise.report.parts.context import Status

LOOKS: list[dict[str, Any]] = [
    {"color": style.BLUE, "marker": "o", "linestyle": "-"},
    {"color": style.VERMILION, "marker": "s", "linestyle": (0, (4, 1.5)), "markerfacecolor": "white"},
    {"color": style.BLACK, "marker": "^", "linestyle": (0, (1, 1))},
    {"color": style.GREY, "marker": "v", "linestyle": (0, (6, 1.5, 1, 1.5)), "markerfacecolor": "white"},
    {"color": style.BLUE, "marker": "D", "linestyle": (0, (2, 1)), "markerfacecolor": "white"},
    {"color": style.VERMILION, "marker": "P", "linestyle": "-"},
]


def ticks(axis: Axis, places: Iterable[float], show: Callable[[float], str]) -> None:
    """Ticks at these places alone, also of a logarithmic axis."""
    axis.set_major_locator(FixedLocator(list(places)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: show(value)))
    axis.set_minor_locator(NullLocator())


def note(axes: Axes, text: str) -> None:
    """A small word at the right of a panel's title."""
    axes.set_title(text, loc="right", fontsize=6.5, fontweight="normal")


def not_all(status: Status) -> list[str]:
    """How many replicas ran where some are missing, and how many diverged."""
    said = [f"{status.run} of {status.wanted} run"] if status.missing else []
    return said + ([f"{status.diverged} diverged"] if status.diverged else [])


def handle(look: Mapping[str, Any], label: str) -> Line2D:
    """An entry of a legend."""
    return Line2D([], [], **look, label=label)


def band(color: Any = style.BAND["color"]) -> Patch:
    return Patch(facecolor=color, alpha=style.BAND["alpha"], label="95 % interval")


def legend(figure: Figure, handles: Iterable[Artist], ncols: int, **more: Any) -> None:
    figure.legend(handles=list(handles), loc="outside lower center", ncols=ncols, frameon=False, **more)
