"""By how much one replica differs from the next: the measure of a gap to the paper's number."""

from __future__ import annotations

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
    family = family_of(context, name)
    members = (e.experiment for e in context.experiments if family and family_of(context, e.experiment) == family)
    found = pooled([context.values(member, metric, split) for member in members])
    return found.deviation if found else None


def family_of(context: Context, name: str) -> tuple[str, str] | None:
    """Model and dataset of an experiment at this tier; None of a check, and of what the tier does not run."""
    resolved = context.resolved(name)
    if resolved is None or resolved.is_check:
        return None
    return resolved.config["model"]["name"], resolved.config["data"]["dataset"]
