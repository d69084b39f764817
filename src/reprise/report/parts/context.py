"""Give figures and tables what they may read: one paper, its experiments at a tier, and their run records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reprise.catalogue.displays import find_scope
from reprise.config import ldc_wsj
from reprise.config.claim_checks import check_measured
from reprise.config.project import PAPERS, Project
from reprise.config.resolve import resolve_all
from reprise.config.schema import Dataset, Display, Experiment, Paper, Reported
from reprise.errors import UserError
from reprise.evidence.decisions import Decision, read_claims
from reprise.evidence.load import load_paper
from reprise.evidence.readings import Distance, rank_readings
from reprise.evidence.runs import Curve, Quantity, Replica, Runs, Table, trains
from reprise.records.record import REMEDY
from reprise.records.resolved import FULL, TIERS, Resolved

_NOT_IN_TIER = "not in this tier"
_NOT_TRAINED = "not trained yet"
_NOT_RUN = "not run yet"
"""For experiments without training: checks, and facts of a corpus."""
ABSENCES = (_NOT_IN_TIER, _NOT_TRAINED, _NOT_RUN)
NOT_MEASURED = "not measured"
"""For a finished replica whose record lacks the metric."""
DIVERGED = "diverged"
"""For experiments of which every replica that ran diverged."""
REFERENCE_FOLDER = Path("config/reference")
_LDC_TITLE = "Characters of the Treebank-3's raw Wall Street Journal text (LDC99T42)"


@dataclass(frozen=True)
class Status:
    """Count the replicas of experiments that finished, diverged and are missing."""

    finished: int
    diverged: int
    missing: int
    is_trained: bool = True

    @property
    def recorded(self) -> int:
        """Return the number of replicas with a record."""
        return self.finished + self.diverged

    @property
    def planned(self) -> int:
        """Return the number of replicas that the tier asks for."""
        return self.recorded + self.missing

    @property
    def missing_reason(self) -> str:
        """Return the text that replaces a result if no replica has run."""
        return _NOT_IN_TIER if not self.planned else _NOT_TRAINED if self.is_trained else _NOT_RUN

    def explain_missing_value(self, value: object | None) -> str:
        """Return the text that replaces a result; `value` is None if no replica has the metric."""
        if value is None and self.recorded:
            return NOT_MEASURED if self.finished else DIVERGED
        return self.missing_reason


class Sample(dict[str, Any]):
    """Hold a text that a model wrote, as its record has it; a missing key means a damaged record."""

    def __init__(self, content: Mapping[str, Any], origin: str) -> None:
        """Take the content of a sample, and the name of its record for error messages."""
        super().__init__(content)
        self.origin = origin

    def __missing__(self, key: str) -> Any:
        raise UserError(f"{self.origin}: a sample lacks the key {key!r}; {REMEDY}")


@dataclass(frozen=True)
class Context:
    """Hold one paper at one tier; its records are read when they are first needed.

    Experiments are named as everywhere: "<id>", or "<id>@<assumption>=<alternative>" for a variant.

    Attributes:
        project: The clone.
        tier: The tier.
        paper_id: The id of the paper.
        paper: The content of the paper's file.
        experiments: The experiments and variants that the tier runs.
        datasets: All datasets, by name.
        claims: The decisions of the tier, by claim.
        full_tier_claims: The decisions of the paper's own tier; empty at that tier.
        papers: The contexts of all papers at this tier, for displays that cite another paper's experiments.
        cache: Results that several displays share, so that each is computed once.
    """

    project: Project
    tier: str
    paper_id: str
    paper: Paper
    experiments: list[Resolved]
    datasets: Mapping[str, Dataset]
    claims: Mapping[str, Decision]
    full_tier_claims: Mapping[str, Decision]
    papers: Mapping[str, Context] = field(repr=False, compare=False)
    cache: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def path(self) -> Path:
        """Return the path of the paper's file."""
        return self.project.root / PAPERS / f"{self.paper_id}.yaml"

    def get_display(self, display_id: str) -> Display:
        """Return the entry of a figure or table."""
        return {**self.paper.tables, **self.paper.figures}[display_id]

    def has_experiments(self, display_id: str) -> bool:
        """Return whether a figure or table shows experiments, not the paper's claims, choices or arithmetic."""
        return find_scope(self.get_display(display_id).function).has_experiments

    def name_option(self, display_id: str, option: str) -> str:
        """Return the beginning of an error message about an option: "file: key figures.figure-1.options.smooth"."""
        kind = "figures" if display_id in self.paper.figures else "tables"
        return f"{self.path}: key {kind}.{display_id}.options.{option}"

    def list_cited_experiments(self, display_id: str) -> list[str]:
        """List the experiments of a figure or table, in file order, whether or not the tier runs them."""
        return [name for name, e in self.paper.experiments.items() if display_id in e.cited_by]

    def read_reference(self, name: str) -> pd.DataFrame:
        """Read a file of config/reference: numbers or curves that a paper's author published."""
        path = self.project.root / REFERENCE_FOLDER / name
        if not path.is_file():
            raise UserError(f"{path}: no such file; it is part of the repository: restore it")
        return pd.read_csv(path)

    def get_resolved(self, experiment: str) -> Resolved | None:
        """Return the experiment as this tier runs it; None if it does not."""
        return self._resolved_by_name.get(experiment)

    @cached_property
    def _resolved_by_name(self) -> dict[str, Resolved]:
        return {e.experiment: e for e in self.experiments}

    def get_entry(self, experiment: str) -> Experiment:
        """Return the experiment's entry in the paper's file; for a variant, that of its experiment."""
        return self.paper.experiments[experiment.partition("@")[0]]

    def get_title(self, experiment: str) -> str:
        """Return the title of an experiment; for a variant, that of its experiment."""
        return self.get_entry(experiment).title

    def get_setting(self, experiment: str, name: str) -> Any:
        """Return a setting by its dotted name ("data.length"): the tier's value, else that of the paper's file."""
        section, option = name.split(".")
        if resolved := self.get_resolved(experiment):
            return resolved.config[section]["options"].get(option)
        section_entry = getattr(self.get_entry(experiment), section)
        choice = section_entry.settings.get(option) if section_entry else None
        return choice.value if choice else None

    @cached_property
    def runs(self) -> dict[str, Runs]:
        """Read every experiment and variant of the tier, by name, with the replicas that ended or diverged.

        A replica that ended counts as finished whatever its numbers: an infinite perplexity makes a mean infinite.
        """
        runs = load_paper(self.project, self.paper_id, self.experiments)
        return {e.experiment: _treat_ended_as_finished(runs[e.experiment]) for e in self.experiments}

    @cached_property
    def measured_runs(self) -> Table:
        """Return the same runs for measuring; the variance of a family is computed once."""
        return Table(self.runs)

    @cached_property
    def readings(self) -> list[Distance]:
        """Rank the readings of the paper by their distance from its numbers; page, tables and README show them."""
        return rank_readings(self.paper, self.runs)

    def list_replicas(self, experiment: str, status: str | None = None) -> list[Replica]:
        """List the replicas of an experiment or variant; all, or only those "finished" or "diverged"."""
        runs = self.runs.get(experiment)
        replicas = runs.replicas if runs else []
        return [r for r in replicas if status is None or r.finished is (status == "finished")]

    def get_values_by_replica(self, experiment: str, metric: str, split: str = "test") -> pd.Series:
        """Return a metric of every finished replica, by replica number; empty without any."""
        replicas = self.list_replicas(experiment, "finished")
        numbers = {r.number: r.metrics[metric, split] for r in replicas if (metric, split) in r.metrics}
        if replicas and not numbers:
            check_measured(self.get_entry(experiment), metric, split, experiment)
        return pd.Series(numbers, dtype=float)

    def get_values(self, experiment: str, metric: str, split: str) -> np.ndarray:
        """Return a metric of every finished replica as an array, in the order of replicas."""
        return self.get_values_by_replica(experiment, metric, split).to_numpy(dtype=float)

    def iterate_curves(self, experiment: str) -> Iterator[tuple[Replica, Curve]]:
        """Iterate over the curves of an experiment or variant, replica by replica."""
        return ((replica, curve) for replica in self.list_replicas(experiment) for curve in replica.curves)

    def get_curve_points(self, experiment: str, metric: str, split: str, status: str = "finished") -> pd.DataFrame:
        """Return the curves of all replicas of one status as a table.

        The index is x; each column is a replica, with NaN after its end.

        Raises:
            ValueError: The metric has curves over several axes.
        """
        curves = [
            (replica.number, curve)
            for replica in self.list_replicas(experiment, status)
            for curve in replica.curves
            if (curve.metric, curve.split) == (metric, split)
        ]
        if not curves and self.list_replicas(experiment, status):
            check_measured(self.get_entry(experiment), metric, split, experiment)
        if len(axes := {curve.axis for _, curve in curves}) > 1:
            raise ValueError(f"{experiment}: {metric} of {split} has curves over {', '.join(sorted(axes))}")
        columns = {number: pd.Series(curve.y, index=curve.x, dtype=float) for number, curve in curves}
        points = pd.DataFrame(columns, index=None if columns else pd.Index([], dtype=float), dtype=float)
        return points.rename_axis(index="x", columns="replica").sort_index()

    def list_samples(self, experiment: str, replica: int | None = 0) -> list[Sample]:
        """List the texts that a finished replica wrote, with its number; those of all replicas if it is None."""
        return [
            Sample({"replica": r.number, **sample}, f"record {r.number} of {self.paper_id}/{experiment}")
            for r in self.list_replicas(experiment, "finished")
            if replica in (None, r.number)
            for sample in r.samples
        ]

    def get_status(self, experiment: str) -> Status:
        """Count the replicas of an experiment or variant by status."""
        finished = len(self.list_replicas(experiment, "finished"))
        recorded = len(self.list_replicas(experiment))
        resolved = self.get_resolved(experiment)
        replicas = resolved.replicas if resolved else 0
        return Status(finished, recorded - finished, max(0, replicas - recorded), resolved is None or trains(resolved))

    def sum_status(self, experiments: Iterable[str]) -> Status:
        """Sum the counts of several experiments."""
        statuses = [self.get_status(experiment) for experiment in experiments]
        counts = (sum(getattr(status, name) for status in statuses) for name in ("finished", "diverged", "missing"))
        return Status(*counts, is_trained=any(status.is_trained for status in statuses))

    def find_reported(self, experiment: str, metric: str, split: str) -> Reported | None:
        """Return the paper's entry for a metric, whose value is None where the paper leaves it out."""
        return self.get_entry(experiment).find_reported(metric, split)

    def get_printed(self, experiment: str, metric: str, split: str) -> float | None:
        """Return the paper's number; None if it gives none."""
        return self.get_entry(experiment).get_printed(metric, split)

    def get_unit(self, metric: str, split: str) -> str:
        """Return the unit of a metric in our records; "" if no record has it."""
        return self.units.get((metric, split), "")

    @cached_property
    def units(self) -> dict[Quantity, str]:
        """Return the unit of every metric of a finished replica."""
        units: dict[Quantity, str] = {}
        for name in self.runs:
            for replica in self.list_replicas(name, "finished"):
                for quantity, unit in replica.units.items():
                    units.setdefault(quantity, unit)
        return units

    def find_replaced_dataset(self, experiment: str) -> str | None:
        """Return the dataset that this tier trains on in place of the paper's; None if it is the paper's."""
        return self.runs[experiment].replaced_dataset if experiment in self.runs else None


