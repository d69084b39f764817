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
from reprise.training.devices import processor

_SLACK = 3.0
"""Of a time limit: a node may be slower than this machine, or busy."""
_SHORTEST = 600.0
"""Seconds of the shortest time limit: starting takes some, whatever is trained."""
_MEMORY_SLACK = 1.5
"""Of a memory limit: another machine's libraries and threads take more or less."""
_AROUND = 400.0
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
    """`missing` of `wanted` replicas of an experiment; `seconds` each on one core, None where nobody knows.

    `source` says where the number is from, or why there is none; `elsewhere`: from another kind of processor.
    """

    experiment: Resolved
    missing: int
    seconds: float | None
    source: str
    elsewhere: bool = False

    @property
    def wanted(self) -> int:
        """How many replicas the tier has."""
        return self.experiment.replicas

    @property
    def total(self) -> float | None:
        """Seconds of all missing replicas, one after another."""
        return 0.0 if not self.missing else None if self.seconds is None else self.missing * self.seconds


def estimates(
    experiments: Iterable[Resolved],
    root: Path = Path(),
    among: Iterable[Resolved] = (),
    tiers: Iterable[Resolved] = (),
) -> list[Estimate]:
    """Return an estimate an experiment, in their order.

    Where no replica of an experiment is finished, those of the experiment that it is a variant of stand for it, then
    those of another tier that trains the same, by the epoch or step. Of epochs as many are counted as the finished
    trainings of the same paper and protocol needed, as a share of the most. Replicas that finished on this kind of
    processor come before all others.

    Args:
        experiments: What is estimated.
        root: The project's folder, with the records.
        among: More experiments of the tier, whose records count.
        tiers: Experiments of the other tiers.
    """
    experiments, tiers = list(experiments), list(tiers)
    every = {e.id: e for e in (*among, *experiments)}
    records = {e.id: read_records(e, root) for e in every.values()}
    runs = {name: [(r["run"]["wall_seconds"], r["run"]) for r in done if on_cpu(r)] for name, done in records.items()}
    shares = _shares(list(every.values()), records)

    def estimate_one(experiment: Resolved) -> Estimate:
        missing = experiment.replicas - len(records[experiment.id])
        if experiment.is_check:
            return Estimate(experiment, missing, 0.0, "a check: seconds")
        like = every.get(f"{experiment.paper}/{experiment.base}", experiment)
        share = shares.get(_kind(experiment), 1.0)
        # By whose they are, those that say most first.
        sources = {
            RECORDS: runs[experiment.id],
            f"{RECORDS} {OF_ITS_EXPERIMENT}": runs[like.id],
            f"{RECORDS} {OF_ANOTHER_TIER}": paced(experiment, tiers, share, root) or paced(like, tiers, share, root),
        }
        for elsewhere in (False, True):
            for source, timed in sources.items():
                if seconds := [one for one, run in timed if elsewhere or ran_here(run)]:
                    where = f"{source} {ELSEWHERE}" if elsewhere else source
                    return Estimate(experiment, missing, statistics.fmean(seconds), where, elsewhere)
        return Estimate(experiment, missing, None, "no finished replica")

    return [estimate_one(experiment) for experiment in experiments]


def summary(estimates: Iterable[Estimate], cores: int) -> str:
    """One line: jobs, core-hours, wall time with so many cores, and what is not in it."""
    estimates = [e for e in estimates if e.missing]
    if not estimates:
        return "nothing is missing"
    known = [e for e in estimates if e.seconds is not None]
    work = sum(e.total for e in known)
    # One job a core: no faster than the longest, nor than all of it shared out.
    wall = max([work / cores, *(e.seconds for e in known)])
    jobs, unknown = sum(e.missing for e in estimates), len(estimates) - len(known)
    parts = []
    if known:
        least = "at least " if unknown else ""
        parts.append(f"{least}{hours(work)} of one core, {least}{hours(wall)} with {cores}")
        if foreign := [e.total for e in known if e.elsewhere]:
            parts[0] += f" ({hours(sum(foreign))} of it as measured {ELSEWHERE})"
    if unknown:
        parts.append(f"experiments whose time is not known: {unknown}")
    return f"replicas missing: {jobs}; {'; '.join(parts)}"


