"""Plan jobs from experiments, for Snakemake's rules: what each reads, which resources it requests, on which device.

Nothing here needs Snakemake, and nothing is written.
"""

import logging
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NoReturn

from reprise.cluster import Limits, limit_request
from reprise.config.project import Project, load_project
from reprise.config.resolve import resolve_other_tiers, resolve_tier
from reprise.environment import MIRROR, get_mirror
from reprise.errors import EXIT_FAILED, Interrupted, UserError, require_known
from reprise.estimate.estimates import estimate_memory_limit, estimate_time_limit, estimate_times, summarise_estimates
from reprise.files import describe_os_error
from reprise.records.resolved import TIERS, Resolved
from reprise.training.devices import count_gpus_needed, count_visible_gpus, has_network, is_single_job
from reprise.training.locks import lock_clone

_LOG = logging.getLogger(__name__)

TOGETHER = "build/together"
"""The folder in which a job that trains all missing replicas of an experiment leaves their records.

The rule `train` moves each to its place. Snakemake deletes the outputs of a job that fails, but the records of finished
replicas are to stay.
"""
_MINUTES_TO_MOVE = 10
_CLOCK_TOLERANCE = 10.0
"""Seconds by which the clocks of a file server and of this machine may differ."""


@dataclass(frozen=True)
class Request:
    """Hold the resources of a job: minutes, memory (MB) and GPUs."""

    runtime: int
    mem_mb: int
    gpu: int = 0


