"""Estimate how certain a mean is, with one measure for all tables: the measure of verdicts.

`reprise.evidence.estimation` estimates how much one replica differs from the next. The variance of seeds is moderated
by that of their family. For folds, the variance with more degrees of freedom counts. Intervals and gaps in SDs use it,
so that no table contradicts the verdict beside it.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import special

from reprise.evidence.contrasts import Contrast, Term
from reprise.evidence.estimation import estimate_contrast
from reprise.evidence.runs import Quantity, Replica, Table
from reprise.evidence.verdicts import LEVEL
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import compute_mean, compute_sd
from reprise.units import is_ratio_scale

INTERVAL = "95 % interval"
"""The meaning of ± in every table that does not say otherwise."""

_FOLD_SD = (
    "SD: that of one fold, or of its family if that has more degrees of freedom (Nadeau and Bengio). "
    "Family: all trainings of one model on one text."
)
_REPLICA_SD = (
    "SD: that of one replica, moderated by its family's (Smyth). "
    "Family: all trainings of one model on one text or task with the same settings."
)
_COMPUTED: Quantity = ("number", "")
"""The metric name of a number that a table computes itself."""


@dataclass(frozen=True)
class MeanEstimate:
    """Hold a mean over finished replicas; the geometric mean for perplexities.

    Attributes:
        mean: The mean; None without a replica.
        n: The number of replicas.
        sd: The SD of these replicas; if `is_log`, of their logarithms.
        replica_sd: The SD of one replica that verdicts use; if `is_log`, of its logarithm. None if unknown.
        df: The degrees of freedom of `replica_sd`.
        interval: The 95 % interval of the mean; None if there are too few replicas.
        is_log: Whether the metric is averaged by its logarithm.
        single_replica: "one seed" or "one fold" for a mean without an interval; else None.
    """

    mean: float | None
    n: int
    sd: float | None = None
    replica_sd: float | None = None
    df: float | None = None
    interval: tuple[float, float] | None = None
    is_log: bool = False
    single_replica: str | None = None

    def compute_gap(self, paper: float | None) -> float | None:
        """Return ours minus the paper's number."""
        return None if self.mean is None or paper is None or pd.isna(paper) else self.mean - paper

    def compute_gap_in_sds(self, paper: float | None) -> float | None:
        """Return the gap in SDs of one replica; for perplexities, that of logarithms."""
        gap = self.compute_gap(paper)
        if gap is None or not self.replica_sd or math.inf in (self.mean, paper):
            return None
        return (math.log(self.mean / paper) if self.is_log else gap) / self.replica_sd


def estimate_mean(context: Context, name: str, metric: str, split: str) -> MeanEstimate:
    """Estimate the mean of a metric of an experiment or variant; cached in the context."""
    key = name, metric, split
    if key not in context.cache:
        context.cache[key] = _estimate_mean(name, (metric, split), context.measured_runs)
    return context.cache[key]


def estimate_computed_mean(
    context: Context, name: str, compute_values: Callable[[str], Sequence[float]]
) -> MeanEstimate:
    """Estimate the mean of numbers that no record holds; `compute_values` gives them by experiment, one a replica."""
    if name not in context.runs:
        return MeanEstimate(None, 0)
    family = context.measured_runs.list_members({context.runs[name].family})
    runs = {}
    for member in (context.runs[name], *family):
        values = enumerate(compute_values(member.name))
        replicas = [Replica(i, None, True, {_COMPUTED: float(value)}) for i, value in values]
        runs[member.name] = replace(member, replicas=replicas)
    return _estimate_mean(name, _COMPUTED, Table(runs))


def compute_difference_half_width(context: Context, name: str, other: str, metric: str, split: str) -> float | None:
    """Compute half of the 95 % interval of the difference of two experiments' means.

    Return None if no SD is known, or if the tier lacks one of the two.
    """
    if not {name, other} <= context.runs.keys():
        return None
    terms = (Term(run, (metric, split)) for run in (name, other))
    difference = estimate_contrast(Contrast(tuple(zip((1.0, -1.0), terms, strict=True))), context.measured_runs)
    interval = difference.estimate.compute_interval(LEVEL) if difference else None
    return None if interval is None else _round_for_files(interval[1] - difference.estimate.value)


