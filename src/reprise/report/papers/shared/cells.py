"""Make what tables share: columns that format a raw value, and raw values that rows of several tables hold.

A mean is called "nats" or "valid_mean". Beside it stand its SD and the ends of its interval: "nats_std", "nats_low" and
"nats_high", or "valid_std" and so on. The SD of a perplexity's logarithm is "log_std".
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from reprise.evidence.load import compute_rises
from reprise.evidence.stability import RISE
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import DASH, format_fixed, format_integer, format_interval
from reprise.report.parts.tables import Column
from reprise.report.parts.uncertainty import MeanEstimate, estimate_mean, name_column
from reprise.report.parts.wording import describe_settings, format_replicas

Row = Mapping[str, Any]


def select_high_losses(losses: pd.Series) -> pd.Series:
    """Select the losses of a training run, in nats, at which it counts as unstable (`evidence.stability.RISE`)."""
    return losses[[rise > RISE for rise in compute_rises(losses)]]


def make_text_column(title: str, key: str) -> Column:
    """Make a column of text; a dash for a missing value."""
    return Column(title, lambda row: DASH if pd.isna(row[key]) else row[key], is_text=True)


def make_count_column(title: str, key: str) -> Column:
    """Make a column of counts."""
    return Column(title, lambda row: format_integer(row[key]))


def make_number_column(title: str, key: str, decimals: int) -> Column:
    """Make a column of numbers with so many decimals."""
    return Column(title, lambda row: format_fixed(row[key], decimals))


def make_interval_column(
    title: str, key: str, decimals: int, is_share: bool = False, lower_bound: float | None = None
) -> Column:
    """Make a column of means with their intervals; a dash for a missing value."""
    return Column(title, lambda row: format_row_interval(row, key, decimals, is_share, lower_bound))


def format_row_interval(
    row: Row, key: str, decimals: int, is_share: bool = False, lower_bound: float | None = None
) -> str:
    """Write a mean of a row with its interval, or that it is of one seed or fold."""
    text = format_interval(
        row[key], row[name_column(key, "low")], row[name_column(key, "high")], decimals, is_share, lower_bound
    )
    single = row.get(name_column(key, "single_replica"))
    return f"{text} ({single})" if isinstance(single, str) else text


def make_result_column(title: str, key: str, decimals: int, lower_bound: float | None = None) -> Column:
    """Make a column of means with their intervals; without a mean, it gives the row's "missing_reason"."""
    format_interval_cell = make_interval_column(title, key, decimals, lower_bound=lower_bound).format_cell
    return Column(title, lambda row: format_interval_cell(row) if pd.notna(row[key]) else row["missing_reason"])


def format_yes_no(value: Any) -> str:
    """Write a truth value; a dash for a missing value."""
    return DASH if pd.isna(value) else "yes" if value else "no"


MODEL_COLUMN = make_text_column("Model", "title")
PARAMETERS_COLUMN = make_count_column("Parameters", "parameters")
REPLICAS_COLUMN = Column("Replicas", lambda row: format_replicas(row["n"], row["planned"], row["diverged"]))


def make_mean_values(estimate: MeanEstimate, key: str = "mean") -> dict[str, Any]:
    """Return the raw values of a mean: itself, the SD of its replicas and the ends of its interval."""
    low, high = estimate.interval or (None, None)
    row = {key: estimate.mean, name_column(key, "log_std" if estimate.is_log else "std"): estimate.sd}
    row |= {name_column(key, "low"): low, name_column(key, "high"): high}
    return row | ({name_column(key, "single_replica"): estimate.single_replica} if estimate.single_replica else {})


def collect_mean_values(context: Context, name: str, quantities: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Return the raw values of several means of an experiment, by the metric and split of each."""
    values: dict[str, Any] = {}
    for key, quantity in quantities.items():
        values |= make_mean_values(estimate_mean(context, name, *quantity), key)
    return values


def pick_attributes(item: object, *names: str) -> dict[str, Any]:
    """Return attributes by name."""
    return {name: getattr(item, name) for name in names}


def find_parameter_count(context: Context, name: str) -> int | None:
    """Return the number of parameters that the records of an experiment state."""
    counts = (replica.made.parameters for replica in context.list_replicas(name))
    return next((count for count in counts if count is not None), None)


def iterate_with_variants(
    context: Context, names: list[str], include_untrained: bool = False
) -> Iterator[tuple[str, str]]:
    """Iterate over experiments and titles, each followed by its variants that ran; all if `include_untrained`."""
    for name in names:
        title = context.get_title(name)
        yield name, title
        for experiment in context.experiments:
            if (
                experiment.assumption
                and experiment.base == name
                and (include_untrained or context.get_status(experiment.experiment).recorded)
            ):
                alternative = context.paper.assumptions[experiment.assumption].alternatives[experiment.alternative]
                yield experiment.experiment, f"{title} ({describe_settings(context.paper, alternative.settings)})"
