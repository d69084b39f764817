"""Names inside a paper's file have to lead somewhere: citations, claims, assumptions, deviations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from reprise.config.claim_checks import check_arithmetic, check_claims
from reprise.config.claims import Term
from reprise.config.places import Places
from reprise.config.schema import Alternative, Experiment, Paper
from reprise.errors import UserError, known


def check_references(paper: Paper, file: str, places: Places) -> None:
    """Raises `UserError` at the first name in `paper` that stands for nothing.

    The key is the one that was written: in an experiment's entry, or in its family's.
    """
    displays = {**paper.figures, **paper.tables}
    origins = {"assumption": paper.assumptions, "deviation": paper.deviations}
    for key, experiment in paper.experiments.items():
        _check_reported(experiment, lambda *keys, of=key: f"{file}: key {places.of(of, *keys)}")
        cited_by = f"{file}: key {places.of(key, 'cited_by')}"
        _all_known(experiment.cited_by, displays, cited_by, "figure or table")
        for keys, origin in _origins(experiment):
            kind, _, name = origin.partition(" ")
            if kind in origins:
                _all_known([name], origins[kind], f"{file}: key {places.of(key, *keys, 'from')}", kind)
    for key, assumption in paper.assumptions.items():
        for name, alternative in assumption.alternatives.items():
            where = f"{file}: key assumptions.{key}.alternatives.{name}"
            _check_alternative(alternative, where)
            _all_known(alternative.metrics, _claimed(paper), f"{where}.metrics", "claim about a metric")
            _all_known(alternative.experiments, paper.experiments, f"{where}.experiments", "experiment")
            for of in ("settings_of", "replicas_of"):
                _all_known(getattr(alternative, of), alternative.experiments, f"{where}.{of}", "experiment")
    check_claims(paper, file)
    check_arithmetic(paper, file)


def _check_reported(experiment: Experiment, where: Callable[..., str]) -> None:
    """One number for each metric and split; what runs in no tier is there for a number that the paper left out."""
    if not experiment.tiers and not any(r.value is None for r in experiment.reported):
        remedy = "name one, or say with 'value: null' under reported that the paper did not run it"
        raise UserError(f"{where('tiers')}: it runs in no tier; {remedy}")
    seen = set()
    for i, reported in enumerate(experiment.reported):
        name = (reported.metric, reported.split)
        if name in seen:
            raise UserError(f"{where('reported', str(i))}: '{' '.join(name)}' stands twice; keep one of the two")
        seen.add(name)
        if reported.unit and "entropy" not in reported.metric:
            raise UserError(
                f"{where('reported', str(i), 'unit')}: '{reported.metric}' is no entropy and has no unit; remove it"
            )


def _check_alternative(alternative: Alternative, where: str) -> None:
    """It changes settings of experiments, or measures something else of the same records."""
    keys = ("settings", "settings_of", "experiments", "tiers", "replicas_of")
    trained = [key for key in keys if getattr(alternative, key)]
    if alternative.metrics and trained:
        raise UserError(f"{where}.{trained[0]}: another metric trains nothing; remove it, or 'metrics'")
    if alternative.metrics:
        return
    for key in ("experiments", "tiers"):
        if key not in trained:
            raise UserError(f"{where}.{key}: missing; say what is trained under it, or name other 'metrics'")
    for name in alternative.experiments:
        if not alternative.changes(name):
            raise UserError(f"{where}.settings: nothing is changed for '{name}'; say what, or remove it")


def _claimed(paper: Paper) -> set[str]:
    """The metrics that claims are about."""
    sides = [(claim, side) for claim in paper.claims.values() for _, side in claim.sides()]
    found = {(side.metric if isinstance(side, Term) else None) or claim.metric for claim, side in sides}
    return {metric for metric in found if metric}


def _all_known(names: Iterable[str], there: Iterable[str], where: str, what: str) -> None:
    for name in names:
        if name not in there:
            raise UserError(f"{where}: no {what} '{name}'; {known(name, there)}")


def _origins(experiment: Experiment) -> Iterator[tuple[tuple[str, ...], str]]:
    for section in ("model", "data", "training"):
        content = getattr(experiment, section)
        for name, setting in content.settings.items() if content else ():
            yield (section, name), setting.origin
    if experiment.precision:
        yield ("precision",), experiment.precision.origin
