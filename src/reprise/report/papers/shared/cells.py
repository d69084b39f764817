"""What tables share: columns by the raw value that they show, and raw values that rows of several tables hold.

A mean is called "nats" or "valid_mean"; its SD and the ends of its interval are then "nats_std", "nats_low" and
"nats_high", or "valid_std" and so on. The SD of a perplexity's logarithm is "log_std".
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from reprise.report.parts.context import Context
from reprise.report.parts.rounding import NONE, fixed, integer, spread
from reprise.report.parts.spreads import Measured, measured, name_column
from reprise.report.parts.tables import Column
from reprise.report.parts.words import replicas, settings

Row = Mapping[str, Any]


def text(title: str, key: str, words: bool = True) -> Column:
    """Words as they stand; a dash where there are none."""
    return Column(title, lambda row: NONE if pd.isna(row[key]) else row[key], words)


def count(title: str, key: str) -> Column:
    """Make a column of counts."""
    return Column(title, lambda row: integer(row[key]))


def number(title: str, key: str, places: int) -> Column:
    """Make a column of numbers with so many decimals."""
    return Column(title, lambda row: fixed(row[key], places))


def interval(title: str, key: str, places: int, share: bool = False, least: float | None = None) -> Column:
    """Show a mean with its interval, or that it is of one seed or fold; a dash where there is none."""
    return Column(title, lambda row: with_interval(row, key, places, share, least))


def with_interval(row: Row, key: str, places: int, share: bool = False, least: float | None = None) -> str:
    """Write a mean of a row with its interval, or that it is of one seed or fold."""
    shown = spread(row[key], row[name_column(key, "low")], row[name_column(key, "high")], places, share, least)
    single = row.get(name_column(key, "single"))
    return f"{shown} ({single})" if isinstance(single, str) else shown


def ours(title: str, key: str, places: int, least: float | None = None) -> Column:
    """Return the same of a row with its `absence`, which is said where there is no mean; "diverged" where all did."""
    shown = interval(title, key, places, least=least).show

    def show(row: Row) -> str:
        if pd.notna(row[key]):
            return shown(row)
        return "diverged" if row.get("run") and row["run"] == row["diverged"] else row["absence"]

    return Column(title, show)


def signed(value: float | None, places: int, of: str = "") -> str:
    """Return a number with its sign, + included; a dash where there is none."""
    return NONE if pd.isna(value) else f"{'+' if value > 0 else ''}{fixed(value, places)}{of}"


def yes_or_no(value: Any) -> str:
    """Write a truth value; a dash where there is none."""
    return NONE if pd.isna(value) else "yes" if value else "no"


MODEL = text("Model", "title")
PARAMETERS = count("Parameters", "parameters")
REPLICAS = Column("Replicas", lambda row: replicas(row["n"], row["wanted"], row["diverged"]))


def values(measurement: Measured, key: str = "mean") -> dict[str, Any]:
    """Return the raw values of a mean: itself, the SD of its replicas, the ends of its interval, if it is of one."""
    low, high = measurement.interval or (None, None)
    row = {key: measurement.mean, name_column(key, "log_std" if measurement.log else "std"): measurement.own}
    row |= {name_column(key, "low"): low, name_column(key, "high"): high}
    return row | ({name_column(key, "single"): measurement.single} if measurement.single else {})


def all_values(context: Context, name: str, quantities: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """`values` of several means of an experiment, by the metric and split of each."""
    cells: dict[str, Any] = {}
    for key, quantity in quantities.items():
        cells |= values(measured(context, name, *quantity), key)
    return cells


def picked(thing: object, *names: str) -> dict[str, Any]:
    """Attributes by name."""
    return {name: getattr(thing, name) for name in names}


def parameters(context: Context, name: str) -> int | None:
    """How many parameters the records of an experiment count."""
    counts = (replica.made.parameters for replica in context.replicas(name))
    return next((count for count in counts if count is not None), None)


def with_variants(context: Context, names: list[str], waiting: bool = False) -> Iterator[tuple[str, str]]:
    """Every experiment and its title, each with its variants that were run; with all that the tier has if `waiting`."""
    for name in names:
        title = context.title(name)
        yield name, title
        for e in context.experiments:
            if e.assumption and e.base == name and (waiting or context.status(e.experiment).run):
                choice = context.paper.assumptions[e.assumption].alternatives[e.alternative]
                yield e.experiment, f"{title} ({settings(context.paper, choice.settings)})"
