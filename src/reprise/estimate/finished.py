"""What finished replicas say of how long one takes on a core: those of an experiment, and those of another tier.

Another tier counts where it differs in how long is trained alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reprise.records.record import records_of
from reprise.records.resolved import Resolved
from reprise.training.devices import processor

_LENGTHS = ("max_epochs", "steps")
"""Options that only say when a training ends; the most units of work that it takes."""


def on_cpu(record: Mapping[str, Any]) -> bool:
    """Whether the record's time says what its replica takes on a core, whichever that was."""
    return record["status"] == "finished" and record["run"]["device"].startswith("cpu ")


def ran_here(run: Mapping[str, Any]) -> bool:
    """Whether it ran on this kind of processor."""
    return run["device"] == f"cpu ({processor()})"


def paced(one: Resolved, tiers: Iterable[Resolved], share: float, root: Path) -> list[tuple[float, dict[str, Any]]]:
    """Seconds that a replica of `one` takes at the pace of each finished one of another tier, and how that one ran.

    `tiers`: the experiments of other tiers; what is not `one` at another length is passed over. `share`: of the most
    epochs, how many are needed.
    """
    most, others = _most(one), [other for other in tiers if other.id == one.id]
    if most is None:
        return []
    units = most * share if "max_epochs" in _options(one) else most
    return [
        (record["run"]["wall_seconds"] / taken * units, record["run"])
        for other in others
        if one.corpus == other.corpus and _endless(one) == _endless(other)
        for record in filter(on_cpu, records_of(other, root))
        for taken in _units_of(other, record)
    ]


def _options(experiment: Resolved) -> dict[str, Any]:
    return experiment.config["training"]["options"]


def _most(experiment: Resolved) -> float | None:
    return next((_options(experiment)[name] for name in _LENGTHS if name in _options(experiment)), None)


def _endless(experiment: Resolved) -> dict[str, Any] | None:
    """The configuration without its length; None of a check."""
    if experiment.is_check:
        return None
    options = {name: value for name, value in _options(experiment).items() if name not in _LENGTHS}
    return {**experiment.config, "training": {**experiment.config["training"], "options": options}}


def _units_of(other: Resolved, record: dict[str, Any]) -> Iterator[float]:
    """Epochs of a finished training as it tells them, or its steps."""
    if "max_epochs" in _options(other):
        yield from (m["value"] for m in record["metrics"] if m["metric"] == "epochs" and m["value"])
    else:
        yield _most(other)
