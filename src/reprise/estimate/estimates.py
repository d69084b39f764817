"""Estimate how long the missing replicas will take, from the records of finished ones.

A variant that nobody has run takes as long as its experiment. Otherwise another tier's records count, if that tier
trains the same for another number of epochs or steps. Records of this kind of processor come first.
"""

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprise.errors import UserError
from reprise.processor import read_processor_name
from reprise.records.record import read_records
from reprise.records.resolved import Resolved

_TIME_FACTOR = 3.0
"""The ratio of a time limit to the estimate: a node may be slower than this machine, or busy."""
_MIN_SECONDS = 600.0
"""Seconds of the shortest time limit: starting takes some, whatever is trained."""
_MEMORY_FACTOR = 1.5
"""The ratio of a memory limit to the largest peak: another machine's libraries and threads take more or less."""
_SNAKEMAKE_MEMORY = 400.0
"""MiB of a memory limit for the two Snakemakes around a command in its job: with this project's graph 150 each."""
_MIN_MEMORY = 1000
"""MiB of the smallest memory limit."""

_LENGTHS = ("max_epochs", "steps")
"""Options that only limit the length of a training: the most units of work that it takes."""

_OWN_RECORDS = "finished replicas"
_RECORDS_OF_EXPERIMENT = "finished replicas of its experiment"
_RECORDS_OF_OTHER_TIER = "finished replicas of another tier, by their time for an epoch or step"
_OTHER_PROCESSOR = "on another processor"

Times = list[tuple[float, Mapping[str, Any]]]
"""Seconds of finished replicas, each with the `run` of its record."""


@dataclass(frozen=True)
class Estimate:
    """Hold how long the missing replicas of an experiment take.

    Attributes:
        experiment: The experiment.
        missing: How many of its replicas have no record.
        seconds: The seconds of a replica on one core; None if unknown.
        source: Where the number is from, or why there is none.
        is_foreign: Whether it is from another kind of processor.
    """

    experiment: Resolved
    missing: int
    seconds: float | None
    source: str
    is_foreign: bool = False

    @property
    def replicas(self) -> int:
        """Return the number of replicas that the tier has."""
        return self.experiment.replicas

    @property
    def total_seconds(self) -> float | None:
        """Return the seconds of all missing replicas, one after another; None if unknown."""
        return 0.0 if not self.missing else None if self.seconds is None else self.missing * self.seconds


def estimate_times(
    experiments: Iterable[Resolved],
    root: Path = Path(),
    tier_experiments: Iterable[Resolved] = (),
    other_tiers: Iterable[Resolved] = (),
) -> list[Estimate]:
    """Estimate the time of each experiment, in their order.

    If no replica of a variant is finished, those of its experiment stand for it. Next come those of another tier that
    trains the same, by their time for an epoch or step. The expected number of epochs is then a share of the most, as
    in the finished trainings of the same paper and protocol. Replicas that finished on this kind of processor come
    before all others.

    Args:
        experiments: What is estimated.
        root: The project's folder, with the records.
        tier_experiments: More experiments of the tier, whose records count.
        other_tiers: Experiments of the other tiers.
    """
    experiments, other_tiers = list(experiments), list(other_tiers)
    experiments_by_id = {e.id: e for e in (*tier_experiments, *experiments)}
    records = {e.id: read_records(e, root) for e in experiments_by_id.values()}
    times = {
        name: [(r["run"]["wall_seconds"], r["run"]) for r in records_of_one if is_cpu_time(r)]
        for name, records_of_one in records.items()
    }
    shares = _compute_shares(list(experiments_by_id.values()), records)
    estimates = []
    for experiment in experiments:
        missing = experiment.replicas - len(records[experiment.id])
        if experiment.is_check:
            estimates.append(Estimate(experiment, missing, 0.0, "a check: seconds"))
            continue
        base = experiments_by_id.get(f"{experiment.paper}/{experiment.base}", experiment)
        share = shares.get(_get_kind(experiment), 1.0)
        sources = {
            _OWN_RECORDS: times[experiment.id],
            _RECORDS_OF_EXPERIMENT: times[base.id],
            _RECORDS_OF_OTHER_TIER: list_paced_times(experiment, other_tiers, share, root)
            or list_paced_times(base, other_tiers, share, root),
        }
        estimates.append(_choose_estimate(experiment, missing, sources))
    return estimates


