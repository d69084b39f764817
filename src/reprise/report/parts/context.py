"""What a figure or table may read: one paper, its experiments at a tier, and their run records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reprise.catalogue.displays import draws
from reprise.config import ldc_wsj
from reprise.config.project import PAPERS, Project
from reprise.config.resolve import resolve_all
from reprise.config.schema import Dataset, Display, Experiment, Paper, Reported
from reprise.errors import UserError
from reprise.evidence.decisions import Decision, read_claims
from reprise.evidence.runs import Curve, Quantity, Replica, Runs, Table, load_paper, trains
from reprise.records.record import REMEDY
from reprise.records.resolved import FULL, TIERS, Resolved

_NOT_IN_TIER = "not in this tier"
_NOT_TRAINED = "not trained yet"
_NOT_RUN_YET = "not run yet"
"""Of what trains nothing: checks, and facts of a corpus."""
ABSENCES = (_NOT_IN_TIER, _NOT_TRAINED, _NOT_RUN_YET)
NOT_MEASURED = "not measured"
"""Of a replica that has finished, but whose record does not have the metric."""
REFERENCE = Path("config/reference")
_LDC_TITLE = "Characters of the Treebank-3's raw Wall Street Journal text (LDC99T42)"


@dataclass(frozen=True)
class Status:
    """How many replicas finished, diverged and are missing, of those that the tier asks for; whether they train."""

    finished: int
    diverged: int
    missing: int
    trains: bool = True

    @property
    def run(self) -> int:
        """How many replicas have a record."""
        return self.finished + self.diverged

    @property
    def wanted(self) -> int:
        """How many replicas the tier asks for."""
        return self.run + self.missing

    @property
    def absence(self) -> str:
        """What stands where a result would, when no replica has run."""
        return _NOT_IN_TIER if not self.wanted else _NOT_TRAINED if self.trains else _NOT_RUN_YET

    def absence_of(self, value: object | None) -> str:
        """Return the same where the metric may be missing: `value` is None, though replicas have finished."""
        return NOT_MEASURED if value is None and self.finished else self.absence


class Sample(dict[str, Any]):
    """A text that a model wrote, as its record has it. A key that it lacks is a damage of the record."""

    def __init__(self, content: Mapping[str, Any], origin: str) -> None:
        """Take the content of a sample, and what an error calls its record."""
        super().__init__(content)
        self.origin = origin

    def __missing__(self, key: str) -> Any:
        raise UserError(f"{self.origin}: a sample lacks the key {key!r}; {REMEDY}")


@dataclass(frozen=True)
class Context:
    """One paper at one tier; its records are read when they are first asked for.

    An experiment is named as everywhere: "<id>", or "<id>@<assumption>=<alternative>" for a variant.
    """

    project: Project
    tier: str
    paper_id: str
    paper: Paper
    experiments: list[Resolved]
    datasets: Mapping[str, Dataset]
    claims: Mapping[str, Decision]
    in_full: Mapping[str, Decision]
    """At another tier than the paper's the claims as they were judged there, so that no reduced number stands alone."""
    papers: Mapping[str, Context] = field(repr=False, compare=False)
    """All contexts of the tier by paper, this one too, for displays that cite another paper's experiments."""
    known: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    """What displays worked out of the records, by what it is: a number that many show is worked out once."""

    @property
    def file(self) -> Path:
        """The paper's file."""
        return self.project.root / PAPERS / f"{self.paper_id}.yaml"

    def display(self, display_id: str) -> Display:
        """Return the entry of a figure or table."""
        return {**self.paper.tables, **self.paper.figures}[display_id]

    def of_experiments(self, display_id: str) -> bool:
        """Whether experiments stand in this figure or table, and not the paper's claims, choices or arithmetic."""
        return draws(self.display(display_id).function).of_experiments

    def option_key(self, display_id: str, option: str) -> str:
        """Return what a line on a mistake in an option begins with: "file: key figures.figure-1.options.smooth"."""
        kind = "figures" if display_id in self.paper.figures else "tables"
        return f"{self.file}: key {kind}.{display_id}.options.{option}"

    def cited_by(self, display_id: str) -> list[str]:
        """Experiments that stand in this figure or table, in file order, whether or not the tier has them."""
        return [name for name, e in self.paper.experiments.items() if display_id in e.cited_by]

    def original(self, name: str) -> pd.DataFrame:
        """Return a file of config/reference: numbers or curves that a paper's author published."""
        path = self.project.root / REFERENCE / name
        if not path.is_file():
            raise UserError(f"{path}: no such file; it is part of the repository: restore it")
        return pd.read_csv(path)

    def resolved(self, experiment: str) -> Resolved | None:
        """Return the experiment as this tier runs it; None where it does not."""
        return self._resolved_by_name.get(experiment)

    @cached_property
    def _resolved_by_name(self) -> dict[str, Resolved]:
        return {e.experiment: e for e in self.experiments}

    def entry(self, experiment: str) -> Experiment:
        """Return the experiment's entry in the paper's file; a variant's is that of its experiment."""
        return self.paper.experiments[experiment.partition("@")[0]]

    def title(self, experiment: str) -> str:
        """Return the title of an experiment; a variant has that of its experiment."""
        return self.entry(experiment).title

    def setting(self, experiment: str, name: str) -> Any:
        """Return a setting by its dotted name ("data.length"): the tier's value, else that of the paper's file."""
        section, option = name.split(".")
        if resolved := self.resolved(experiment):
            return resolved.config[section]["options"].get(option)
        stated = getattr(self.entry(experiment), section)
        choice = stated.settings.get(option) if stated else None
        return choice.value if choice else None

    @cached_property
    def runs(self) -> dict[str, Runs]:
        """Every experiment and variant of the tier by its name, with the replicas that ended or diverged.

        A replica that ended counts as finished whatever its numbers: an infinite perplexity makes a mean infinite.
        """
        runs = load_paper(self.project, self.paper_id, self.experiments)
        return {e.experiment: _with_all_numbers(runs[e.experiment]) for e in self.experiments}

    @cached_property
    def table(self) -> Table:
        """The same for measuring: what a family says of its members is worked out once."""
        return Table(self.runs)

    def replicas(self, experiment: str, status: str | None = None) -> list[Replica]:
        """List the replicas of one experiment or variant: all of them, those that "finished" or that "diverged"."""
        runs = self.runs.get(experiment)
        replicas = runs.replicas if runs else []
        return [r for r in replicas if status is None or r.finished is (status == "finished")]

    def by_fold(self, experiment: str, metric: str, split: str = "test") -> pd.Series:
        """Collect the metric of every finished replica, by its number; empty where there is none."""
        replicas = self.replicas(experiment, "finished")
        numbers = {r.number: r.metrics[metric, split] for r in replicas if (metric, split) in r.metrics}
        return pd.Series(numbers, dtype=float)

    def values(self, experiment: str, metric: str, split: str) -> np.ndarray:
        """Collect the same as an array, in the order of replicas."""
        return self.by_fold(experiment, metric, split).to_numpy(dtype=float)

    def curves(self, experiment: str) -> Iterator[tuple[Replica, Curve]]:
        """Go through the curves of one experiment or variant, replica by replica."""
        return ((replica, curve) for replica in self.replicas(experiment) for curve in replica.curves)

    def points(self, experiment: str, metric: str, split: str, status: str = "finished") -> pd.DataFrame:
        """Collect the curves of all replicas of one status: index x, a column a replica, NaN after its end."""
        columns = {
            replica.number: pd.Series(curve.y, index=curve.x, dtype=float)
            for replica in self.replicas(experiment, status)
            for curve in replica.curves
            if (curve.metric, curve.split) == (metric, split)
        }
        made = pd.DataFrame(columns, index=None if columns else pd.Index([], dtype=float), dtype=float)
        return made.rename_axis(index="x", columns="replica").sort_index()

    def samples(self, experiment: str, replica: int | None = 0) -> list[Sample]:
        """List the texts that a finished replica wrote, or all of them one after another (None), with its number."""
        return [
            Sample({"replica": r.number, **sample}, f"record {r.number} of {self.paper_id}/{experiment}")
            for r in self.replicas(experiment, "finished")
            if replica in (None, r.number)
            for sample in r.samples
        ]

    def status(self, experiment: str) -> Status:
        """Count the replicas of an experiment or variant by what became of them."""
        finished, run = (len(self.replicas(experiment, status)) for status in ("finished", None))
        resolved = self.resolved(experiment)
        wanted = resolved.replicas if resolved else 0
        return Status(finished, run - finished, max(0, wanted - run), resolved is None or trains(resolved))

    def total(self, experiments: Iterable[str]) -> Status:
        """Return the status of several experiments together."""
        states = [self.status(experiment) for experiment in experiments]
        counts = (sum(getattr(state, key) for state in states) for key in ("finished", "diverged", "missing"))
        return Status(*counts, trains=any(state.trains for state in states))

    def reported(self, experiment: str, metric: str, split: str) -> Reported | None:
        """Return what the paper gives for this number; its value is None where the paper says that there is none."""
        matching = (e for e in self.entry(experiment).reported if (e.metric, e.split) == (metric, split))
        return next(matching, None)

    def printed(self, experiment: str, metric: str, split: str) -> float | None:
        """Return the paper's number; None where it gives none."""
        reported = self.reported(experiment, metric, split)
        return None if reported is None or reported.value is None else float(reported.value)

    def unit(self, metric: str, split: str) -> str:
        """Return the unit of a metric in our records; "" where none has it."""
        return self.units.get((metric, split), "")

    @cached_property
    def units(self) -> dict[Quantity, str]:
        """The unit of every metric that a finished replica has."""
        units: dict[Quantity, str] = {}
        for name in self.runs:
            for replica in self.replicas(name, "finished"):
                for quantity, unit in replica.units.items():
                    units.setdefault(quantity, unit)
        return units

    def replaced_dataset(self, experiment: str) -> str | None:
        """Return the dataset that this tier trains on in place of the paper's, if it does."""
        return self.runs[experiment].replaced_dataset if experiment in self.runs else None


