"""The run records of a tier as claims read them: the numbers of every replica of every experiment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from reprise.config.project import Project
from reprise.config.resolved import Resolved
from reprise.config.schema import Experiment
from reprise.evidence.numbers import numbers_of
from reprise.training import PROTOCOLS
from reprise.training.record import read_record

Quantity = tuple[str, str]
"""A metric and its split."""


@dataclass(frozen=True)
class Replica:
    """What one run record says. `best` is the highest point of every curve, which diverged replicas have too."""

    number: int
    fold: int | str | None
    finished: bool
    metrics: dict[Quantity, float]
    units: dict[Quantity, str] = field(default_factory=dict)
    sizes: dict[Quantity, int | None] = field(default_factory=dict)
    best: dict[Quantity, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Runs:
    """An experiment or variant in one tier, and the replicas of it that are there."""

    name: str
    title: str
    resolved: Resolved | None
    entry: Experiment
    replicas: list[Replica] = field(default_factory=list)

    @property
    def finished(self) -> list[Replica]:
        return [r for r in self.replicas if r.finished]

    @property
    def diverged(self) -> int:
        return len(self.replicas) - len(self.finished)

    @property
    def family(self) -> tuple[str, str] | None:
        """Model and dataset: what has these in common is taken to vary alike from replica to replica."""
        if self.resolved is None or self.resolved.is_check:
            return None
        return self.resolved.config["model"]["name"], self.resolved.config["data"]["dataset"]

    @property
    def exact(self) -> bool:
        """Whether no chance is in its numbers: counted on the whole of a text, or a check."""
        if self.resolved is None or self.resolved.is_check:
            return self.resolved is not None
        protocol = PROTOCOLS[self.resolved.config["training"]["protocol"]]
        return not (protocol.trains and protocol.chance) and self.resolved.replicas == 1

    @property
    def by_fold(self) -> bool:
        return bool(self.finished) and all(r.fold is not None for r in self.finished)

    @property
    def fold_ratio(self) -> float:
        """n_test / n_train: of K folds one is tested on; the others are trained on, or choose the epoch."""
        return 1 / (int(self.resolved.config["data"]["options"].get("folds", self.resolved.replicas)) - 1)

    @property
    def replaced_dataset(self) -> str | None:
        """The dataset of this tier, where it is not the paper's."""
        if self.family is None or self.entry.data is None or self.family[1] == self.entry.data.dataset:
            return None
        return self.family[1]

    def reported(self, quantity: Quantity) -> float | None:
        """What the paper gives for it; None where it gives nothing, or for another dataset."""
        if self.replaced_dataset:
            return None
        found = (r.value for r in self.entry.reported if (r.metric, r.split) == quantity)
        return next((float(value) for value in found if value is not None), None)


def load_runs(project: Project, experiments: Iterable[Resolved]) -> dict[str, dict[str, Runs]]:
    """By paper and name, every experiment of the papers and every variant of the tier; the records are checked.

    Errors: as of `reprise.training.record.read_record`.
    """
    found: dict[str, dict[str, Runs]] = {
        paper_id: {name: Runs(name, entry.title, None, entry) for name, entry in paper.experiments.items()}
        for paper_id, paper in project.papers.items()
    }
    for resolved in experiments:
        entry = project.papers[resolved.paper].experiments[resolved.base]
        paths = [project.root / path for path in resolved.record_paths()]
        replicas = [_replica(read_record(path, resolved)) for path in paths if path.exists()]
        title = f"{entry.title} ({resolved.alternative})" if resolved.alternative else entry.title
        runs = Runs(resolved.experiment, title, resolved, entry, replicas)
        found[resolved.paper][resolved.experiment] = runs
    return found


def _replica(record: dict[str, Any]) -> Replica:
    rows = list(numbers_of(record))
    return Replica(
        number=record["replica"],
        fold=record["fold"],
        finished=record["status"] == "finished",
        metrics={(row["metric"], row["split"]): row["value"] for row in rows},
        units={(row["metric"], row["split"]): row["unit"] for row in rows},
        sizes={(row["metric"], row["split"]): row["n"] for row in rows},
        best={(c["metric"], c["split"]): max(c["y"]) for c in record["curves"] if c["y"]},
    )
