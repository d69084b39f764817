"""How long what is missing will take, from the records of finished replicas.

A variant that nobody has run takes what the experiment takes that it is a variant of. Else another tier's records
count, where that tier trains the same for another while. Records of this kind of processor come first.
"""

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprise.errors import UserError
from reprise.records.record import read_records
from reprise.records.resolved import Resolved
from reprise.training.devices import read_processor_name

_SLACK = 3.0
"""Of a time limit: a node may be slower than this machine, or busy."""
_SHORTEST = 600.0
"""Seconds of the shortest time limit: starting takes some, whatever is trained."""
_MEMORY_SLACK = 1.5
"""Of a memory limit: another machine's libraries and threads take more or less."""
_SNAKEMAKE_MEMORY = 400.0
"""MiB of a memory limit for the two Snakemakes around a command in its job: with this project's graph 150 each."""
_LEAST_MEMORY = 1000
"""MiB of the smallest memory limit."""

_LENGTHS = ("max_epochs", "steps")
"""Options that only say when a training ends; the most units of work that it takes."""

RECORDS = "finished replicas"
OF_ITS_EXPERIMENT = "of its experiment"
OF_ANOTHER_TIER = "of another tier, by what they trained"
ELSEWHERE = "on another processor"


@dataclass(frozen=True)
class Estimate:
    """`missing` of the `replicas` of an experiment; `seconds` each on one core, None where nobody knows.

    `source` says where the number is from, or why there is none; `is_foreign`: from another kind of processor.
    """

    experiment: Resolved
    missing: int
    seconds: float | None
    source: str
    is_foreign: bool = False

    @property
    def replicas(self) -> int:
        """How many replicas the tier has."""
        return self.experiment.replicas

    @property
    def total_seconds(self) -> float | None:
        """Seconds of all missing replicas, one after another."""
        return 0.0 if not self.missing else None if self.seconds is None else self.missing * self.seconds


def estimate_times(
    experiments: Iterable[Resolved],
    root: Path = Path(),
    among: Iterable[Resolved] = (),
    tiers: Iterable[Resolved] = (),
) -> list[Estimate]:
    """Return an estimate an experiment, in their order.

    Where no replica of an experiment is finished, those of the experiment that it is a variant of stand for it. Then
    come those of another tier that trains the same, by the epoch or step. The number of epochs is taken from the
    finished trainings of the same paper and protocol, as a share of the most. Replicas that finished on this kind of
    processor come before all others.

    Args:
        experiments: What is estimated.
        root: The project's folder, with the records.
        among: More experiments of the tier, whose records count.
        tiers: Experiments of the other tiers.
    """
    experiments, tiers = list(experiments), list(tiers)
    experiments_by_id = {e.id: e for e in (*among, *experiments)}
    records = {e.id: read_records(e, root) for e in experiments_by_id.values()}
    runs = {
        name: [(r["run"]["wall_seconds"], r["run"]) for r in records_of_one if is_cpu_time(r)]
        for name, records_of_one in records.items()
    }
    shares = _compute_shares(list(experiments_by_id.values()), records)

    def estimate_one(experiment: Resolved) -> Estimate:
        missing = experiment.replicas - len(records[experiment.id])
        if experiment.is_check:
            return Estimate(experiment, missing, 0.0, "a check: seconds")
        base = experiments_by_id.get(f"{experiment.paper}/{experiment.base}", experiment)
        share = shares.get(_get_kind(experiment), 1.0)
        # By whose they are, those that say most first.
        sources = {
            RECORDS: runs[experiment.id],
            f"{RECORDS} {OF_ITS_EXPERIMENT}": runs[base.id],
            f"{RECORDS} {OF_ANOTHER_TIER}": list_paced_times(experiment, tiers, share, root)
            or list_paced_times(base, tiers, share, root),
        }
        for is_foreign in (False, True):
            for source, runs_of_source in sources.items():
                if seconds := [time for time, run in runs_of_source if is_foreign or is_from_this_processor(run)]:
                    where = f"{source} {ELSEWHERE}" if is_foreign else source
                    return Estimate(experiment, missing, statistics.fmean(seconds), where, is_foreign)
        return Estimate(experiment, missing, None, "no finished replica")

    return [estimate_one(experiment) for experiment in experiments]


def summarise_estimates(estimates: Iterable[Estimate], cores: int) -> str:
    """Summarise in a line: jobs, core-hours, wall time with so many cores, and what is not in it."""
    estimates = [e for e in estimates if e.missing]
    if not estimates:
        return "nothing is missing"
    known_estimates = [e for e in estimates if e.seconds is not None]
    work = sum(e.total_seconds for e in known_estimates)
    # One job a core: no faster than the longest, nor than all of it shared out.
    wall = max([work / cores, *(e.seconds for e in known_estimates)])
    jobs, unknown_count = sum(e.missing for e in estimates), len(estimates) - len(known_estimates)
    parts = []
    if known_estimates:
        prefix = "at least " if unknown_count else ""
        parts.append(f"{prefix}{format_duration(work)} of one core, {prefix}{format_duration(wall)} with {cores}")
        if foreign := [e.total_seconds for e in known_estimates if e.is_foreign]:
            parts[0] += f" ({format_duration(sum(foreign))} of it as measured {ELSEWHERE})"
    if unknown_count:
        parts.append(f"experiments whose time is not known: {unknown_count}")
    return f"replicas missing: {jobs}; {'; '.join(parts)}"