def _with_all_numbers(runs: Runs) -> Runs:
    return replace(runs, replicas=[replace(replica, finished=replica.ended) for replica in runs.replicas])


def load_contexts(project: Project, experiments: list[Resolved]) -> dict[str, Context]:
    """Make the contexts of the project's tier, by paper; without claims where `reprise verify` did not run.

    Raises:
        UserError: claims.json is damaged. A damaged record is refused when its paper's records are read.
    """
    tier = project.config.tier
    claims = read_claims(project.root, tier)
    in_full = {} if tier == FULL else read_claims(project.root, FULL)
    datasets = dict(project.config.datasets)
    for name, dataset in datasets.items():
        if project.config.ldc_wsj and dataset.prepare == ldc_wsj.REPLACES:  # the raw text takes the place of Mikolov's
            datasets[name] = dataset.model_copy(update={"title": _LDC_TITLE, "prepare": "ldc_wsj"})
    contexts: dict[str, Context] = {}
    for name, paper in project.papers.items():
        contexts[name] = Context(
            project=project,
            tier=tier,
            paper_id=name,
            paper=paper,
            experiments=[e for e in experiments if e.paper == name],
            datasets=datasets,
            claims=claims.get(name, {}),
            in_full=in_full.get(name, {}),
            papers=contexts,
        )
    return contexts


def every_tier(project: Project) -> dict[str, dict[str, Context]]:
    """Make the contexts of every tier that was collected, the fullest first; the project's own in any case.

    Raises:
        UserError: As of `load_contexts`.
    """
    contexts, experiments = {}, resolve_all(project)
    for tier in reversed(TIERS):
        if tier == project.config.tier or (project.root / "results" / tier / "metrics.csv").is_file():
            at_tier = replace(project, config=project.config.model_copy(update={"tier": tier}))
            contexts[tier] = load_contexts(at_tier, [e for e in experiments if e.tier == tier])
    return contexts
