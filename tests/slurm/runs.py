"""Two runs of the toy project on a cluster, one of them disturbed on the way.

The disturbed one trains replica 0 of each experiment: one job is requeued, one reaches its time limit, one does both.
With a GPU in sight every training of the toy is a job of its experiment, and the job of a replica moves its record. The
stand-in for a GPU is of no use to torch: what asks for one trains on the CPU.

The other one trains one replica under the profile as it is shipped, `partitions: {}`, where the default partition
allows little. Its record appears later than its job ends, as on a shared file system.
"""

import contextlib
import subprocess
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from cluster import BUSY_SECONDS, cluster, jobs, slurm
from project import COMPILED, PYTHON, Project, halt, new_project, wait_until

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier

REQUEUED, TIMED_OUT, BOTH = "digits/rnn-t5", "digits/lstm-t5", "words/s-rnn-4"
MINUTES, MOST_MINUTES = 24, 40
"""What a training asks for first, and what the partition with GPUs allows.

Long, so that no halted training reaches its limit by itself while a busy machine brings the others so far.
"""
PARTITIONS = f"partitions:\n  short: {{max_runtime: 60}}\n  accelerated: {{max_runtime: {MOST_MINUTES}, max_gpu: 1}}\n"
A_DAY = 1440
"""Minutes that a training asks for as shipped; the default partition allows sixty."""
LATE_SECONDS = 10.0
"""Twice what Snakemake waits for a file by itself."""
SURVIVING_SECONDS = 60.0
"""After which a process is taken to outlive its job: longer than SLURM takes to end one."""

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
    """The project after a run, how Snakemake ended and what it said, and SLURM's description of all jobs in the end.

    Of the disturbed one also the jobs early on (`submitted`), and the processes alive a while after it had ended.
    """

    project: Project
    status: int
    log: str
    jobs: list[dict[str, str]]
    submitted: list[dict[str, str]] = ()
    survivors: list[str] = ()

    def jobs_of(self, experiment: str) -> list[dict[str, str]]:
        """The jobs that trained an experiment."""
        return [job for job in self.jobs if _trains(job, experiment)]


def disturbed_run(folder: Path) -> Finished:
    """The trainings are halted once their first checkpoints are there; SLURM lets them go on to end them."""
    project = _project(folder, "ein Klon für später", MINUTES, REPRISE_SAVE_SECONDS="0")
    project.edit("config/config.yaml", "device: cpu", "device: auto")
    for paper in ("digits", "words"):
        project.edit(f"config/papers/{paper}.yaml", "quick: {replicas: 2}", "quick: {replicas: 1}")
    # Each trains for some seconds, in many pieces of work.
    project.edit("config/papers/digits.yaml", "steps: {value: 30,", "steps: {value: 3000,")
    project.edit("config/papers/words.yaml", "patience: {value: 5,", "patience: {value: 1000,")
    project.edit("config/papers/words.yaml", "max_epochs: {value: 1,", "max_epochs: {value: 600,")
    (project.root / "profiles/slurm/partitions.yaml").write_text(PARTITIONS, encoding="utf-8")
    # Here, so that all replicas are trained at the same time there.
    prepared = project.reprise("prepare", "words/s-rnn-4", "--tier", "quick")
    assert prepared.returncode == 0, prepared.stderr
    log = folder / "log"
    with cluster() as logs, _started(project, log) as process:
        every = (TIMED_OUT, REQUEUED, BOTH)
        _halt(project, every, process)
        submitted = jobs()
        halted = {e: [job for job in submitted if _trains(job, e)] for e in every}
        states = {e: [job["JobState"] for job in records] for e, records in halted.items()}
        logged = [path.read_text(encoding="utf-8") for path in (log, logs / "slurmctld.log")]
        assert states == dict.fromkeys(every, ["RUNNING"]), "\n".join([*map(str, submitted), *logged])
        ids = {e: job["JobId"] for e, (job,) in halted.items()}
        _reach_limit(ids[TIMED_OUT])
        for experiment in (REQUEUED, BOTH):
            slurm("scontrol", "requeue", ids[experiment])
        for experiment in (REQUEUED, BOTH):
            wait_until(lambda e=experiment: _state(ids[e]) == "PENDING", BUSY_SECONDS, process)
            # SLURM would let two minutes pass first.
            slurm("scontrol", "update", f"JobId={ids[experiment]}", "StartTime=now")
        _halt(project, (BOTH,), process, since=time.time_ns())
        _reach_limit(ids[BOTH])
        status = process.wait(BUSY_SECONDS)
        # Snakemake ends with the last job's output, on a busy machine before that job's own processes do.
        wait_until(lambda: not {job["JobState"] for job in jobs()} & {"RUNNING", "COMPLETING"}, BUSY_SECONDS)
        # SLURM may be done with a job some seconds before its processes.
        with contextlib.suppress(AssertionError):
            wait_until(lambda: not _of_trainings(project), SURVIVING_SECONDS)
        return Finished(project, status, log.read_text(encoding="utf-8"), jobs(), submitted, _of_trainings(project))