def _choose_estimate(experiment: Resolved, missing: int, sources: Mapping[str, Times]) -> Estimate:
    """Estimate by the first source with times of this kind of processor; else by the first with any."""
    for is_foreign in (False, True):
        for source, times in sources.items():
            if seconds := [time for time, run in times if is_foreign or is_from_this_processor(run)]:
                name = f"{source} {_OTHER_PROCESSOR}" if is_foreign else source
                return Estimate(experiment, missing, statistics.fmean(seconds), name, is_foreign)
    return Estimate(experiment, missing, None, "no finished replica")


def summarise_estimates(estimates: Iterable[Estimate], cores: int) -> str:
    """Summarise estimates in a line: jobs, time of one core, time with `cores`, and what is not known."""
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
        many = f"{prefix}{format_duration(wall)} on {cores} cores"
        parts.append(f"{prefix}{format_duration(work)} on one core, {many}")
        if foreign := [e.total_seconds for e in known_estimates if e.is_foreign]:
            parts[0] += f" ({format_duration(sum(foreign))} of it as measured {_OTHER_PROCESSOR})"
    if unknown_count:
        parts.append(f"experiments whose time is not known: {unknown_count}")
    return f"replicas missing: {jobs}; {'; '.join(parts)}"


def estimate_time_limit(experiment: Resolved, default: int, root: Path = Path(), base: Resolved | None = None) -> int:
    """Estimate the minutes to request for a replica: `_TIME_FACTOR` times its own, or `default` if these are unknown.

    Another processor's times are no ground for ending a job. `base` is the experiment of a variant.
    """
    try:
        (estimate,) = estimate_times([experiment], root, tier_experiments=[base] if base else [])
    except (UserError, OSError):
        # A record is damaged or cannot be read. Collecting says so, with the remedy.
        return default
    if estimate.seconds is None or estimate.is_foreign:
        return default
    return math.ceil(max(_TIME_FACTOR * estimate.seconds, _MIN_SECONDS) / 60.0)


def estimate_memory_limit(experiment: Resolved, default: int, root: Path = Path(), base: Resolved | None = None) -> int:
    """Estimate the MiB to request for a replica, by the largest peak of its finished replicas, on any processor.

    Without any, estimate by those of `base`, the experiment of a variant; else return `default`. Replicas that trained
    together do not count: their peak is that of all of them.
    """
    try:
        for source in (experiment, base):
            runs = [r["run"] for r in (read_records(source, root) if source else []) if r["status"] == "finished"]
            peaks = [run["peak_memory_mib"] for run in runs if run["engine"] != "stacked" and "peak_memory_mib" in run]
            if peaks:
                return max(math.ceil(_MEMORY_FACTOR * max(peaks) + _SNAKEMAKE_MEMORY), _MIN_MEMORY)
    except (UserError, OSError):
        pass  # collecting names the damaged record
    return default


def format_duration(seconds: float) -> str:
    """Write a duration in one unit."""
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def is_cpu_time(record: Mapping[str, Any]) -> bool:
    """Return whether a record's time is that of a finished replica on a CPU, of any kind."""
    return record["status"] == "finished" and record["run"]["device"].startswith("cpu ")


def is_from_this_processor(run: Mapping[str, Any]) -> bool:
    """Return whether a training ran on this kind of processor."""
    return run["device"] == f"cpu ({read_processor_name()})"


def list_paced_times(experiment: Resolved, other_tiers: Iterable[Resolved], share: float, root: Path) -> Times:
    """List the seconds of a replica at the pace of each finished replica of another tier.

    Args:
        experiment: What is estimated.
        other_tiers: Experiments of other tiers. Only those count that are `experiment` at another length.
        share: The expected units of work, as a share of the most.
        root: The project's folder, with the records.
    """
    if (length := _get_length(experiment)) is None:
        return []
    counterparts = [
        e
        for e in other_tiers
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
    """Count the epochs of a finished training, or its steps; None if neither is known."""
    if "max_epochs" in _get_options(experiment):
        return next((m["value"] for m in record["metrics"] if m["metric"] == "epochs"), None)
    return _get_length(experiment)