def _treat_ended_as_finished(runs: Runs) -> Runs:
    """Count every replica that ended as finished."""
    return replace(runs, replicas=[replace(replica, finished=replica.ended) for replica in runs.replicas])


def load_contexts(project: Project, experiments: list[Resolved]) -> dict[str, Context]:
    """Make the contexts of the project's tier, by paper; without claims before `reprise verify` has run.

    Raises:
        UserError: claims.json is damaged. A damaged record is refused when its paper's records are read.
    """
    tier = project.config.tier
    claims = read_claims(project.root, tier)
    full_tier_claims = {} if tier == FULL else read_claims(project.root, FULL)
    datasets = dict(project.config.datasets)
    for name, dataset in datasets.items():
        # A user's own raw text takes the place of Mikolov's.
        if project.config.ldc_wsj and dataset.prepare == ldc_wsj.REPLACED_PREPARATION:
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
            full_tier_claims=full_tier_claims.get(name, {}),
            papers=contexts,
        )
    return contexts


def load_all_tiers(project: Project) -> dict[str, dict[str, Context]]:
    """Make the contexts of every collected tier, the fullest first; always of the project's own.

    Raises:
        UserError: As for `load_contexts`.
    """
    contexts, experiments = {}, resolve_all(project)
    for tier in reversed(TIERS):
        if tier == project.config.tier or (project.root / "results" / tier / "metrics.csv").is_file():
            project_at_tier = replace(project, config=project.config.model_copy(update={"tier": tier}))
            contexts[tier] = load_contexts(project_at_tier, [e for e in experiments if e.tier == tier])
    return contexts
