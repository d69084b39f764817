"""Gather the run records of a tier: only those of the current configuration, every one of them checked.

metrics.csv     a row a metric. A replica that diverged has one row without a value. `n` is how many things
                the value is a mean over; `counted` says of means over tokens which tokens these are. Losses by
                the counts of words come from evaluations, with their device and seconds.
curves.csv.gz   the same keys plus axis and x; a row a point
samples.jsonl   a line a text that a model wrote
metrics.json    {paper: {experiment: {split.metric: {mean, std, n}}}}, for `dvc metrics`; of perplexities the
                geometric mean and the SD of the logarithm, log_std
"""

import csv
import gzip
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from reprise.catalogue.datasets import find_preparation
from reprise.catalogue.protocols import PROTOCOLS
from reprise.catalogue.wording import fill_wording
from reprise.config.project import Project
from reprise.evidence.numbers import list_loss_rows, list_numbers
from reprise.evidence.statistics import compute_mean, estimate_variance
from reprise.files import dump_json, escape_formula, write_atomically
from reprise.records.evaluation import SINGLE_BANDS, read_evaluations
from reprise.records.record import read_records
from reprise.records.resolved import Resolved
from reprise.units import INFINITE, is_ratio_scale

KEYS = ("paper", "experiment", "variant", "replica", "seed", "fold", "split", "metric", "value", "unit", "n")
KEYS += ("parameters", "device", "engine", "seconds", "status", "config_hash")
METRIC_KEYS, CURVE_KEYS = (*KEYS, "counted"), (*KEYS, "axis", "x")


UNCOMMITTED = ("curves.csv.gz", "samples.jsonl", "metrics.json")
"""Files that Git leaves out: they are made from the records in seconds."""


def collect_tier(project: Project, experiments: Iterable[Resolved]) -> tuple[int, int]:
    """Write the four files of a project's tier; see `collect`."""
    folder = project.root / "results" / project.config.tier
    preparations = {name: dataset.prepare for name, dataset in project.config.datasets.items()}
    return collect(experiments, project.root, folder, partial(describe_counted_tokens, preparations=preparations))


def collect(
    experiments: Iterable[Resolved], root: Path, folder: Path, counted: Callable[[Resolved], str] = lambda _: ""
) -> tuple[int, int]:
    """Write the four files into `folder` (results/<tier>); return how many records there are, of how many.

    `counted` says of an experiment which tokens count (`describe_counted_tokens`).

    A missing record of a run or an evaluation is left out; what stands on it is shown as not run.

    Raises:
        UserError: A record is damaged, altered, or of another configuration under the current one's name. Nothing is
            written then.
    """
    experiments = list(experiments)
    records = [(experiment, record) for experiment in experiments for record in read_records(experiment, root)]
    rows = [row for experiment, record in records for row in _list_metric_rows(experiment, record, counted)]
    rows += [row for one in experiments for row in _list_evaluation_rows(one, read_evaluations(one, root), counted)]
    curves = (row for experiment, record in records for row in _list_curve_rows(experiment, record))
    samples = [{**_make_keys(e, r), **sample} for e, r in records for sample in r["samples"]]
    lines = [json.dumps(s, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n" for s in samples]
    # All of them before the first is written: the files of a folder are of the same records.
    contents = {
        "metrics.csv": _write_csv(rows, METRIC_KEYS).encode(),
        # A fixed time and no name in the header: the same records give the same bytes.
        "curves.csv.gz": gzip.compress(_write_csv(curves, CURVE_KEYS).encode(), compresslevel=9, mtime=0),
        "samples.jsonl": "".join(lines).encode(),
        "metrics.json": dump_json(_summarise(rows)).encode(),
    }
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return len(records), sum(experiment.replicas for experiment in experiments)


def describe_counted_tokens(experiment: Resolved, preparations: Mapping[str, str]) -> str:
    """Return what a token of the experiment's text is, and which of them are predicted; "" where none is.

    `preparations` are those of the datasets.
    """
    if experiment.is_check:
        return ""
    data, training = experiment.config["data"], experiment.config["training"]
    predicted = fill_wording(PROTOCOLS[training["protocol"]].predicted, training["options"])
    tokens = fill_wording(find_preparation(preparations[data["dataset"]]).tokens, data["options"])
    return f"{tokens}; predicted: {predicted}" if predicted else ""


def is_over_tokens(metric: str, unit: str) -> bool:
    """Say whether a number is a mean over tokens: an entropy, a perplexity, an accuracy."""
    return unit.startswith(("nats/", "bits/")) or metric == "perplexity" or (unit == "share" and "accuracy" in metric)


def _make_keys(experiment: Resolved, record: dict[str, Any]) -> dict[str, Any]:
    variant = f"{experiment.assumption}={experiment.alternative}" if experiment.assumption else ""
    run = {"device": "device", "engine": "engine", "seconds": "wall_seconds"}
    return {
        "experiment": experiment.base,
        "variant": variant,
        **{key: record[key] for key in ("paper", "replica", "seed", "fold", "parameters", "status", "config_hash")},
        **{key: record["run"][name] for key, name in run.items()},
    }


def _list_metric_rows(
    experiment: Resolved, record: dict[str, Any], counted: Callable[[Resolved], str]
) -> Iterator[dict[str, Any]]:
    keys, tokens = _make_keys(experiment, record), counted(experiment)
    # A record without a number is a row as well: its status is known.
    for row in list(list_numbers(record)) or [{}]:
        over_tokens = is_over_tokens(row.get("metric", ""), row.get("unit", ""))
        yield keys | row | {"counted": tokens if over_tokens else ""}


def _list_evaluation_rows(
    experiment: Resolved, evaluations: Iterable[dict[str, Any]], counted: Callable[[Resolved], str]
) -> Iterator[dict[str, Any]]:
    """Yield a row a band of counts: what evaluations measure besides the records."""
    for evaluation in evaluations:
        replica = {"seed": evaluation["replica"], "fold": None, "parameters": None, "status": "finished"}
        keys = _make_keys(experiment, evaluation | replica)
        for row in list_loss_rows(evaluation, SINGLE_BANDS):
            yield keys | row | {"counted": counted(experiment)}


def _list_curve_rows(experiment: Resolved, record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    keys = _make_keys(experiment, record)
    for curve in record["curves"]:
        fixed = {k: curve[k] for k in ("split", "metric", "unit", "axis")}
        for x, y in zip(curve["x"], curve["y"], strict=True):
            yield keys | fixed | {"x": x, "value": y}


def _write_csv(rows: Iterable[dict[str, Any]], columns: tuple[str, ...]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: escape_formula(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def _summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    groups: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        if row.get("metric"):
            name = row["experiment"] + (f"@{row['variant']}" if row["variant"] else "")
            groups.setdefault((row["paper"], name, f"{row['split']}.{row['metric']}"), []).append(row["value"])
    tree: dict[str, Any] = {}
    for (paper, experiment, metric), values in groups.items():
        log = is_ratio_scale(metric.rpartition(".")[2])
        finite = all(map(math.isfinite, values))
        varied = estimate_variance(list(map(math.log, values)) if log else values) if finite else None
        entry = {"mean": compute_mean(values, log) if finite else INFINITE, "n": len(values)}
        entry["log_std" if log else "std"] = varied.deviation if varied else None
        tree.setdefault(paper, {}).setdefault(experiment, {})[metric] = entry
    return tree
