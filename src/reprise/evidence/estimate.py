"""How long what is missing will take: from the records of finished replicas, else from a short calibration.

Torch is imported for a calibration alone, so that the graph can be built, and its outlook printed, without it.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprise.config.resolved import Resolved
from reprise.devices import processor
from reprise.errors import UserError
from reprise.evidence.gpu_model import Gpu, seconds_of_stack
from reprise.files import write_json
from reprise.training.record import read_record
from reprise.training.stack_plan import stack_key

CACHE = Path("build/estimates.json")
CALIBRATION_SECONDS = 4.0
_LONG = 90.0
"""Seconds after which a calibration is given up, whether or not it got anywhere."""

_SLACK = 3.0
"""Of a time limit: a node may be slower than this machine, or busy."""
_SHORTEST = 600.0
"""Seconds of the shortest time limit: starting takes some, whatever is trained."""

RECORDS, CALIBRATION, MODEL = "finished replicas", "calibration", "a model of the GPU, not measured"


@dataclass(frozen=True)
class Estimate:
    """`missing` of `wanted` replicas of an experiment; `seconds` each on one core, None where nobody knows.

    `source` says where the number is from, or why there is none.
    """

    experiment: Resolved
    missing: int
    seconds: float | None
    source: str

    @property
    def wanted(self) -> int:
        return self.experiment.replicas

    @property
    def total(self) -> float | None:
        """Seconds of all missing replicas, one after another."""
        return 0.0 if not self.missing else None if self.seconds is None else self.missing * self.seconds


def estimates(
    experiments: Iterable[Resolved],
    root: Path = Path(),
    calibrate: Callable[[Resolved, Path], tuple[float, float]] | None = None,
    gpu: Gpu | None = None,
) -> list[Estimate]:
    """An estimate an experiment, in their order; with `gpu` what trains in stacks does so there, by a model.

    Where no replica of an experiment is finished on this kind of processor, the cache or `calibrate` gives seconds a
    unit of work and the most units it can take; epochs are then counted as the finished trainings of the same paper
    and protocol needed them, as a share of the most.
    """
    experiments = list(experiments)
    records = {e.id: _records(e, root) for e in experiments}
    shares = _shares(experiments, records)
    cache = read_cache(root)
    found = []
    for experiment in experiments:
        done = records[experiment.id]
        missing = experiment.replicas - len(done)
        own = [r["run"]["wall_seconds"] for r in done if _here(r)]
        if gpu and missing and stack_key(experiment):
            found.append(_modelled(experiment, missing, shares.get(_kind(experiment), 1.0), gpu, root))
        elif own:
            found.append(Estimate(experiment, missing, statistics.fmean(own), RECORDS))
        elif experiment.is_check:
            found.append(Estimate(experiment, missing, 0.0, "a check: seconds"))
        else:
            share = shares.get(_kind(experiment), 1.0)
            found.append(_calibrated(experiment, missing, share, cache, root, calibrate))
    return found


def _modelled(experiment: Resolved, missing: int, share: float, gpu: Gpu, root: Path) -> Estimate:
    options = experiment.config["training"]["options"]
    count = share * options["max_epochs"] if "max_epochs" in options else options["steps"]
    seconds = seconds_of_stack(experiment, missing, count, gpu, root)
    if seconds is None:
        return Estimate(experiment, missing, None, f"not prepared: reprise prepare {experiment.id}")
    return Estimate(experiment, missing, seconds / missing, MODEL)


def _calibrated(
    experiment: Resolved,
    missing: int,
    share: float,
    cache: dict[str, Any],
    root: Path,
    calibrate: Callable[[Resolved, Path], tuple[float, float]] | None,
) -> Estimate:
    key = experiment.config_hash
    if key not in cache and calibrate and missing:
        if experiment.corpus and not (root / experiment.corpus).is_file():
            return Estimate(experiment, missing, None, f"not prepared: reprise prepare {experiment.id}")
        cache[key] = dict(zip(("seconds_a_unit", "units"), calibrate(experiment, root), strict=True))
        write_cache(root, cache)
    if key not in cache:
        return Estimate(experiment, missing, None, "not measured: reprise estimate")
    return Estimate(experiment, missing, cache[key]["seconds_a_unit"] * cache[key]["units"] * share, CALIBRATION)


def calibration(experiment: Resolved, root: Path) -> tuple[float, float]:
    """Trains for some seconds: seconds a unit (step or epoch) on one core, and the most units there can be."""
    import time

    import torch

    from reprise.training.protocol import build_training

    torch.set_num_threads(1)
    corpus = root / experiment.corpus if experiment.corpus else None
    training = build_training(experiment, 0, corpus, experiment.engine, torch.device("cpu"))
    began = time.perf_counter()
    training.advance()  # what is made on first use does not count
    start, before = time.perf_counter(), training.done
    if training.finished:
        return start - began, 1.0
    while (elapsed := time.perf_counter() - start) < CALIBRATION_SECONDS or training.done == before:
        if training.finished or elapsed > _LONG:
            break
        training.advance()
    elapsed, done = time.perf_counter() - start, training.done - before
    if not done:
        raise UserError(f"{experiment.id}: no progress in {elapsed:.0f} s of calibration; leave it out")
    return elapsed / done, float(training.total)


def summary(found: Iterable[Estimate], cores: int) -> str:
    """One line: jobs, core-hours, wall time with so many cores, and what is not in it."""
    found = [e for e in found if e.missing]
    if not found:
        return "nothing is missing"
    known = [e for e in found if e.seconds is not None]
    work = sum(e.total for e in known)
    # One job a core: no faster than the longest, nor than all of it shared out.
    wall = max([work / cores, *(e.seconds for e in known)])
    jobs = sum(e.missing for e in found)
    line = f"{jobs} replicas are missing: {hours(work)} of one core, {hours(wall)} with {cores}"
    unknown = [e for e in found if e.seconds is None]
    if unknown:
        plural = "" if len(unknown) == 1 else "s"
        line += f"; not in it: {len(unknown)} experiment{plural} that nobody has measured (reprise estimate)"
    return line


def time_limit(experiment: Resolved, otherwise: int, root: Path = Path()) -> int:
    """Minutes to ask for a replica: `_SLACK` times what it is estimated to take, `otherwise` where nobody knows."""
    try:
        (found,) = estimates([experiment], root)
    except UserError:
        # A damaged record: collecting says so, with the remedy.
        return otherwise
    if not found.seconds:
        return otherwise
    return math.ceil(max(_SLACK * found.seconds, _SHORTEST) / 60.0)


def hours(seconds: float) -> str:
    """A duration as people say it, in one unit."""
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def read_cache(root: Path) -> dict[str, Any]:
    """Calibrations of this kind of processor by config hash; empty where there are none that can be read."""
    try:
        return json.loads((root / CACHE).read_text(encoding="utf-8"))[processor()]
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def write_cache(root: Path, calibrations: Mapping[str, Any]) -> None:
    try:
        everywhere = json.loads((root / CACHE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        everywhere = {}
    write_json(root / CACHE, {**everywhere, processor(): dict(calibrations)})


def _records(experiment: Resolved, root: Path) -> list[dict[str, Any]]:
    paths = [root / path for path in experiment.record_paths()]
    return [read_record(path, experiment) for path in paths if path.exists()]


def _here(record: dict[str, Any]) -> bool:
    """Whether the record's time says something about this machine."""
    return record["status"] == "finished" and record["run"]["device"] == f"cpu ({processor()})"


def _kind(experiment: Resolved) -> tuple[str, str]:
    return experiment.paper, experiment.config["training"]["protocol"]


def _shares(experiments: list[Resolved], records: Mapping[str, list[dict[str, Any]]]) -> dict[tuple[str, str], float]:
    """By paper and protocol: epochs that finished trainings took, of the most that they could have taken."""
    taken: dict[tuple[str, str], list[float]] = {}
    for experiment in experiments:
        if experiment.is_check:
            continue
        most = experiment.config["training"]["options"].get("max_epochs")
        for record in records[experiment.id]:
            epochs = [m["value"] for m in record["metrics"] if m["metric"] == "epochs"]
            if most and epochs:
                taken.setdefault(_kind(experiment), []).append(epochs[0] / most)
    return {kind: statistics.fmean(values) for kind, values in taken.items()}
