"""How long an experiment takes by what it took at another tier, where the two differ in how long is trained alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from reprise.estimate.finished import on_cpu, records_of
from reprise.records.resolved import Resolved

_LENGTHS = ("max_epochs", "steps")
"""Options that only say when a training ends; the most units of work that it takes."""


def by_id(experiments: Iterable[Resolved]) -> defaultdict[str, list[Resolved]]:
    """An experiment has one name at all its tiers."""
    found: defaultdict[str, list[Resolved]] = defaultdict(list)
    for experiment in experiments:
        found[experiment.id].append(experiment)
    return found


def paced(one: Resolved, tiers: Iterable[Resolved], share: float, root: Path) -> list[tuple[float, dict[str, Any]]]:
    """Seconds that a replica of `one` takes at the pace of each finished one of another tier, and how that one ran.

    `tiers`: the experiment at other tiers; where it is not `one` at another length, it is passed over. `share`: of the
    most epochs, how many are needed.
    """
    most = _most(one)
    if most is None:
        return []
    units = most * share if "max_epochs" in _options(one) else most
    return [
        (record["run"]["wall_seconds"] / taken * units, record["run"])
        for other in tiers
        if _same_work(one, other)
        for record in filter(on_cpu, records_of(other, root))
        for taken in _units_of(other, record)
    ]


def _options(experiment: Resolved) -> dict[str, Any]:
    return experiment.config["training"]["options"]


def _most(experiment: Resolved) -> float | None:
    return next((_options(experiment)[name] for name in _LENGTHS if name in _options(experiment)), None)


def _same_work(one: Resolved, other: Resolved) -> bool:
    return one.corpus == other.corpus and _endless(one) == _endless(other)


def _endless(experiment: Resolved) -> dict[str, Any] | None:
    """The configuration without its length; None of a check."""
    if experiment.is_check:
        return None
    training = experiment.config["training"]
    options = {name: value for name, value in training["options"].items() if name not in _LENGTHS}
    return {**experiment.config, "training": {**training, "options": options}}


def _units_of(other: Resolved, record: dict[str, Any]) -> Iterator[float]:
    """Epochs of a finished training as it tells them, or its steps."""
    if "max_epochs" in _options(other):
        yield from (m["value"] for m in record["metrics"] if m["metric"] == "epochs" and m["value"])
    else:
        yield _most(other)
