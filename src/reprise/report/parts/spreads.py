"""How sure a mean is, and how far the paper's number is from it: one measure for all tables, the one of verdicts.

`reprise.evidence.measure` says how much one replica differs from the next: seeds by their own variance, moderated by
their family's, folds by whichever knows most. A table's interval and its gap in deviations rest on just that: no table
contradicts the verdict beside it.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import special

from reprise.evidence.contrasts import Contrast, Term
from reprise.evidence.measure import measure
from reprise.evidence.runs import Quantity, Replica, Table
from reprise.evidence.verdicts import LEVEL
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import deviation, mean
from reprise.units import is_ratio_scale

INTERVAL = "95 % interval"
"""What ± means in every table that does not say otherwise."""

_NUMBER: Quantity = ("number", "")
"""What a number is called that a table works out itself."""


@dataclass(frozen=True)
class Measured:
    """A mean over finished replicas, of perplexities the geometric one.

    Attributes:
        mean: The mean; None without a replica.
        n: How many replicas it is of.
        own: The SD of these replicas; if `log`, of their logarithms.
        deviation: The SD that verdicts take for one replica; if `log`, of its logarithm. None where it is unknown.
        df: Its degrees of freedom.
        interval: The 95 % interval of the mean; None where the replicas are too few to know one.
        log: Whether the metric is averaged by its logarithm.
        single: "one seed" or "one fold", of which no interval is known; None of more, and of what is counted.
    """

    mean: float | None
    n: int
    own: float | None = None
    deviation: float | None = None
    df: float | None = None
    interval: tuple[float, float] | None = None
    log: bool = False
    single: str | None = None

    def gap(self, paper: float | None) -> float | None:
        """Return ours minus the paper's number."""
        return None if self.mean is None or paper is None or pd.isna(paper) else self.mean - paper

    def gap_in_deviations(self, paper: float | None) -> float | None:
        """Return the gap in SDs of one replica, of perplexities that of logarithms."""
        gap = self.gap(paper)
        if gap is None or not self.deviation or self.mean == math.inf:
            return None
        return (math.log(self.mean / paper) if self.log else gap) / self.deviation


def measured(context: Context, name: str, metric: str, split: str) -> Measured:
    """Measure a metric of an experiment or variant; once, whoever asks."""
    key = name, metric, split
    if key not in context.known:
        context.known[key] = _measured(name, (metric, split), context.table)
    return context.known[key]


def measured_by(context: Context, name: str, numbers: Callable[[str], Sequence[float]]) -> Measured:
    """Return a number that no record has as such, of every seed, as a function of an experiment's or variant's name."""
    if name not in context.runs:
        return Measured(None, 0)
    runs = {}
    for run in {name: context.runs[name]} | {r.name: r for r in context.table.members({context.runs[name].family})}:
        replicas = [Replica(i, None, True, {_NUMBER: float(n)}) for i, n in enumerate(numbers(run))]
        runs[run] = replace(context.runs[run], replicas=replicas)
    return _measured(name, _NUMBER, Table(runs))


def difference_reach(context: Context, name: str, other: str, metric: str, split: str) -> float | None:
    """Half of the 95 % interval of the mean difference of two experiments.

    None where no deviation is known, or the tier lacks one of the two.
    """
    if not {name, other} <= context.runs.keys():
        return None
    terms = (Term(one, (metric, split)) for one in (name, other))
    difference = measure(Contrast(tuple(zip((1.0, -1.0), terms, strict=True))), context.table)
    bounds = difference.estimate.interval(LEVEL) if difference else None
    return None if bounds is None else _steady(bounds[1] - difference.estimate.value)


def noted(
    context: Context, names: Iterable[str], rows: pd.DataFrame, gaps: bool = False, shares: bool = False
) -> list[str]:
    """Write what the intervals and SDs of a table are, and those of gaps; nothing where no row has an interval.

    Args:
        context: The paper.
        names: The experiments of the table.
        rows: Its raw values, with the ends of intervals in columns "…low" and "…high".
        gaps: Whether it shows gaps in SDs.
        shares: Whether intervals are cut at 0 and 1.
    """
    if not rows.filter(regex="low$").notna().any(axis=None):
        return []
    logs = rows.filter(regex="log_std$").notna().any(axis=None)
    one = _FOLD if any(name in context.runs and context.runs[name].by_fold for name in names) else _REPLICA
    lines = [f"±: half of the {INTERVAL} of the mean, by Student's t distribution. SD: {one}."]
    if logs:
        lines.append("Perplexities: geometric mean, and in brackets its interval; their SD is that of the logarithm.")
    lines += ["In brackets: an interval that would pass 0 or 1, cut there."] if shares else []
    lines += ["Gaps in SDs use the same SD."] if gaps else []
    return [" ".join(lines)]


def name_column(key: str, what: str) -> str:
    """Name the column beside that of a mean: "nats_low" of "nats", but "valid_low" of "valid_mean"."""
    return key.removesuffix("mean") + what if key.endswith("mean") else f"{key}_{what}"


_FOLD = (
    "of one fold, or of the family where that has more degrees of freedom (Nadeau and Bengio). "
    "A family: all that was trained of a model on one text"
)
_REPLICA = (
    "of one replica, moderated by that of its family (Smyth). "
    "A family: all that was trained of a model on one text or task with the same settings"
)


def _measured(name: str, quantity: Quantity, table: Table) -> Measured:
    if name not in table.runs:
        return Measured(None, 0)
    values = [r.metrics[quantity] for r in table.runs[name].finished if quantity in r.metrics]
    log = is_ratio_scale(quantity[0])
    plain = Measured(mean(values, log), len(values), deviation(np.log(values) if log else values), log=log)
    if plain.mean is None or plain.mean == math.inf:
        return plain
    estimated = measure(Contrast(((1.0, Term(name, quantity)),), log=log), table)
    if plain.n == 1 and (estimated.borrowed or estimated.without_sd):
        return replace(plain, single="one fold" if estimated.method == "folds" else "one seed")
    if estimated.estimate.error is None or not estimated.variances:
        return plain
    ends = estimated.estimate.interval(LEVEL)
    return replace(
        plain,
        deviation=_steady(math.sqrt(estimated.variances[0])),
        df=_steady(estimated.estimate.df),
        interval=tuple(_steady(math.exp(end) if log else end) for end in ends),
    )


def _steady(value: float) -> float:
    """To nine digits, as every processor has them: a figure's file differs where the last digit of a number does."""
    return float(f"{value:.9g}")


def mean_and_interval(points: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.Series]:
    """Mean over the columns, a replica each, and the ends of its 95 % interval by Student's t distribution, row by row.

    A row with one number has its ends there.
    """
    middle, n = points.mean(axis=1), points.notna().sum(axis=1)
    quantile = pd.Series(special.stdtrit(np.maximum(n - 1, 1), 0.5 + LEVEL / 2), index=points.index)
    reach = (points.std(axis=1) / np.sqrt(n.clip(lower=1)) * quantile).fillna(0.0)
    return middle, middle - reach, middle + reach
