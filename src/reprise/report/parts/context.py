"""What a figure or table may read: one paper, its experiments at a tier, and what was collected of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reprise.catalogue.displays import draws
from reprise.config import ldc_wsj
from reprise.config.project import PAPERS, Project
from reprise.config.resolve import resolve_tier
from reprise.config.schema import Dataset, Display, Experiment, Paper, Reported
from reprise.errors import UserError
from reprise.evidence.collect import complete
from reprise.evidence.decisions import Decision, read_claims
from reprise.evidence.runs import TIME, VALIDATION_LOSS, Replica, Runs, largest_rise, name_run, trains
from reprise.records.resolved import FULL, TIERS, Resolved
from reprise.report.parts.collected import CURVE_COLUMNS, read_collected, read_metrics, read_samples

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
        return self.finished + self.diverged

    @property
    def wanted(self) -> int:
        return self.run + self.missing

    @property
    def absence(self) -> str:
        """What stands where a result would, when no replica has run."""
        return _NOT_IN_TIER if not self.wanted else _NOT_TRAINED if self.trains else _NOT_RUN_YET

    def absence_of(self, value: object | None) -> str:
        """The same where it may be the metric that is missing: `value` is None, though replicas have finished."""
        return NOT_MEASURED if value is None and self.finished else self.absence


@dataclass(frozen=True)
class Context:
    """One paper at one tier.

    An experiment is named as everywhere: "<id>", or "<id>@<assumption>=<alternative>" for a variant.
    `metrics` and `curves` hold the rows of this paper alone: its finished and diverged replicas, as they are
    configured now.
    """

    tier: str
    paper_id: str
    paper: Paper
    experiments: list[Resolved]
    metrics: pd.DataFrame
    curves: pd.DataFrame
    reference: Path
    file: str
    datasets: Mapping[str, Dataset]
    claims: Mapping[str, Decision]
    in_full: Mapping[str, Decision]
    """At another tier than the paper's the claims as they were judged there, so that no reduced number stands alone."""
    folder: Path  # what was collected, results/<tier>
    papers: Mapping[str, Context] = field(repr=False, compare=False)
    """All contexts of the tier by paper, this one too, for displays that cite another paper's experiments."""

    def display(self, display_id: str) -> Display:
        return {**self.paper.tables, **self.paper.figures}[display_id]

    def of_experiments(self, display_id: str) -> bool:
        """Whether experiments stand in this figure or table, and not the paper's claims, choices or arithmetic."""
        return draws(self.display(display_id).function).of_experiments

    def option_key(self, display_id: str, option: str) -> str:
        """What a line on a mistake in an option begins with: "file: key figures.figure-1.options.smooth"."""
        kind = "figures" if display_id in self.paper.figures else "tables"
        return f"{self.file}: key {kind}.{display_id}.options.{option}"

    def cited_by(self, display_id: str) -> list[str]:
        """Experiments that stand in this figure or table, in file order, whether or not the tier has them."""
        return [name for name, e in self.paper.experiments.items() if display_id in e.cited_by]

    def original(self, name: str) -> pd.DataFrame:
        """A file of config/reference: numbers or curves that a paper's author published."""
        path = self.reference / name
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
        """The experiment's entry in the paper's file; a variant's is that of its experiment."""
        return self.paper.experiments[experiment.partition("@")[0]]

    def title(self, experiment: str) -> str:
        return self.entry(experiment).title

    def setting(self, experiment: str, name: str) -> Any:
        """A setting by its dotted name ("data.length"): the tier's value, else that of the paper's file."""
        section, option = name.split(".")
        if resolved := self.resolved(experiment):
            return resolved.config[section]["options"].get(option)
        stated = getattr(self.entry(experiment), section)
        found = stated.settings.get(option) if stated else None
        return found.value if found else None

    def by_fold(self, experiment: str, metric: str, split: str = "test") -> pd.Series:
        """Collect the metric of every finished replica, by its number; empty where there is none."""
        runs = self.runs.get(experiment)
        numbers = (
            {r.number: r.metrics[metric, split] for r in runs.finished if (metric, split) in r.metrics} if runs else {}
        )
        return pd.Series(numbers, dtype=float).sort_index()

    def values(self, experiment: str, metric: str, split: str) -> np.ndarray:
        """Collect the same as an array, in the order of replicas."""
        return self.by_fold(experiment, metric, split).to_numpy(dtype=float)

    def rows(self, experiment: str) -> pd.DataFrame:
        """Return the rows of metrics.csv of one experiment or variant."""
        return self._metrics_by_experiment.get(experiment, self.metrics.iloc[:0])

    def curve_rows(self, experiment: str) -> pd.DataFrame:
        """Return the rows of curves.csv.gz of one experiment or variant."""
        return self._curves_by_experiment.get(experiment, self.curves.iloc[:0])

    @cached_property
    def _metrics_by_experiment(self) -> dict[str, pd.DataFrame]:
        return _by_experiment(self.metrics)

    @cached_property
    def _curves_by_experiment(self) -> dict[str, pd.DataFrame]:
        return _by_experiment(self.curves)

    @cached_property
    def runs(self) -> dict[str, Runs]:
        """Every experiment and variant of the tier by its name, with its replicas."""
        made = {}
        for e in self.experiments:
            entry, rows = self.paper.experiments[e.base], self.rows(e.experiment)
            replicas = _replicas(rows, _rises(self.curve_rows(e.experiment)))
            made[e.experiment] = Runs(e.experiment, name_run(entry, e.alternative), e, entry, replicas)
        return made

    def points(self, experiment: str, metric: str, split: str, status: str = "finished") -> pd.DataFrame:
        """The curves of all replicas of one status: index x, a column a replica, NaN after its end."""
        rows = self.curve_rows(experiment)
        rows = rows[(rows.status == status) & (rows.metric == metric) & (rows.split == split)]
        return rows.pivot(index="x", columns="replica", values="value").sort_index()

    def samples(self, experiment: str, replica: int | None = 0) -> list[dict[str, Any]]:
        """The texts that a finished replica wrote, or all of them one after another (None), as in their records.

        Errors: `UserError` where samples.jsonl is missing or damaged.
        """
        base, _, variant = experiment.partition("@")
        of = {"paper": self.paper_id, "experiment": base, "variant": variant, "status": "finished"}
        of |= {} if replica is None else {"replica": replica}
        found = (s for s in read_samples(self.folder / "samples.jsonl", self.tier) if of.items() <= s.items())
        return sorted(found, key=lambda sample: sample["replica"])

    def status(self, experiment: str) -> Status:
        """Count the replicas of an experiment or variant by what became of them."""
        counts = Counter(dict(zip(*map(self.rows(experiment).get, ("replica", "status")), strict=True)).values())
        finished, diverged = counts["finished"], counts["diverged"]
        resolved = self.resolved(experiment)
        wanted = resolved.replicas if resolved else 0
        return Status(finished, diverged, max(0, wanted - finished - diverged), resolved is None or trains(resolved))

    def total(self, experiments: Iterable[str]) -> Status:
        """The status of several experiments together."""
        states = [self.status(experiment) for experiment in experiments]
        counts = (sum(getattr(state, key) for state in states) for key in ("finished", "diverged", "missing"))
        return Status(*counts, trains=any(state.trains for state in states))

    def reported(self, experiment: str, metric: str, split: str) -> Reported | None:
        """What the paper gives for this number; its value is None where the paper says that there is none."""
        there = (e for e in self.entry(experiment).reported if (e.metric, e.split) == (metric, split))
        return next(there, None)

    def printed(self, experiment: str, metric: str, split: str) -> float | None:
        """The paper's number; None where it gives none."""
        found = self.reported(experiment, metric, split)
        return None if found is None or found.value is None else float(found.value)

    def unit(self, metric: str, split: str) -> str:
        """The unit of a metric in our records; "" where none has it."""
        rows = self.metrics[(self.metrics.metric == metric) & (self.metrics.split == split)]
        return rows.unit.iloc[0] if len(rows) else ""

    def replaced_dataset(self, experiment: str) -> str | None:
        """The dataset that this tier trains on in place of the paper's, if it does."""
        return self.runs[experiment].replaced_dataset if experiment in self.runs else None


