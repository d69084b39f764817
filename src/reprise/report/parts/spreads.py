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
from reprise.evidence.measure import Measured as Found
from reprise.evidence.measure import measure
from reprise.evidence.runs import Quantity, Replica, Table
from reprise.evidence.verdicts import LEVEL
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import deviation, mean

INTERVAL = "95 % interval"
"""What ± means in every table that does not say otherwise."""

_FAMILY = "of the family"
"""Whose a borrowed deviation is, in words."""
_NUMBER: Quantity = ("number", "")
"""What a number is called that a table works out itself."""


@dataclass(frozen=True)
class Measured:
    """A mean over `n` finished replicas.

    `own` is the deviation of these replicas, `deviation` the one that verdicts take for a replica, with its degrees of
    `freedom`, and `lender` whose it is, where it is another's; `reach` is half of the 95 % interval of the mean. Each
    is None where too few have run to know it, or nothing varies.
    """

    mean: float | None
    n: int
    own: float | None = None
    deviation: float | None = None
    freedom: float | None = None
    reach: float | None = None
    lender: str | None = None

    def gap(self, paper: float | None) -> float | None:
        """Ours minus the paper's number."""
        return None if self.mean is None or paper is None or pd.isna(paper) else self.mean - paper

    def gap_in_deviations(self, paper: float | None) -> float | None:
        """The gap in deviations of one replica."""
        gap = self.gap(paper)
        return gap / self.deviation if gap is not None and self.deviation else None


def measured(context: Context, name: str, metric: str, split: str) -> Measured:
    """Measure a metric of an experiment or variant; once, whoever asks."""
    key = name, metric, split
    if key not in context.known:
        context.known[key] = _measured(name, (metric, split), context.table)
    return context.known[key]


def measured_by(context: Context, name: str, numbers: Callable[[str], Sequence[float]]) -> Measured:
    """A number that no record has as such, of every seed, as a function of an experiment's or variant's name."""
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
    found = measure(Contrast(tuple(zip((1.0, -1.0), terms, strict=True))), context.table)
    return _reach(found) if found else None


def noted(
    context: Context,
    names: Iterable[str],
    rows: pd.DataFrame,
    gaps: bool = False,
    shares: bool = False,
    cut: Iterable[str] = (),
    least: float | pd.Series = 1.0,
) -> list[str]:
    """The sentences under a table that say what ± is, what stands in its place where `shares` are shown, and gaps.

    None where no row has an interval. `cut`: the columns of means whose interval is cut where it would pass the `least`
    that there is; that may be one for each row, NaN where there is none.
    """
    if not rows.filter(regex="reach$").notna().any(axis=None):
        return []
    reaches = {key: rows[beside(key, "reach")].astype(float) for key in cut}
    passes = any((rows[key].astype(float) - reach < least).any() for key, reach in reaches.items())
    one = _FOLD if any(name in context.runs and context.runs[name].by_fold for name in names) else _REPLICA
    said = [f"±: half of the {INTERVAL} of the mean, by Student's t distribution. SD: {one}."]
    said += ["In brackets: an interval that would pass 0 or 1, cut there."] if shares else []
    said += ["In brackets: an interval that would fall below 1, cut there."] if passes else []
    return [" ".join([*said, "Gaps in SDs use the same SD."] if gaps else said)]


def beside(key: str, what: str) -> str:
    """The column beside that of a mean: "nats_reach" of "nats", but "valid_reach" of "valid_mean"."""
    return key.removesuffix("mean") + what if key.endswith("mean") else f"{key}_{what}"


_FOLD = (
    "of one fold, or of the family where that has more degrees of freedom (Nadeau and Bengio). "
    "A family: all that was trained of a model on one text"
)
_REPLICA = (
    "of one replica, moderated by that of its family (Smyth). "
    "A family: all that was trained of a model on one text or task with the same settings"
)


def deviations(titles: Iterable[str], lenders: Iterable[str | None]) -> list[str]:
    """The sentence on models whose deviation is another's, with whose; `lenders` may be a column of a frame."""
    # A column has NaN where there is none.
    said = dict.fromkeys(title for title, lender in zip(titles, lenders, strict=True) if isinstance(lender, str))
    return [f"Borrowed SD: {_FAMILY} ({'; '.join(said)})."] if said else []


def _measured(name: str, quantity: Quantity, table: Table) -> Measured:
    if name not in table.runs:
        return Measured(None, 0)
    values = [r.metrics[quantity] for r in table.runs[name].finished if quantity in r.metrics]
    plain = Measured(mean(values), len(values), deviation(values))
    # A perplexity's interval is taken of its logarithm, as verdicts do.
    log = quantity[0] == "perplexity"
    found = measure(Contrast(((1.0, Term(name, quantity)),), log=log), table)
    unknown = found is None or found.estimate.error is None or not found.variances
    if unknown or plain.mean == math.inf:
        return plain
    reach, scale = _reach(found), plain.mean if log else 1.0
    return replace(
        plain,
        deviation=_steady(scale * math.sqrt(found.variances[0])),
        freedom=_steady(found.estimate.freedom),
        reach=reach and _steady(scale * reach),
        lender=_FAMILY if found.borrowed else None,
    )


def _reach(found: Found) -> float | None:
    bounds = found.estimate.interval(LEVEL)
    return None if bounds is None else _steady(bounds[1] - found.estimate.value)


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
