"""By how much one replica differs from the next: the measure of a gap to the paper's number."""

from __future__ import annotations

from reprise.evidence.runs import family_of
from reprise.evidence.statistics import pooled
from reprise.report.context import Context, of_experiment
from reprise.report.rounding import deviation

FEWEST_FOLDS = 3
"""The deviation of fewer folds is no measure."""


def replica_deviation(context: Context, name: str, metric: str, split: str) -> float | None:
    """The standard deviation of one replica of an experiment; None where too few have run to know it.

    Seeds: pooled over all experiments and variants with the same model and dataset, which is what claims borrow for a
    lone replica (`reprise.evidence.measure`). Folds: the experiment's own, of at least `FEWEST_FOLDS`.
    """
    values = context.values(name, metric, split)
    if (of_experiment(context.metrics, name).fold != "").any():
        return deviation(values) if len(values) >= FEWEST_FOLDS else None
    family = family_of(context.resolved(name))
    members = (e.experiment for e in context.experiments if family and family_of(e) == family)
    found = pooled([context.values(member, metric, split) for member in members])
    return found.deviation if found else None