def time_limit(experiment: Resolved, otherwise: int, root: Path = Path(), like: Resolved | None = None) -> int:
    """Minutes to ask for a replica: `_SLACK` times what it is estimated to take, `otherwise` where nobody knows.

    Another processor's times are no ground for ending a job. `like`: the experiment that it is a variant of.
    """
    try:
        (estimate,) = estimates([experiment], root, among=[like] if like else [])
    except (UserError, OSError):
        # A record that is damaged or cannot be read: collecting says so, with the remedy.
        return otherwise
    if estimate.seconds is None or estimate.elsewhere:
        return otherwise
    return math.ceil(max(_SLACK * estimate.seconds, _SHORTEST) / 60.0)


def memory_limit(experiment: Resolved, otherwise: int, root: Path = Path(), like: Resolved | None = None) -> int:
    """MiB to ask for a replica: from the largest peak of its experiment's finished replicas, on whatever processor.

    Where there are none, from those of `like`, the experiment that it is a variant of; else `otherwise`. Replicas that
    trained together do not count: their peak is of all of them.
    """
    try:
        for source in (experiment, like):
            runs = [r["run"] for r in (read_records(source, root) if source else []) if r["status"] == "finished"]
            peaks = [run["peak_memory_mib"] for run in runs if run["engine"] != "stacked" and "peak_memory_mib" in run]
            if peaks:
                return max(math.ceil(_MEMORY_SLACK * max(peaks) + _AROUND), _LEAST_MEMORY)
    except (UserError, OSError):
        pass  # such a record, as above
    return otherwise


def hours(seconds: float) -> str:
    """Write a duration in one unit."""
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def on_cpu(record: Mapping[str, Any]) -> bool:
    """Whether the record's time says what its replica takes on a core, whichever that was."""
    return record["status"] == "finished" and record["run"]["device"].startswith("cpu ")


def ran_here(run: Mapping[str, Any]) -> bool:
    """Whether it ran on this kind of processor."""
    return run["device"] == f"cpu ({processor()})"


def paced(one: Resolved, tiers: Iterable[Resolved], share: float, root: Path) -> list[tuple[float, dict[str, Any]]]:
    """Seconds that a replica of `one` takes at the pace of each finished one of another tier, and how that one ran.

    `tiers`: the experiments of other tiers; what is not `one` at another length is passed over. `share`: of the most
    units of work, how many are needed.
    """
    if (most := _most(one)) is None:
        return []
    alike = [e for e in tiers if e.id == one.id and e.corpus == one.corpus and _endless(e) == _endless(one)]
    return [
        (record["run"]["wall_seconds"] / taken * most * share, record["run"])
        for other in alike
        for record in filter(on_cpu, read_records(other, root))
        if (taken := _units(other, record))
    ]


def _kind(experiment: Resolved) -> tuple[str, str]:
    return experiment.paper, experiment.config["training"]["protocol"]


def _shares(experiments: list[Resolved], records: Mapping[str, list[dict[str, Any]]]) -> dict[tuple[str, str], float]:
    """By paper and protocol: the work that finished trainings took, of the most that they could have taken."""
    taken: dict[tuple[str, str], list[float]] = {}
    for experiment in experiments:
        units = (_units(experiment, record) for record in records[experiment.id])
        for some in filter(None, units):
            taken.setdefault(_kind(experiment), []).append(some / _most(experiment))
    return {kind: statistics.fmean(values) for kind, values in taken.items()}


def _options(experiment: Resolved) -> dict[str, Any]:
    return {} if experiment.is_check else experiment.config["training"]["options"]


def _most(experiment: Resolved) -> float | None:
    return next((_options(experiment)[name] for name in _LENGTHS if name in _options(experiment)), None)


def _endless(experiment: Resolved) -> dict[str, Any]:
    """Return the configuration without its length."""
    options = {name: value for name, value in _options(experiment).items() if name not in _LENGTHS}
    return {**experiment.config, "training": {**experiment.config["training"], "options": options}}


def _units(experiment: Resolved, record: dict[str, Any]) -> float | None:
    """Epochs of a finished training as it tells them, or its steps; None where nothing says so."""
    if "max_epochs" in _options(experiment):
        return next((m["value"] for m in record["metrics"] if m["metric"] == "epochs"), None)
    return _most(experiment)
