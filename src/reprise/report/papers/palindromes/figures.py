"""Document 002, part 1, Figures 1 and 2: accuracy and loss while training, ours over the original."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from reprise.catalogue.displays import display
from reprise.errors import UserError
from reprise.report.parts import style
from reprise.report.parts.context import NOT_RUN, Context, Status

SPLIT = "train"
ORIGINAL = "uva_palindrome_curves.csv"
# The original's name of a model, by ours; and of a quantity.
_MODELS = {"elman": "rnn", "lstm": "lstm"}
_QUANTITIES = {"accuracy": "train_accuracy", "cross_entropy": "train_loss_nats"}
_LABELS = {"accuracy": "accuracy", "cross_entropy": "loss (nats)"}
_CHANCE = {"accuracy": 0.1, "cross_entropy": math.log(10)}
_COLUMNS = 5
_DIVERGED, _END_OF_ORIGINAL = "ours, diverged", "end of the original"


@dataclass(frozen=True)
class _Curves:
    """What one panel shows of one quantity; index: step."""

    finished: list[pd.Series]
    diverged: list[pd.Series]
    mean: pd.Series
    low: pd.Series
    high: pd.Series
    original: pd.Series

    @property
    def last(self) -> float:
        return max((s.index[-1] for s in (*self.finished, *self.diverged) if len(s)), default=0)


@display(options={"smooth": 1}, protocols=("final-digit",))
def training_curves(context: Context, figure_id: str, options: Mapping[str, Any]) -> Figure:
    """One column an experiment, two rows: accuracy above loss, over the step.

    Mean and band are over the replicas that finished, which the thin lines show one by one; one that diverged
    is drawn by itself, to where it ended. Option `smooth`: every curve, the original too, is the rolling mean
    of its last so many logged points (1: as logged).
    """
    smooth = options["smooth"]
    if smooth < 1:
        where = context.option_key(figure_id, "smooth")
        raise UserError(f"{where}: {smooth} is not a number of points; write 1 or more")
    names = context.cited_by(figure_id)
    if not context.total(names).run:
        return style.absent(context, figure_id, names)
    original = context.original(ORIGINAL)
    blocks = math.ceil(len(names) / _COLUMNS)
    columns = math.ceil(len(names) / blocks)
    figure = Figure(figsize=(style.WIDTH, 2.75 * blocks + 0.35), layout="constrained")
    grid = figure.subplots(2 * blocks, columns, sharey="row", squeeze=False)
    for number, name in enumerate(names):
        block, column = divmod(number, columns)
        for row, quantity in enumerate(_QUANTITIES):
            axes = grid[2 * block + row, column]
            curves = _curves(context, name, quantity, original, smooth)
            _draw(axes, curves)
            _dress(axes, quantity, first=column == 0, bottom=row == 1)
            if row == 0:
                axes.set_title(f"T = {context.setting(name, 'data.length')}")
                axes.set_title(_note(context.status(name)), loc="right", fontsize=6.5, fontweight="normal")
    for number in range(len(names), columns * blocks):
        block, column = divmod(number, columns)
        for axes in grid[2 * block : 2 * block + 2, column]:
            axes.set_visible(False)
    _one_loss_scale(grid[1::2, 0])
    _legend(figure, smooth)
    return figure


def _curves(context: Context, name: str, quantity: str, original: pd.DataFrame, smooth: int) -> _Curves:
    def rolled(points: pd.DataFrame | pd.Series) -> Any:
        return points.rolling(smooth, min_periods=1).mean().where(points.notna())

    finished, diverged = (rolled(context.points(name, quantity, SPLIT, status)) for status in ("finished", "diverged"))
    # Neighbours share most of their window: every few, and the last, make a small file and the same curve.
    kept = sorted({*range(0, len(finished), max(1, smooth // 4)), len(finished) - 1} - {-1})
    finished = finished.iloc[kept]
    model = _MODELS.get(context.paper.experiments[name].model.name)  # of another there is no original
    chosen = original[(original.model == model) & (original.sequence_length == context.setting(name, "data.length"))]
    return _Curves(
        finished=[finished[replica].dropna() for replica in finished],
        diverged=[diverged[replica].dropna() for replica in diverged],
        mean=finished.mean(axis=1),
        low=finished.min(axis=1),
        high=finished.max(axis=1),
        original=rolled(chosen.set_index("step")[_QUANTITIES[quantity]]),
    )


def _draw(axes: Axes, curves: _Curves) -> None:
    axes.fill_between(curves.mean.index, curves.low, curves.high, **style.BAND)
    # The more there are, the fainter each: their mean and the original have to stand out.
    fainter = {"alpha": style.ONE_OF_OURS["alpha"] * min(1.0, 5 / max(1, len(curves.finished)))}
    for replica in curves.finished:
        axes.plot(replica, **style.ONE_OF_OURS | fainter)
    axes.plot(curves.mean, **style.OURS)
    axes.plot(curves.original, **style.ORIGINAL)
    for replica in curves.diverged:
        axes.plot(replica, **style.DIVERGED, label=_DIVERGED)
        axes.plot(replica.index[-1:], replica.iloc[-1:], **style.DIVERGED_END, zorder=6)
    if len(curves.original) and curves.last > curves.original.index[-1]:
        axes.axvline(curves.original.index[-1], **style.DOTTED, label=_END_OF_ORIGINAL)
    axes.set_xlim(0, max(curves.last, *curves.original.index[-1:], 1))


def _dress(axes: Axes, quantity: str, first: bool, bottom: bool) -> None:
    axes.axhline(_CHANCE[quantity], **style.HAIRLINE)
    axes.xaxis.set_major_locator(MaxNLocator(3, integer=True))
    if quantity == "accuracy":
        axes.set_ylim(-0.03, 1.05)
        axes.yaxis.set_major_locator(FixedLocator([0, 0.5, 1]))
    else:
        axes.set_yscale("log")
        axes.yaxis.set_minor_locator(NullLocator())
    if first:
        axes.set_ylabel(_LABELS[quantity])
    if bottom:
        axes.set_xlabel("step", labelpad=1)
    else:
        axes.tick_params(labelbottom=False)


def _one_loss_scale(rows: Iterable[Axes]) -> None:
    """The same limits in every block, at whole powers of ten."""
    rows = list(rows)
    limits = [bound for axes in rows for bound in axes.get_ylim()]
    decades = range(math.floor(math.log10(min(limits))), math.ceil(math.log10(max(limits))) + 1)
    for axes in rows:
        axes.set_ylim(min(limits), max(limits))
        axes.yaxis.set_major_locator(FixedLocator([10.0**d for d in decades]))


def _note(status: Status) -> str:
    """What is unlike a panel in which every replica finished."""
    if not status.wanted:
        return NOT_RUN
    notes = []
    if status.diverged:
        notes.append(f"{status.diverged} of {status.run} diverged")
    if status.missing:
        notes.append(f"{status.run} of {status.wanted} run")
    return "\n".join(notes)


def _legend(figure: Figure, smooth: int) -> None:
    handles: list[Line2D | Patch] = [
        Line2D([], [], **style.OURS, label="ours, mean"),
        Line2D([], [], **style.ONE_OF_OURS, label="ours, one by one"),
        Patch(facecolor=style.BAND["color"], alpha=style.BAND["alpha"], label="ours, lowest to highest"),
        Line2D([], [], **style.ORIGINAL, label="original"),
        Line2D([], [], **style.HAIRLINE, label="chance"),
    ]
    drawn = {line.get_label() for axes in figure.axes for line in axes.lines}
    if _END_OF_ORIGINAL in drawn:
        handles.append(Line2D([], [], **style.DOTTED, label=_END_OF_ORIGINAL))
    if _DIVERGED in drawn:
        handles.append(Line2D([], [], **{**style.DIVERGED, **style.DIVERGED_END}, label=_DIVERGED))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=4 if len(handles) > 6 else len(handles),
        frameon=False,
        title=f"rolling means of {smooth} logged points" if smooth > 1 else None,
        columnspacing=1.3,
        handlelength=1.6,
        handletextpad=0.5,
    )