def _by_experiment(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Split rows by the name of their experiment or variant, once for all questions."""
    groups = rows.groupby(["experiment", "variant"], sort=False)
    return {f"{base}@{variant}" if variant else base: of for (base, variant), of in groups}


def _replicas(rows: pd.DataFrame, rises: Mapping[int, float | None]) -> list[Replica]:
    """Read the replicas of one experiment from its rows of metrics.csv, with units and sizes."""
    made: dict[int, Replica] = {}
    columns = (rows[c].tolist() for c in ("replica", "fold", "status", "metric", "split", "value", "unit", "n"))
    for number, fold, status, metric, split, value, unit, n in zip(*columns, strict=True):
        finished = status == "finished"
        replica = made.setdefault(number, Replica(number, fold or None, finished, {}, rise=rises.get(number)))
        if finished:
            replica.metrics[metric, split] = value
            replica.units[metric, split] = unit
            replica.sizes[metric, split] = None if n is pd.NA else n
    return [made[number] for number in sorted(made)]


def _rises(curves: pd.DataFrame) -> dict[int, float | None]:
    """Return by how much each replica's validation loss rose, at most."""
    metric, split = VALIDATION_LOSS
    losses = curves[(curves.metric == metric) & (curves.split == split) & curves.axis.isin(TIME)]
    groups = losses.sort_values("x", kind="stable").groupby("replica")
    return {replica: largest_rise(of["value"].tolist()) for replica, of in groups}


def load_contexts(project: Project, experiments: list[Resolved]) -> dict[str, Context]:
    """Load what was collected for the project's tier, by paper; no claims where `reprise verify` did not run.

    What a clone lacks of it is collected first.

    Errors: `UserError` where metrics.csv or curves.csv.gz is missing, empty, damaged or lacks a column, and where
    claims.json is damaged.
    """
    tier = project.config.tier
    folder = project.root / "results" / tier
    complete(project, experiments)
    metrics = read_metrics(folder, tier)
    curves = read_collected(folder / "curves.csv.gz", CURVE_COLUMNS, tier)
    claims = read_claims(project.root, tier)
    in_full = {} if tier == FULL else read_claims(project.root, FULL)
    datasets = dict(project.config.datasets)
    for name, dataset in datasets.items():
        if project.config.ldc_wsj and dataset.prepare == ldc_wsj.REPLACES:  # the raw text takes the place of Mikolov's
            datasets[name] = dataset.model_copy(update={"title": _LDC_TITLE, "prepare": "ldc_wsj"})
    found: dict[str, Context] = {}
    for name, paper in project.papers.items():
        found[name] = Context(
            tier=tier,
            paper_id=name,
            paper=paper,
            experiments=[e for e in experiments if e.paper == name],
            metrics=metrics[metrics.paper == name].reset_index(drop=True),
            curves=curves[curves.paper == name].reset_index(drop=True),
            reference=project.root / REFERENCE,
            file=str(project.root / PAPERS / f"{name}.yaml"),
            datasets=datasets,
            claims=claims.get(name, {}),
            in_full=in_full.get(name, {}),
            folder=folder,
            papers=found,
        )
    return found


def every_tier(project: Project) -> dict[str, dict[str, Context]]:
    """The contexts of every tier whose metrics were collected, the fullest first; the project's own in any case.

    Errors: `UserError` as of `load_contexts`.
    """
    found = {}
    for tier in reversed(TIERS):
        if tier == project.config.tier or (project.root / "results" / tier / "metrics.csv").is_file():
            there = replace(project, config=project.config.model_copy(update={"tier": tier}))
            found[tier] = load_contexts(there, resolve_tier(there))
    return found