def write_interval_notes(
    context: Context, names: Iterable[str], rows: pd.DataFrame, has_gaps: bool = False, has_shares: bool = False
) -> list[str]:
    """Write what the intervals, SDs and gaps of a table are; nothing if no row has an interval.

    Args:
        context: The paper.
        names: The experiments of the table.
        rows: Its raw values, with the ends of intervals in columns "…low" and "…high".
        has_gaps: Whether it shows gaps in SDs.
        has_shares: Whether intervals are clipped to 0 and 1.
    """
    if not rows.filter(regex="low$").notna().any(axis=None):
        return []
    has_logs = rows.filter(regex="log_std$").notna().any(axis=None)
    replica_note = (
        _FOLD_SD if any(name in context.runs and context.runs[name].by_fold for name in names) else _REPLICA_SD
    )
    lines = [f"{INTERVAL}: of the mean, by Student's t distribution; ± is half of it. {replica_note}"]
    if has_logs:
        lines.append("Perplexities: geometric mean, with its interval in brackets. Their SD is that of the logarithm.")
    lines.append("A family shares one SD if its SDs differ by chance alone, and none if they have little in common.")
    lines += ["Shares: an interval in brackets is cut at 0 or 1."] if has_shares else []
    lines += ["Gaps in SDs use the same SD."] if has_gaps else []
    return [" ".join(lines)]


def name_column(key: str, suffix: str) -> str:
    """Name a column beside that of a mean: "nats_low" for "nats", but "valid_low" for "valid_mean"."""
    return key.removesuffix("mean") + suffix if key.endswith("mean") else f"{key}_{suffix}"


def _estimate_mean(name: str, quantity: Quantity, table: Table) -> MeanEstimate:
    """Estimate the mean of a metric from these runs."""
    if name not in table.runs:
        return MeanEstimate(None, 0)
    values = [r.metrics[quantity] for r in table.runs[name].finished if quantity in r.metrics]
    is_log = is_ratio_scale(quantity[0])
    without_interval = MeanEstimate(
        compute_mean(values, is_log), len(values), compute_sd(np.log(values) if is_log else values), is_log=is_log
    )
    if without_interval.mean is None or without_interval.mean == math.inf:
        return without_interval
    comparison = estimate_contrast(Contrast(((1.0, Term(name, quantity)),), log=is_log), table)
    if without_interval.n == 1 and (comparison.borrowed or comparison.without_sd):
        return replace(without_interval, single_replica="one fold" if comparison.method == "folds" else "one seed")
    if comparison.estimate.error is None or not comparison.variances:
        return without_interval
    ends = comparison.estimate.compute_interval(LEVEL)
    return replace(
        without_interval,
        replica_sd=_round_for_files(math.sqrt(comparison.variances[0])),
        df=_round_for_files(comparison.estimate.df),
        interval=tuple(_round_for_files(math.exp(end) if is_log else end) for end in ends),
    )


def _round_for_files(value: float) -> float:
    """Round to nine digits: further ones differ between processors, and figures would differ with them."""
    return float(f"{value:.9g}")


def compute_mean_curve(points: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.Series]:
    """Compute mean and 95 % interval over the columns, row by row, by Student's t distribution.

    Return mean, lower and upper ends. A row with one number has its ends there.
    """
    mean, n = points.mean(axis=1), points.notna().sum(axis=1)
    points = points.where(np.isfinite(points))  # the mean of an infinite perplexity has no interval
    quantile = pd.Series(special.stdtrit(np.maximum(n - 1, 1), 0.5 + LEVEL / 2), index=points.index)
    half_width = (points.std(axis=1) / np.sqrt(n.clip(lower=1)) * quantile).fillna(0.0)
    return mean, mean - half_width, mean + half_width