def run_as_shipped(folder: Path) -> Finished:
    project = _project(folder, "clone", A_DAY)
    project.edit("workflow/rules/train.smk", "--output {output} >", "--output {output}.late.json >")
    experiments = {e.id: e for e in resolve_tier(load_project(project.root, {"tier": "quick"}))}
    target = experiments["digits/rnn-t5"].get_record_path(0)
    record, log = project.root / target, folder / "log"
    late = record.with_name(f"{record.name}.late.json")
    with cluster(), _started(project, log, target) as process:
        wait_until(late.exists, BUSY_SECONDS, process)
        time.sleep(LATE_SECONDS)
        late.rename(record)
        status = process.wait(BUSY_SECONDS)
        return Finished(project, status, log.read_text(encoding="utf-8"), jobs())


def _project(folder: Path, name: str, minutes: int, **variables: str) -> Project:
    """The toy project, whose trainings ask for so many minutes; what one leaves behind is still there in the end."""
    usual = {"TMPDIR": str(folder), "REPRISE_BUILD": str(COMPILED)}
    project = new_project(folder / name, usual | variables)
    memory = "train: {mem_mb: 500, runtime: "
    project.edit("config/config.yaml", f"{memory}5}}", f"{memory}{minutes}}}")
    return project


def _started(project: Project, log: Path, target: str = "all") -> AbstractContextManager[subprocess.Popen[bytes]]:
    """`snakemake --profile profiles/slurm <target>`; when the body ends, nothing of the project runs on."""
    command = (PYTHON, "-c", _IMPATIENT, "--profile", "profiles/slurm", "--config", "tier=quick", "--", target)
    return project.background(log, *command)


def _trains(job: dict[str, str], experiment: str) -> bool:
    """A job's comment names rule and wildcards."""
    return job["Comment"] == f"rule_train_together_wildcards_{experiment.replace('/', '_')}"


def _state(job_id: str) -> str:
    return next(job["JobState"] for job in jobs() if job["JobId"] == job_id)


def _reach_limit(job_id: str) -> None:
    """This makes the limit itself shorter. SLURM looks at limits twice a minute."""
    slurm("scontrol", "update", f"JobId={job_id}", "EndTime=now+1")


def _halt(project: Project, experiments: Iterable[str], process: subprocess.Popen[bytes], since: int = 0) -> None:
    """Halts the trainings once each has written a checkpoint after `since` (ns)."""
    waiting = {project.root / "checkpoints" / experiment for experiment in experiments}

    def halted() -> bool:
        for folder in list(waiting):
            if checkpoints := [path for path in folder.glob("0-*.ckpt") if _written(path) > since]:
                halt(checkpoints[0])
                waiting.remove(folder)
        return not waiting

    wait_until(halted, BUSY_SECONDS, process)


def _written(path: Path) -> int:
    """When (ns); 0 where it has just been replaced."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _of_trainings(project: Project) -> list[str]:
    """The command lines of the project's processes but for Snakemake's own.

    The handler of Snakemake 9 for SIGTERM takes a lock that the thread it interrupts may hold, and then waits for ever.
    A requeued job's Snakemake that stops so is killed by control groups at a site; here its shell has ended, which is
    all that SLURM follows.
    """
    commands = filter(None, map(_command, project.processes()))
    return [command for command in commands if "\0-m\0snakemake\0" not in command]


def _command(pid: int) -> str:
    """The command line, empty where the process has just ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    return ""
