"""Made-up runs for the tests of claims: an experiment is a list of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from reprise.config.claims import Claim
from reprise.config.schema import Experiment
from reprise.evidence import decide as decisions
from reprise.evidence.contrasts import Contrast, Term
from reprise.evidence.measure import measure
from reprise.evidence.runs import Replica, Runs
from reprise.evidence.statistics import Estimate
from reprise.evidence.verdicts import Decision
from reprise.records.resolved import Resolved

QUANTITY = ("perplexity", "test")


def runs(
    name: str,
    values: Sequence[float],
    *,
    family: str = "net",
    paper: float | None = None,
    origin: str = "paper Table 1",
    diverged: int = 0,
    folds: bool = False,
    unit: str = "1",
    protocol: str = "final-digit",
    more: dict[tuple[str, str], Sequence[float]] | None = None,
    origins: dict[str, str] | None = None,
) -> Runs:
    """An experiment whose replicas have these numbers as QUANTITY; `more` adds others, `folds` makes replicas folds."""
    data = {"dataset": "text", "options": {"folds": 5} if folds else {}}
    config: dict[str, Any] = {
        "model": {"name": family, "options": {}},
        "data": data,
        "training": {"protocol": protocol},
    }
    resolved = Resolved("p", name, "paper", name, len(values), config, origins or {}, None)
    entry: dict[str, Any] = {"title": name.upper(), "tiers": {}}
    if paper is not None:
        reported = {"metric": QUANTITY[0], "split": QUANTITY[1], "value": paper, "from": origin}
        entry["reported"] = [reported]
    replicas = []
    for i, value in enumerate(values):
        metrics = {QUANTITY: value, **{quantity: numbers[i] for quantity, numbers in (more or {}).items()}}
        replicas.append(Replica(i, i if folds else None, True, metrics, dict.fromkeys(metrics, unit)))
    replicas += [Replica(len(values) + i, None, False, {}) for i in range(diverged)]
    return Runs(name, name.upper(), resolved, Experiment.model_validate(entry), replicas)


_EMPTY = [runs(name, [], family=name) for name in "abc"]


def welch(groups: Sequence[tuple[float, Sequence[float]]]) -> Estimate:
    """What verdicts take for the sum of weight * mean over experiments of two replicas or more, each its own family."""
    named = list(zip(_EMPTY[: len(groups)], groups, strict=True))
    table = {
        empty.name: replace(empty, replicas=[Replica(i, None, True, {QUANTITY: x}) for i, x in enumerate(values)])
        for empty, (_, values) in named
    }
    contrast = Contrast(tuple((weight, Term(empty.name, QUANTITY)) for empty, (weight, _) in named))
    found = measure(contrast, table, table.values())
    assert found.method == "seeds"
    assert not found.borrowed
    return found.estimate


def curves(name: str, tops: Sequence[float], diverged: Sequence[float] = ()) -> Runs:
    """An experiment whose replicas have curves of accuracy with these highest points."""
    empty = runs(name, [])
    replicas = [
        Replica(i, None, i < len(tops), {}, best={("accuracy", "train"): top})
        for i, top in enumerate([*tops, *diverged])
    ]
    return Runs(name, empty.title, empty.resolved, empty.entry, replicas)


def claim(kind: str, **statistic: Any) -> Claim:
    given = {"text": "It is so.", "place": "Table 1", "kind": kind, "metric": QUANTITY[0], "split": QUANTITY[1]}
    return Claim.model_validate({**given, **statistic})


def below(lower: Any, higher: Any) -> dict[str, Any]:
    return {"lower": lower, "higher": higher}


def margin(value: float, measure: str = "relative") -> dict[str, Any]:
    return {"value": value, "is": measure, "from": "ours: small enough"}


def decide(given: Claim, *there: Runs) -> Decision:
    table = {r.name: r for r in there}
    return decisions.decide(given, table, table)


def with_unit(entry: Experiment, unit: str) -> Experiment:
    """The entry whose paper states this unit for its numbers."""
    return entry.model_copy(update={"reported": [r.model_copy(update={"unit": unit}) for r in entry.reported]})