class Plan:
    """Plan the jobs of a tier.

    Args:
        project: The checked configuration.
        experiments: The tier's experiments and variants.
        partitions: Returns the limits of a cluster's partitions; None where jobs run on this machine.
        gpus: Returns the number of GPUs of this machine.
    """

    def __init__(
        self,
        project: Project,
        experiments: Iterable[Resolved],
        partitions: Callable[[], Sequence[Limits] | None] = lambda: None,
        gpus: Callable[[], int] = count_visible_gpus,
    ) -> None:
        self.project, self.tier = project, project.config.tier
        self.experiments = {experiment.id: experiment for experiment in experiments}
        self.results = f"results/{self.tier}"
        # Missing records that no job can make -> the raw file that is absent. The page is written without them.
        self.omitted = {
            path: file
            for experiment in self.experiments.values()
            if (file := self._find_absent_file(experiment))
            for path in experiment.list_record_paths()
            if not os.path.lexists(path)
        }
        self.records = [p for e in self.experiments.values() for p in e.list_record_paths() if p not in self.omitted]
        self.configurations = [experiment.get_config_path() for experiment in self.experiments.values()]
        self.corpora = {e.corpus: e for e in self.experiments.values() if e.corpus}
        # Asked late and once: Snakemake knows the cluster's partitions only when it plans the jobs.
        self._partitions, self._gpus = cache(partitions), cache(gpus)
        self._limits: dict[str, tuple[int, int]] = {}

    @classmethod
    def load(
        cls, stated: Mapping[str, Any], partitions: Callable[[], Sequence[Limits] | None] = lambda: None
    ) -> "Plan":
        """Read config/ of the current folder; `stated` is what the command line says of it."""
        project = load_project(".", dict(stated))
        return cls(project, resolve_tier(project), partitions)

    def _find_absent_file(self, experiment: Resolved) -> str:
        """Return a raw file that an experiment lacks and no job can fetch, "<folder of a mirror>/<name>", or ""."""
        if not experiment.corpus or os.path.lexists(experiment.corpus):
            return ""
        dataset = self.project.find_dataset(experiment.config["data"]["dataset"])
        folders = [Path("data/raw", dataset.name)]
        with suppress(UserError):  # a node of a cluster need not see the mirror of the head node, which fetches
            if mirror := get_mirror():
                folders.append(mirror / dataset.mirror_folder)
        for file in dataset.files:
            if file.url is None and not any((folder / file.name).exists() for folder in folders):
                return f"{dataset.mirror_folder}/{file.name}"
        return ""

    @cached_property
    def other_tiers(self) -> str:
        """Return a pattern of the tiers whose files this plan does not make."""
        return "|".join(tier for tier in TIERS if tier != self.tier)

    def list_evaluations(self) -> list[str]:
        """Return the evaluation records that are there: no job makes them."""
        paths = (e.get_evaluation_path(replica) for e in self.experiments.values() for replica in range(e.replicas))
        return list(filter(os.path.lexists, paths))

    def refuse_tier(self, tier: str) -> NoReturn:
        """Refuse a file of another tier."""
        raise UserError(f"a file of the tier {tier}; write --config tier={tier}")

    def start_run(self, inputs: Iterable[str], jobs: int) -> None:
        """Hold the clone, check the inputs' dates, and say how long the training will take.

        Args:
            inputs: The files, besides run records, that outputs are made of.
            jobs: How many run at once.

        Raises:
            LockHeld: Another run works in the clone.
            UserError: A file is dated in the future, or the file system has no locks.
        """
        lock_clone(Path(".snakemake/reprise.lock"))
        require_past(map(Path, (*inputs, *self.records)))
        # A closed terminal ends a run as SIGTERM does. Under nohup SIGHUP is ignored, and stays so.
        if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
            signal.signal(signal.SIGHUP, signal.getsignal(signal.SIGTERM))
        _LOG.info("reprise: tier %s: %s", self.tier, self.describe_expected_time(jobs))

    def list_unavailable(self) -> list[str]:
        """Return the ids of experiments of which no record is there, and none can be made."""
        return [e.id for e in self.experiments.values() if self.omitted.keys() >= {*e.list_record_paths()}]

    def report_omitted(self) -> None:
        """Log which replicas are left out.

        Raises:
            UserError: REPRISE_MIRROR names no folder.
        """
        get_mirror()
        for file, count in Counter(self.omitted.values()).items():
            _LOG.warning(
                "reprise: replicas left out: %d; %s has no url and is not here; set %s to a folder that holds it",
                count,
                file,
                MIRROR,
            )

    def list_raw_files(self, corpus: str) -> list[str]:
        """Return the raw files that a corpus is made of; `corpus` is its name without folder and suffix."""
        dataset = self._find_reader(corpus).config["data"]["dataset"]
        return [f"data/raw/{dataset}/{file.name}" for file in self.project.find_dataset(dataset).files]

    def find_reader(self, corpus: str) -> str:
        """Return the id of an experiment that reads a corpus."""
        return self._find_reader(corpus).id

    def _find_reader(self, corpus: str) -> Resolved:
        path = f"data/corpora/{corpus}.npz"
        require_known(path, self.corpora, f"tier {self.tier}", "corpus")
        return self.corpora[path]

    def is_trained_together(self, name: str) -> bool:
        """Return whether all missing replicas of an experiment train in one job."""
        return is_single_job(self.experiments[name], self.count_gpus())

    def require_alone(self, name: str, record: str) -> None:
        """Refuse to train a record again whose replicas train together: that job trains what is missing.

        Raises:
            UserError: They do, on this machine or cluster.
        """
        if self.is_trained_together(name):
            raise UserError(
                f"{record}: all replicas of {name} train in one job here; remove the record to train it again"
            )

    def list_inputs(self, name: str, together: bool = False) -> dict[str, list[str]]:
        """Return what a job of an experiment reads: its configuration, its corpus, and what was trained together.

        Args:
            name: The experiment.
            together: Whether the job is the one that trains all its missing replicas.
        """
        require_known(name, self.experiments, f"tier {self.tier}", "experiment")
        experiment = self.experiments[name]
        mark = [f"{TOGETHER}/{self.tier}/{name}.done"] if not together and self.is_trained_together(name) else []
        return {
            "config": [experiment.get_config_path()],
            "corpus": [experiment.corpus] if experiment.corpus else [],
            "together": mark,
        }

    def choose_device_option(self, name: str, gpu: int) -> str:
        """Return the device option of a job: it keeps a job which was given no GPU off one that it sees."""
        experiment = self.experiments[name]
        is_on_cpu = not gpu and (experiment.device == "auto" or not has_network(experiment))
        return f"--device {'cpu' if is_on_cpu else experiment.device}"

    def count_gpus(self) -> int:
        """Count the GPUs that a job can have; on a cluster by its partitions, since the head node has none."""
        partitions = self._partitions()
        if partitions is None:
            return self._gpus()
        return max((limits.max_gpu for limits in partitions), default=0)

    def make_request(self, rule: str, attempt: int = 1, name: str = "") -> Request:
        """Return what a job asks for, doubled with every attempt as far as a partition allows it.

        Args:
            rule: `train`, `train_together`, or a key of `resources` in config/config.yaml.
            attempt: Counts from 1.
            name: The experiment of a training.
        """
        if rule == "train_together":
            minutes, mem_mb, gpus = self._request_for_all(name)
        elif rule == "train" and self.is_trained_together(name):
            minutes, mem_mb, gpus = _MINUTES_TO_MOVE, self.project.config.resources.train.mem_mb, 0
        elif rule == "train":
            minutes, mem_mb = self._estimate_limits(name)
            gpus = 0
        else:
            stated = getattr(self.project.config.resources, rule)
            minutes, mem_mb, gpus = stated.runtime, stated.mem_mb, 0
        factor = 2 ** (attempt - 1)
        return Request(*limit_request(minutes * factor, mem_mb * factor, gpus, self._partitions() or []), gpus)

    def _request_for_all(self, name: str) -> tuple[int, int, int]:
        """Return minutes, memory (MB) and GPUs of all missing replicas. On a CPU they take turns.

        Their memory adds up: a model on a GPU passes through main memory when it is made and when it is saved.
        """
        experiment, gpus = self.experiments[name], self.count_gpus()
        missing = sum(not Path(path).exists() for path in experiment.list_record_paths())
        minutes, mem_mb = self._estimate_limits(name)
        if not gpus:
            minutes *= max(1, missing)
        total_mb = max(self.project.config.resources.train.mem_mb, mem_mb * missing)
        return minutes, total_mb, count_gpus_needed(experiment, gpus)

    def _estimate_limits(self, name: str) -> tuple[int, int]:
        """Estimate minutes and memory (MB) of a replica, once; without an estimate, as config/config.yaml has them."""
        if name not in self._limits:
            experiment, stated = self.experiments[name], self.project.config.resources.train
            base = self.experiments.get(f"{experiment.paper}/{experiment.base}")
            minutes = estimate_time_limit(experiment, stated.runtime, base=base)
            self._limits[name] = minutes, estimate_memory_limit(experiment, stated.mem_mb, base=base)
        return self._limits[name]

    def describe_expected_time(self, at_once: int) -> str:
        """Return how long the training will take with so many jobs at once, as far as that is known."""
        everything = self.experiments.values()
        possible = [e for e in everything if self.omitted.keys().isdisjoint(e.list_record_paths())]
        try:
            others = resolve_other_tiers(self.project)
            return summarise_estimates(estimate_times(possible, Path(), everything, others), max(1, at_once))
        except (UserError, OSError) as error:
            return str(error)


def require_past(paths: Iterable[Path]) -> None:
    """Refuse inputs that are dated in the future; what does not exist is passed over.

    Snakemake deletes an output that is older than an input once its job has ended.

    Raises:
        UserError: A file is dated in the future; nothing has been made yet.
    """
    latest = time.time() + _CLOCK_TOLERANCE
    future = [path for path in paths if path.exists() and path.stat().st_mtime > latest]
    if future:
        raise UserError(
            f"{len(future)} files of this clone are dated in the future, {future[0]} for example; "
            "set the clock, or run `find . -newermt now -exec touch {} +`"
        )


@contextmanager
def stop_on_error() -> Iterator[None]:
    """End the program with one line, instead of a traceback, where the body meets bad input or the system's refusal."""
    try:
        yield
    except (UserError, Interrupted, OSError) as error:
        _LOG.error("reprise: error: %s", describe_os_error(error) if isinstance(error, OSError) else error)
        sys.exit(EXIT_FAILED if isinstance(error, OSError) else error.status)
