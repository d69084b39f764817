"""The toy project trained on a cluster: one job is requeued on the way, another one reaches its time limit.

With a GPU in sight every training of the toy is one of a stack's job. The stand-in for a GPU is of no use to torch, so
that the job trains with the engines of a CPU, one replica after another.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from cluster import cluster, jobs, slurm
from project import PYTHON, SECONDS, Project, new_project

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.training.stack_plan import stacks_by_name

REQUEUED, TIMED_OUT = "digits/rnn-t5", "digits/lstm-t5"
MINUTES, MOST_MINUTES = 3, 5
"""What a training asks for first, and what the partition with GPUs allows."""
PARTITIONS = f"partitions:\n  short: {{max_runtime: 10}}\n  accelerated: {{max_runtime: {MOST_MINUTES}, max_gpu: 1}}\n"

# Where it finds nothing new, the plugin waits ten seconds longer each time; here it looks every second.
_IMPATIENT = """
import asyncio
from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
RemoteExecutor.sleep = lambda self: asyncio.sleep(1)
main()
"""


@dataclass(frozen=True)
class Finished:
    """The project after the run, what Snakemake said, and SLURM's description of all jobs, early on and in the end.

    `survivors` are the processes of the project that were alive when Snakemake had ended.
    """

    project: Project
    status: int
    log: str
    submitted: list[dict[str, str]]
    jobs: list[dict[str, str]]
    survivors: list[str]
    stacks: dict[str, str]

    def jobs_of(self, experiment: str) -> list[dict[str, str]]:
        """The jobs that trained an experiment: their comment names rule and wildcards."""
        return [job for job in self.jobs if self.stacks[experiment] in job["Comment"]]


def disturbed_run(folder: Path) -> Finished:
    """Both networks' trainings are halted once their first checkpoints are there; SLURM lets them go on to end them."""
    variables = {
        "TMPDIR": str(folder),
        "REPRISE_BUILD": str(folder / "build"),
        "REPRISE_SAVE_SECONDS": "0",
        "REPRISE_WARM_IDLE": "600",  # what a training leaves behind is still there in the end
    }
    project = _project(folder / "ein Klon für später", variables)
    groups = stacks_by_name(resolve_tier(load_project(project.root, {"tier": "quick"})))
    stacks = {resolved.id: name for name, group in groups.items() for resolved in group}
    with cluster(), (folder / "log").open("w", encoding="utf-8") as log, _started(project, log) as process:
        _halt(project, (TIMED_OUT, REQUEUED), process)
        submitted = jobs()
        ids = {e: job["JobId"] for e in (TIMED_OUT, REQUEUED) for job in submitted if stacks[e] in job["Comment"]}
        # This makes the limit itself shorter. SLURM looks at limits twice a minute.
        slurm("scontrol", "update", f"JobId={ids[TIMED_OUT]}", "EndTime=now+1")
        slurm("scontrol", "requeue", ids[REQUEUED])
        _wait_until(lambda: _state(ids[REQUEUED]) == "PENDING", process)
        # SLURM would let two minutes pass first.
        slurm("scontrol", "update", f"JobId={ids[REQUEUED]}", "StartTime=now")
        status = process.wait(SECONDS)
        _until_no_job_runs()
        survivors = [Path(f"/proc/{pid}/cmdline").read_bytes().decode() for pid in project.processes()]
        found = jobs()
    return Finished(project, status, (folder / "log").read_text(encoding="utf-8"), submitted, found, survivors, stacks)


def _project(folder: Path, variables: dict[str, str]) -> Project:
    """Replica 0 of each experiment of the toy project; its two networks train for some seconds."""
    project = new_project(folder, variables)
    memory = "train: {mem_mb: 500, runtime: "
    project.edit("config/config.yaml", "device: cpu", "device: auto")
    project.edit("config/config.yaml", f"{memory}5}}", f"{memory}{MINUTES}}}")
    project.edit("config/papers/digits.yaml", "quick: {replicas: 2}", "quick: {replicas: 1}")
    project.edit("config/papers/digits.yaml", "steps: {value: 30,", "steps: {value: 3000,")
    project.edit("config/papers/words.yaml", "quick: {replicas: 2}", "quick: {replicas: 1}")
    (folder / "profiles/slurm/partitions.yaml").write_text(PARTITIONS, encoding="utf-8")
    # Here, so that all replicas are trained at the same time there.
    prepared = project.reprise("prepare", "words/s-rnn-4", "--tier", "quick")
    assert prepared.returncode == 0, prepared.stderr
    return project


@contextlib.contextmanager
def _started(project: Project, log: TextIO) -> Iterator[subprocess.Popen[bytes]]:
    """`snakemake --profile profiles/slurm`; when the body ends, nothing of the project runs on."""
    command = (PYTHON, "-c", _IMPATIENT, "--profile", "profiles/slurm", "--config", "tier=quick", "--latency-wait", "5")
    process = subprocess.Popen(
        (*command, "--", "all"),
        cwd=project.root,
        env=project.environment(),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        project.kill_everything()
        process.wait()


def _halt(project: Project, experiments: Iterable[str], process: subprocess.Popen[bytes]) -> None:
    waiting = {project.root / "checkpoints" / experiment for experiment in experiments}

    def halted() -> bool:
        for experiment in [folder for folder in waiting if list(folder.glob("0-*.ckpt"))]:
            (lock,) = experiment.glob("0-*.lock")
            os.kill(int(lock.read_text(encoding="utf-8")), signal.SIGSTOP)
            waiting.remove(experiment)
        return not waiting

    _wait_until(halted, process)


def _state(job_id: str) -> str:
    return next(job["JobState"] for job in jobs() if job["JobId"] == job_id)


def _until_no_job_runs() -> None:
    """Snakemake ends with the last job's output, on a busy machine before that job's own processes do."""
    limit = time.monotonic() + SECONDS
    while {job["JobState"] for job in jobs()} & {"RUNNING", "COMPLETING"}:
        assert time.monotonic() < limit, "a job does not end"
        time.sleep(0.1)


def _wait_until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + SECONDS
    while not condition():
        assert process.poll() is None, "Snakemake ended before"
        assert time.monotonic() < limit, "it never happened"
        time.sleep(0.02)