def estimate_time_limit(experiment: Resolved, default: int, root: Path = Path(), base: Resolved | None = None) -> int:
    """Estimate the minutes to ask for a replica: `_SLACK` times what it takes, `default` where nobody knows.

    Another processor's times are no ground for ending a job. `base`: the experiment that it is a variant of.
    """
    try:
        (estimate,) = estimate_times([experiment], root, among=[base] if base else [])
    except (UserError, OSError):
        # A record that is damaged or cannot be read: collecting says so, with the remedy.
        return default
    if estimate.seconds is None or estimate.is_foreign:
        return default
    return math.ceil(max(_SLACK * estimate.seconds, _SHORTEST) / 60.0)


def estimate_memory_limit(experiment: Resolved, default: int, root: Path = Path(), base: Resolved | None = None) -> int:
    """Estimate the MiB to ask for a replica: by the largest peak of its finished replicas, on any processor.

    Where there are none, by those of `base`, the experiment that it is a variant of; else `default`. Replicas that
    trained together do not count: their peak is of all of them.
    """
    try:
        for source in (experiment, base):
            runs = [r["run"] for r in (read_records(source, root) if source else []) if r["status"] == "finished"]
            peaks = [run["peak_memory_mib"] for run in runs if run["engine"] != "stacked" and "peak_memory_mib" in run]
            if peaks:
                return max(math.ceil(_MEMORY_SLACK * max(peaks) + _SNAKEMAKE_MEMORY), _LEAST_MEMORY)
    except (UserError, OSError):
        pass  # such a record, as above
    return default


def format_duration(seconds: float) -> str:
    """Write a duration in one unit."""
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def is_cpu_time(record: Mapping[str, Any]) -> bool:
    """Tell whether the record's time says what its replica takes on a core, whichever that was."""
    return record["status"] == "finished" and record["run"]["device"].startswith("cpu ")


def is_from_this_processor(run: Mapping[str, Any]) -> bool:
    """Tell whether it ran on this kind of processor."""
    return run["device"] == f"cpu ({read_processor_name()})"


def list_paced_times(
    experiment: Resolved, tiers: Iterable[Resolved], share: float, root: Path
) -> list[tuple[float, dict[str, Any]]]:
    """List the seconds of a replica of `experiment`, at the pace of each finished one of another tier, with its `run`.

    Args:
        experiment: What is estimated.
        tiers: The experiments of other tiers; what is not `experiment` at another length is passed over.
        share: Of the most units of work, how many are needed.
        root: The project's folder, with the records.
    """
    if (length := _get_length(experiment)) is None:
        return []
    counterparts = [
        e
        for e in tiers
        if e.id == experiment.id and e.corpus == experiment.corpus and _remove_length(e) == _remove_length(experiment)
    ]
    return [
        (record["run"]["wall_seconds"] / units * length * share, record["run"])
        for other in counterparts
        for record in filter(is_cpu_time, read_records(other, root))
        if (units := _count_units(other, record))
    ]


def _get_kind(experiment: Resolved) -> tuple[str, str]:
    return experiment.paper, experiment.config["training"]["protocol"]


def _compute_shares(
    experiments: list[Resolved], records: Mapping[str, list[dict[str, Any]]]
) -> dict[tuple[str, str], float]:
    """Compute, by paper and protocol, the work that finished trainings took of the most that they could have taken."""
    shares: dict[tuple[str, str], list[float]] = {}
    for experiment in experiments:
        units = (_count_units(experiment, record) for record in records[experiment.id])
        for unit_count in filter(None, units):
            shares.setdefault(_get_kind(experiment), []).append(unit_count / _get_length(experiment))
    return {kind: statistics.fmean(values) for kind, values in shares.items()}


def _get_options(experiment: Resolved) -> dict[str, Any]:
    return {} if experiment.is_check else experiment.config["training"]["options"]


def _get_length(experiment: Resolved) -> float | None:
    return next((_get_options(experiment)[name] for name in _LENGTHS if name in _get_options(experiment)), None)


def _remove_length(experiment: Resolved) -> dict[str, Any]:
    """Return the configuration without its length."""
    options = {name: value for name, value in _get_options(experiment).items() if name not in _LENGTHS}
    return {**experiment.config, "training": {**experiment.config["training"], "options": options}}


def _count_units(experiment: Resolved, record: dict[str, Any]) -> float | None:
    """Return the epochs of a finished training as it tells them, or its steps; None where nothing says so."""
    if "max_epochs" in _get_options(experiment):
        return next((m["value"] for m in record["metrics"] if m["metric"] == "epochs"), None)
    return _get_length(experiment)
