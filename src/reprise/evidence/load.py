"""Load run records and evaluation records as the runs that claims, tables and figures read."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import accumulate
from typing import Any

from reprise.config.project import Project
from reprise.config.schema import Experiment, Paper
from reprise.evidence.bleu import list_different_translations
from reprise.evidence.numbers import list_loss_rows, list_numbers
from reprise.evidence.runs import Curve, Provenance, Quantity, Replica, Runs
from reprise.records.evaluation import BANDS, read_evaluations
from reprise.records.record import read_records
from reprise.records.resolved import Resolved
from reprise.units import derive_metrics


def load_runs(project: Project, experiments: Iterable[Resolved]) -> dict[str, dict[str, Runs]]:
    """Load every experiment of the papers and every variant of one, by paper and name; the records are checked.

    What the tier does not run has neither a configuration nor replicas. A claim about a point of a curve asks for
    "<metric>@<step>", or "<metric>@epoch=<epoch>" on another axis: replicas have it among their metrics.

    Raises:
        UserError: A record is damaged, see `reprise.records.record.read_record`.
    """
    experiments = list(experiments)
    return {name: load_paper(project, name, [e for e in experiments if e.paper == name]) for name in project.papers}


def load_paper(project: Project, paper_id: str, experiments: Iterable[Resolved]) -> dict[str, Runs]:
    """Load the runs of one paper, of which these are the experiments of the tier. See `load_runs`."""
    # What a tier leaves out nobody could run at it either, where its data cannot be had.
    reasons = {name: dataset.unavailable or "" for name, dataset in project.config.datasets.items()}
    paper = project.papers[paper_id]
    points, digits = _list_points(paper), find_last_digits(paper)
    runs = {}
    for name, base, alternative in (*((name, name, None) for name in paper.experiments), *paper.list_variants()):
        entry = paper.experiments[base]
        unavailable = reasons.get(entry.data.dataset, "") if entry.data else ""
        title = name_run(entry, alternative)
        runs[name] = Runs(name, title, None, entry, unavailable=unavailable, digits=digits[base])
    for resolved in experiments:
        replicas = [make_replica(record, points) for record in read_records(resolved, project.root)]
        evaluations = [make_evaluated_replica(evaluation) for evaluation in read_evaluations(resolved, project.root)]
        unavailable = "" if resolved.is_check else reasons.get(resolved.config["data"]["dataset"], "")
        runs[resolved.experiment] = replace(
            runs[resolved.experiment],
            resolved=resolved,
            replicas=replicas,
            unavailable=unavailable,
            evaluations=evaluations,
        )
    return runs


def name_run(entry: Experiment, alternative: str | None) -> str:
    """Return the title of an experiment, with the alternative under which it was run."""
    return f"{entry.title} ({alternative})" if alternative else entry.title


def find_last_digits(paper: Paper) -> dict[str, dict[Quantity, float]]:
    """Return the place of the last printed digit of every reported number, by experiment.

    All rows of a column have the decimals of its longest number, since YAML leaves out zeros at the end.
    """
    decimals: dict[tuple[str, str, str], int] = {}
    for entry in paper.experiments.values():
        for r in (r for r in entry.reported if r.value is not None):
            key = r.metric, r.split, r.origin
            decimals[key] = max(decimals.get(key, 0), -Decimal(str(r.value)).as_tuple().exponent)
    return {
        name: {
            (r.metric, r.split): 10.0 ** -decimals[r.metric, r.split, r.origin]
            for r in entry.reported
            if r.value is not None
        }
        for name, entry in paper.experiments.items()
    }


def _list_points(paper: Paper) -> set[str]:
    """Return the points of curves, "words_in_book@750", that its claims are about."""
    terms = (term for claim in paper.claims.values() for _, term in claim.list_sides())
    return {term.metric for term in terms if "@" in (term.metric or "")}


def _select_points(record: dict[str, Any], points: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield a row like those of the metrics for each of the points that the record's curves have."""
    for curve in record["curves"]:
        axis = "" if curve["axis"] == "step" else f"{curve['axis']}="
        for x, y in zip(curve["x"], curve["y"], strict=True) if points else ():
            if (metric := f"{curve['metric']}@{axis}{x:.12g}") in points:
                yield {"metric": metric, "split": curve["split"], "value": y, "unit": curve["unit"], "n": None}


DIVERGED_EPOCH = ("diverged_epoch", "train")
"""The metric of a training that stopped at a loss that is not finite, and whose best epoch was tested."""
TIME, VALIDATION_LOSS = ("epoch", "step"), ("cross_entropy", "valid")
"""The axes of a training's curves, and the curve that shows whether it became unstable."""


def make_replica(record: Mapping[str, Any], points: Collection[str] = ()) -> Replica:
    """Make the replica of a run record, with these points of its curves among its metrics (see `load_runs`)."""
    rows = [*list_numbers(record), *_select_points(record, points), *list_different_translations(record)]
    ended = record["status"] == "finished"
    losses = (c["y"] for c in record["curves"] if c["axis"] in TIME and (c["metric"], c["split"]) == VALIDATION_LOSS)
    return Replica(
        number=record["replica"],
        fold=record["fold"],
        finished=ended and all(math.isfinite(row["value"]) for row in rows),
        **_index_rows(rows),
        best=_find_largest_points(record["curves"]),
        rise=max(compute_rises(next(losses, ())), default=None),
        made=_make_provenance(record["run"], record["parameters"]),
        curves=[Curve(c["metric"], c["split"], c["axis"], c["unit"], c["x"], c["y"]) for c in record["curves"]],
        samples=record["samples"],
        ended=ended,
    )


def _find_largest_points(curves: Collection[Mapping[str, Any]]) -> dict[Quantity, float]:
    """Return the largest value of each metric and split on its curves, over whatever axis."""
    largest: dict[Quantity, float] = {}
    for curve in curves:
        if curve["y"]:
            key = curve["metric"], curve["split"]
            largest[key] = max(largest.get(key, -math.inf), *curve["y"])
    return largest


def make_evaluated_replica(evaluation: Mapping[str, Any]) -> Replica:
    """Make the replica of an evaluation record: what was measured again, and losses by counts of words."""
    metrics = evaluation["metrics"]
    measured = (row for metric in metrics for row in (metric, *derive_metrics(metric, metrics)))
    return Replica(
        number=evaluation["replica"],
        fold=None,
        finished=True,
        **_index_rows([*measured, *list_loss_rows(evaluation, BANDS)]),
        made=_make_provenance(evaluation["run"], parameters=None),
    )


def _index_rows(rows: Collection[Mapping[str, Any]]) -> dict[str, dict[Quantity, Any]]:
    """Return value, unit and number of each metric and split, under the names of `Replica`'s fields."""
    fields = {"metrics": "value", "units": "unit", "sizes": "n"}
    return {field: {(row["metric"], row["split"]): row[key] for row in rows} for field, key in fields.items()}


def _make_provenance(run: Mapping[str, Any], parameters: int | None) -> Provenance:
    sources = run.get("sources", {})
    return Provenance(run["engine"], run["device"], run["wall_seconds"], parameters, run.get("code"), sources)


def compute_rises(losses: Sequence[float]) -> list[float]:
    """Return by how much each loss lies above the lowest so far."""
    return [loss - lowest for loss, lowest in zip(losses, accumulate(losses, min), strict=True)]
