"""How sure a mean is, and how far the paper's number is from it: one measure for all tables.

Both are told by how much one replica differs from the next. That is pooled over a family: all experiments and variants
of the tier with the same model and dataset, which is what claims borrow for a lone replica
(`reprise.evidence.measure`), and here also with the same settings of `reprise.report.replicas.TASK`, whose other values
are other tasks. Of folds it is pooled over those members that have at least `FEWEST_FOLDS`, with the degrees of freedom
of a single one, since all share their folds; their mean is as sure as Nadeau and Bengio say, as their training sets
overlap (`reprise.evidence.statistics`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reprise.evidence.runs import Runs
from reprise.evidence.statistics import Estimate, Spread, combine, fold_factor, folds, pooled
from reprise.report.context import Context
from reprise.report.rounding import deviation, mean, plural, significant

FEWEST_FOLDS = 3
"""The deviation of fewer folds is no measure."""
LEVEL = 0.95
INTERVAL = "95 % interval"
"""What ± means in every table that does not say otherwise."""

Values = Callable[[str], Sequence[float] | np.ndarray]
"""An experiment's or variant's number of each finished replica."""


@dataclass(frozen=True)
class Measured:
    """A mean over `n` finished replicas.

    `own` is the deviation of these replicas, `deviation` that of one replica in its family with its degrees of
    `freedom`, `reach` half of the 95 % interval of the mean; each None where too few have run to know it.
    """

    mean: float | None
    n: int
    own: float | None = None
    deviation: float | None = None
    freedom: float | None = None
    reach: float | None = None

    def gap(self, paper: float | None) -> float | None:
        """Ours minus the paper's number."""
        return None if self.mean is None or paper is None or pd.isna(paper) else self.mean - paper

    def gap_in_deviations(self, paper: float | None) -> float | None:
        """The gap in deviations of one replica of the family."""
        gap = self.gap(paper)
        return gap / self.deviation if gap is not None and self.deviation else None


def measured(context: Context, name: str, metric: str, split: str) -> Measured:
    """A metric of an experiment or variant."""
    return measured_by(context, name, context.replicas.numbers.get((metric, split), {}))


def measured_by(context: Context, name: str, numbers: Mapping[str, Sequence[float] | np.ndarray] | Values) -> Measured:
    """A number that every member of the family has: by name, or as a function of the name."""
    of = numbers if callable(numbers) else lambda member: numbers.get(member, ())
    values, spread = of(name), _pool(context, name, of)
    found = Measured(mean(values), len(values), deviation(values))
    if not spread or not len(values):
        return found
    ratio = _fold_ratio(context, name)
    factor = 1 / len(values) if ratio is None else fold_factor(len(values), ratio)
    reach = _reach(combine(found.mean, [(factor, spread)]))
    return Measured(found.mean, found.n, found.own, spread.deviation, spread.freedom, reach)


def paired_reach(context: Context, name: str, differences: Sequence[float] | pd.Series) -> float | None:
    """Half of the 95 % interval of a mean of differences of equal folds; None for fewer than `FEWEST_FOLDS`."""
    ratio = _fold_ratio(context, name)
    if ratio is None or len(differences) < FEWEST_FOLDS:
        return None
    return _reach(folds(list(differences), ratio))


def meaning(context: Context, names: Iterable[str], gaps: bool = False, shares: bool = False) -> str:
    """The sentences under a table that say what ± is, what stands in its place where `shares` are shown, and gaps."""
    by_folds = not context.replicas.folded.isdisjoint(names)
    of = "fold" if by_folds else "replica"
    text = f"±: half of the {INTERVAL} of the mean, by Student's law from the standard deviation of one {of}"
    text += ", pooled over the family: all that was trained of a model on one text or task"
    if by_folds:
        text += f" on at least {FEWEST_FOLDS} folds, whose overlap is accounted for after Nadeau and Bengio"
    if shares:
        text += ". Where the interval of a share would pass 0 or 1, it is given in brackets, cut there"
    return text + (". Gaps in deviations are in that deviation." if gaps else ".")


def noted(context: Context, names: Iterable[str], rows: pd.DataFrame, shares: bool = False) -> list[str]:
    """These sentences, where a row of the table has an interval: its columns are called "…reach"."""
    known = any(rows[column].notna().any() for column in rows if column.endswith("reach"))
    return [meaning(context, names, shares=shares)] if known else []


def deviations(found: Iterable[tuple[str, float | None, float | None]], of: str = "replica") -> list[str]:
    """The sentence on the deviation of each family, given title, deviation and freedom of every model."""
    groups: dict[tuple[float, float], list[str]] = {}
    for title, std, freedom in found:
        if std is not None and not pd.isna(std):
            groups.setdefault((std, freedom), []).append(title)
    said = [
        f"{significant(std, 3)} with {plural(int(freedom), 'degree')} of freedom ({'; '.join(dict.fromkeys(titles))})"
        for (std, freedom), titles in groups.items()
    ]
    return [f"Deviation of one {of}: {', '.join(said)}."] if said else []


def _pool(context: Context, name: str, of: Values) -> Spread | None:
    fewest = FEWEST_FOLDS if name in context.replicas.folded else 2
    samples = [values for member in context.replicas.family(name) if len(values := of(member)) >= fewest]
    found = pooled(samples)
    if found and fewest == FEWEST_FOLDS:
        return Spread(found.variance, max(map(len, samples)) - 1)
    return found


def _fold_ratio(context: Context, name: str) -> float | None:
    """n_test / n_train of an experiment whose replicas are folds; None of one whose replicas are seeds."""
    if name not in context.replicas.folded:
        return None
    return Runs(name, "", context.resolved(name), context.entry(name)).fold_ratio


def _reach(estimate: Estimate) -> float | None:
    bounds = estimate.interval(LEVEL)
    return None if bounds is None else bounds[1] - estimate.value
