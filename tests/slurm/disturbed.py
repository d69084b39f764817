"""The toy project trained on a cluster: one job is requeued on the way, one reaches its time limit, one does both.

With a GPU in sight every training of the toy is a job of its experiment, and the job of a replica moves its record. The
stand-in for a GPU is of no use to torch: what asks for one trains on the CPU.
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

from cluster import BUSY_SECONDS, cluster, jobs, slurm
from project import COMPILED, PYTHON, Project, new_project

REQUEUED, TIMED_OUT, BOTH = "digits/rnn-t5", "digits/lstm-t5", "digits/recall"
MINUTES, MOST_MINUTES = 24, 40
"""What a training asks for first, and what the partition with GPUs allows.

Long, so that no halted training reaches its limit by itself while a busy machine brings the others so far.
"""
_RECALL = """\
  recall:
    title: Recall of a name
    model:
      name: notes-gru
      hidden_size: {value: 8, from: "ours: small"}
      recurrent_law: {value: gaussian, from: "ours: any"}
      recurrent_scale: {value: 1.0, from: "ours: any"}
      input_std: {value: 1.0, from: "ours: any"}
    data:
      dataset: names
      names: {value: 4, from: "ours: small"}
      filler: {value: 4, from: "ours: small"}
    training:
      protocol: recall
      steps: {value: 1500, from: "ours: some seconds"}
      batch_size: {value: 8, from: "ours: small"}
      text_lengths: {value: alike, from: "ours: any"}
      optimiser: {value: adam, from: "ours: any"}
      learning_rate: {value: 0.001, from: "ours: any"}
      clip_norm: {value: 1.0, from: "ours: any"}
      log_every: {value: 5, from: "ours: a piece of work"}
    precision: {value: float32, from: "ours: any"}
    tiers: {quick: {replicas: 1}}
"""
_NAMES = """\
  names:
    title: Sentences that name somebody
    licence: none needed (generated)
    homepage: ""
    prepare: names
"""
PARTITIONS = f"partitions:\n  short: {{max_runtime: 60}}\n  accelerated: {{max_runtime: {MOST_MINUTES}, max_gpu: 1}}\n"

# Where it finds nothing new, the plugin waits ten seconds longer each time; here it looks every second.
_IMPATIENT = """
import asyncio
from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
RemoteExecutor.sleep = lambda self: asyncio.sleep(1)
main()
"""

SURVIVING_SECONDS = 60.0
"""After which a process is taken to outlive its job: a tenth of what a warm one waits for here."""


@dataclass(frozen=True)
class Finished:
    """The project after the run, what Snakemake said, and SLURM's description of all jobs, early on and in the end.

    `survivors` are what trainings left behind: processes that were alive a while after Snakemake had ended.
    """

    project: Project
    status: int
    log: str
    submitted: list[dict[str, str]]
    jobs: list[dict[str, str]]
    survivors: list[str]

    def jobs_of(self, experiment: str) -> list[dict[str, str]]:
        """The jobs that trained an experiment."""
        return [job for job in self.jobs if _trains(job, experiment)]


def disturbed_run(folder: Path) -> Finished:
    """The trainings are halted once their first checkpoints are there; SLURM lets them go on to end them."""
    variables = {
        "TMPDIR": str(folder),
        "REPRISE_BUILD": str(COMPILED),
        "REPRISE_SAVE_SECONDS": "0",
        "REPRISE_WARM_IDLE": "600",  # what a training leaves behind is still there in the end
    }
    project = _project(folder / "ein Klon für später", variables)
    with cluster() as logs, (folder / "log").open("w", encoding="utf-8") as log, started(project, log) as process:
        every = (TIMED_OUT, REQUEUED, BOTH)
        _halt(project, every, process)
        submitted = jobs()
        halted = {e: [job for job in submitted if _trains(job, e)] for e in every}
        states = {e: [job["JobState"] for job in found] for e, found in halted.items()}
        told = [path.read_text(encoding="utf-8") for path in (folder / "log", logs / "slurmctld.log")]
        assert states == dict.fromkeys(every, ["RUNNING"]), "\n".join([*map(str, submitted), *told])
        ids = {e: job["JobId"] for e, (job,) in halted.items()}
        _reach_limit(ids[TIMED_OUT])
        for experiment in (REQUEUED, BOTH):
            slurm("scontrol", "requeue", ids[experiment])
        for experiment in (REQUEUED, BOTH):
            wait_until(lambda e=experiment: _state(ids[e]) == "PENDING", process)
            # SLURM would let two minutes pass first.
            slurm("scontrol", "update", f"JobId={ids[experiment]}", "StartTime=now")
        _halt(project, (BOTH,), process, since=time.time_ns())
        _reach_limit(ids[BOTH])
        status = process.wait(BUSY_SECONDS)
        _until_no_job_runs()
        survivors = _survivors(project)
        found = jobs()
    return Finished(project, status, (folder / "log").read_text(encoding="utf-8"), submitted, found, survivors)


def _project(folder: Path, variables: dict[str, str]) -> Project:
    """Replica 0 of each experiment of the toy project; its two networks train for some seconds."""
    project = new_project(folder, variables)
    memory = "train: {mem_mb: 500, runtime: "
    project.edit("config/config.yaml", "device: cpu", "device: auto")
    project.edit("config/config.yaml", f"{memory}5}}", f"{memory}{MINUTES}}}")
    project.edit("config/papers/digits.yaml", "quick: {replicas: 2}", "quick: {replicas: 1}")
    project.edit("config/papers/digits.yaml", "steps: {value: 30,", "steps: {value: 3000,")
    project.edit("config/papers/digits.yaml", "  count:\n", f"{_RECALL}  count:\n")
    project.edit("config/config.yaml", "resources:\n", f"{_NAMES}resources:\n")
    project.edit("config/papers/words.yaml", "quick: {replicas: 2}", "quick: {replicas: 1}")
    (folder / "profiles/slurm/partitions.yaml").write_text(PARTITIONS, encoding="utf-8")
    # Here, so that all replicas are trained at the same time there.
    prepared = project.reprise("prepare", "words/s-rnn-4", "--tier", "quick")
    assert prepared.returncode == 0, prepared.stderr
    return project


@contextlib.contextmanager
def started(project: Project, log: TextIO, target: str = "all") -> Iterator[subprocess.Popen[bytes]]:
    """`snakemake --profile profiles/slurm <target>`; when the body ends, nothing of the project runs on."""
    command = (PYTHON, "-c", _IMPATIENT, "--profile", "profiles/slurm", "--config", "tier=quick")
    process = subprocess.Popen(
        (*command, "--", target),
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


def _trains(job: dict[str, str], experiment: str) -> bool:
    """A job's comment names rule and wildcards."""
    return job["Comment"] == f"rule_train_together_wildcards_{experiment.replace('/', '_')}"


