"""Made-up runs for the tests of claims: an experiment is a list of numbers."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from config_helpers import project

from reprise.config.claims import Claim
from reprise.config.schema import Experiment, TrainingSection
from reprise.evidence.contrasts import Contrast, Term
from reprise.evidence.decisions import Verdict
from reprise.evidence.estimation import ContrastEstimate, estimate_contrast
from reprise.evidence.runs import Replica, Runs, Table
from reprise.evidence.verdicts import decide as decisions
from reprise.records.resolved import Resolved

QUANTITY = ("perplexity", "test")


@cache
def training(protocol: str) -> TrainingSection:
    """The settings that a committed experiment has under this protocol."""
    entries = (entry for paper in project().papers.values() for entry in paper.experiments.values())
    return next(entry.training for entry in entries if entry.training and entry.training.protocol == protocol)


def runs(
    name: str,
    values: Sequence[float],
    *,
    family: str = "net",
    quantity: tuple[str, str] = QUANTITY,
    paper: float | None = None,
    paper_unit: str | None = None,
    digit: float = 0.0,
    diverged: int = 0,
    folds: bool = False,
    unit: str = "1",
    n: int | None = None,
    protocol: str = "final-digit",
    more: dict[tuple[str, str], Sequence[float]] | None = None,
) -> Runs:
    """An experiment whose replicas have these numbers as `quantity`; `more` adds others, `folds` makes replicas folds.

    Each is a mean over `n` things; the paper has a number of its own, perhaps in another unit.
    """
    data = {"dataset": "text", "options": {"folds": 5} if folds else {}}
    config = {"model": {"name": family, "options": {}}, "data": data, "training": {"protocol": protocol}}
    resolved = Resolved("p", name, "paper", name, len(values), config, {}, None)
    reported = {"metric": quantity[0], "split": quantity[1], "value": paper, "from": "paper Table 1"}
    entry = {"title": name.upper(), "tiers": {}, "training": training(protocol)}
    entry["reported"] = [] if paper is None else [reported | {"unit": paper_unit}]
    replicas = []
    for i, value in enumerate(values):
        metrics = {quantity: value, **{other: numbers[i] for other, numbers in (more or {}).items()}}
        units, sizes = dict.fromkeys(metrics, unit), {quantity: n}
        replicas.append(Replica(i, i if folds else None, True, metrics, units, sizes))
    replicas += [Replica(len(values) + i, None, False, {}) for i in range(diverged)]
    entry = Experiment.model_validate(entry)
    return Runs(name, name.upper(), resolved, entry, replicas, digits={quantity: digit})


def estimate(weights: Sequence[tuple[float, str]], *experiments: Runs, offset: float = 0.0) -> ContrastEstimate | None:
    """The sum of weight * mean over experiments."""
    contrast = Contrast(tuple((weight, Term(name, QUANTITY)) for weight, name in weights), offset)
    return estimate_contrast(contrast, table(*experiments))


def curves(name: str, tops: Sequence[float], diverged: Sequence[float] = ()) -> Runs:
    """An experiment whose replicas have curves of accuracy with these highest points."""
    empty = runs(name, [])
    replicas = [
        Replica(i, None, i < len(tops), {}, best={("accuracy", "train"): top})
        for i, top in enumerate([*tops, *diverged])
    ]
    return Runs(name, empty.title, empty.resolved, empty.entry, replicas)


def claim(kind: str, **statistic: Any) -> Claim:
    fields = {"tested": "It is so", "place": "Table 1", "kind": kind, "metric": QUANTITY[0], "split": QUANTITY[1]}
    return Claim.model_validate({**fields, **statistic})


def below(lower: Any, higher: Any) -> dict[str, Any]:
    return {"lower": lower, "higher": higher}


def gain(lower: str, higher: str) -> dict[str, str]:
    return {"name": f"{lower} over {higher}", "lower": lower, "higher": higher}


def margin(value: float, measure: str = "relative") -> dict[str, Any]:
    return {"value": value, "is": measure, "from": "ours: small enough"}


def table(*experiments: Runs) -> Table:
    return Table({r.name: r for r in experiments})


def decide(claim: Claim, *experiments: Runs) -> Verdict:
    return decisions.decide(claim, table(*experiments))


def add_metric(runs: Runs, *numbers: float, metric: tuple[str, str] = ("accuracy", "test")) -> Runs:
    """The same, whose replicas have these numbers of another metric too."""
    added = [replace(r, metrics={**r.metrics, metric: x}) for r, x in zip(runs.replicas, numbers, strict=True)]
    return replace(runs, replicas=added)