def _reach_limit(job_id: str) -> None:
    """This makes the limit itself shorter. SLURM looks at limits twice a minute."""
    slurm("scontrol", "update", f"JobId={job_id}", "EndTime=now+1")


def _halt(project: Project, experiments: Iterable[str], process: subprocess.Popen[bytes], since: int = 0) -> None:
    """Halts the trainings once each has written a checkpoint after `since` (ns)."""
    waiting = {project.root / "checkpoints" / experiment for experiment in experiments}

    def halted() -> bool:
        for folder in list(waiting):
            if any(_written(path) > since for path in folder.glob("0-*.ckpt")):
                (lock,) = folder.glob("0-*.lock")
                os.kill(int(lock.read_text(encoding="utf-8").split()[0]), signal.SIGSTOP)
                waiting.remove(folder)
        return not waiting

    wait_until(halted, process)


def _written(path: Path) -> int:
    """When (ns); 0 where it has just been replaced."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _state(job_id: str) -> str:
    return next(job["JobState"] for job in jobs() if job["JobId"] == job_id)


def _until_no_job_runs() -> None:
    """Snakemake ends with the last job's output, on a busy machine before that job's own processes do."""
    limit = time.monotonic() + BUSY_SECONDS
    while {job["JobState"] for job in jobs()} & {"RUNNING", "COMPLETING"}:
        assert time.monotonic() < limit, "a job does not end"
        time.sleep(0.1)


def _survivors(project: Project) -> list[str]:
    """The command lines of what does not end by itself: SLURM may be done with a job some seconds before its processes.

    A warm process would wait for longer than this.
    """
    limit = time.monotonic() + SURVIVING_SECONDS
    while (alive := _of_trainings(project)) and time.monotonic() < limit:
        time.sleep(0.1)
    return alive


def _of_trainings(project: Project) -> list[str]:
    """The command lines of the project's processes but for Snakemake's own.

    The handler of Snakemake 9 for SIGTERM takes a lock that the thread it interrupts may hold, and then waits for ever.
    A requeued job's Snakemake that stops so is killed by control groups at a site; here its shell has ended, which is
    all that SLURM follows.
    """
    found = []
    for pid in project.processes():
        with contextlib.suppress(OSError):  # it has just ended
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode()
            if "\0-m\0snakemake\0" not in command:
                found.append(command)
    return found


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + BUSY_SECONDS
    while not condition():
        assert process.poll() is None, "Snakemake ended before"
        assert time.monotonic() < limit, "it never happened"
        time.sleep(0.02)
