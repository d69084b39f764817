"""A SLURM of one node on loopback: its own ports, key and folders, two partitions and three GPUs that are none.

slurmctld, slurmd and munged come from Debian's packages `slurm-wlm` and `munge`. The configuration has to lie in
/etc/slurm: Snakemake's plugin takes SLURM_CONF away from its jobs, whose `srun` then looks there. Another cluster's
configuration is never touched.
"""

import contextlib
import fcntl
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from project import wait_until

ETC = Path("/etc/slurm")
MARK = "# Written by the tests of Reprise, removed when they end.\n"
PROGRAMS = ("munged", "munge", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "sinfo", "scontrol")
SECONDS = 30.0
BUSY_SECONDS = 900.0
"""On a machine with other work: until a job's processes are gone, or another run of these tests is over."""

CONFIGURATION = """\
ClusterName=reprise
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SchedulerParameters=sched_min_interval=100000
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
MinJobAge=7200
BatchStartTimeout=600
MessageTimeout=60
SlurmdTimeout=900
JobRequeue=0
GresTypes=gpu
NodeName=localhost NodeAddr=127.0.0.1 CPUs=4 RealMemory=16000 Gres=gpu:3 State=UNKNOWN
PartitionName=short Nodes=localhost Default=YES MaxTime=60 PriorityTier=2 State=UP
PartitionName=accelerated Nodes=localhost MaxTime=INFINITE State=UP
"""
GPUS = "".join(f"NodeName=localhost Name=gpu File=/dev/{name}\n" for name in ("null", "zero", "full"))
FILES = {"slurm.conf": CONFIGURATION, "gres.conf": GPUS}


def obstacle() -> str | None:
    """Why no cluster can be started here; None where one can."""
    missing = [name for name in PROGRAMS if _program(name) is None]
    if missing:
        return f"no {missing[0]} on this machine: apt-get install slurm-wlm munge"
    if os.geteuid() != 0:
        return "slurmd needs root"
    for name in FILES:
        file = ETC / name
        if file.exists() and not file.read_text(encoding="utf-8").startswith(MARK):
            return f"{file} belongs to a cluster of this machine"
    return None


@contextlib.contextmanager
def cluster() -> Iterator[Path]:
    """Starts the daemons and stops them, all jobs with them; yields the folder of their logs.

    One cluster a machine: another run of these tests waits, or it would overwrite the configuration of this one.
    """
    with Path(tempfile.gettempdir(), "reprise-tests-slurm.lock").open("a") as lock, contextlib.ExitStack() as ends:
        wait_until(
            lambda: _is_ours(lock), BUSY_SECONDS, describe=lambda: f"{lock.name}: another run has its cluster here"
        )
        if reason := obstacle():
            raise RuntimeError(reason)
        # In /tmp and open: munged refuses a socket that not everybody can reach.
        folder = Path(tempfile.mkdtemp(prefix="reprise-slurm-"))
        ends.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)
        _configure(folder, ends)
        daemons = [_munge(folder, ends)]
        for name in ("slurmctld", "slurmd"):
            # In the foreground, so that they are children of the tests and end with them.
            daemons.append(_start(folder, ends, name, "-D", *(["-N", "localhost"] if name == "slurmd" else [])))
        # What runs a job outlives slurmd.
        ends.callback(_end_jobs)
        _wait_until_idle(folder, daemons)
        yield folder


def _is_ours(lock: TextIO) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _end_jobs() -> None:
    with contextlib.suppress(AssertionError):
        wait_until(_no_job_left, BUSY_SECONDS)


def _no_job_left() -> bool:
    """Cancels those that wait and asks those that run to end, then kills these; true as well where SLURM has ended."""
    for kill in ([], ["--signal=KILL", "--full"]):
        subprocess.run(["scancel", *kill, "--user=root"], capture_output=True, check=False)
    queue = subprocess.run(["squeue", "--noheader"], capture_output=True, check=False)
    return queue.returncode != 0 or not queue.stdout.strip()


def slurm(*command: str) -> str:
    """What a command of SLURM prints; it has to succeed."""
    process = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert process.returncode == 0, f"{' '.join(command)}: {process.stderr}"
    return process.stdout


def jobs() -> list[dict[str, str]]:
    """All jobs, finished ones too, as `scontrol show job` describes them, by id."""
    entries = []
    for line in slurm("scontrol", "--oneliner", "show", "job").splitlines():
        if line.startswith("JobId="):
            entries.append(dict(word.split("=", 1) for word in line.split() if "=" in word))
    return sorted(entries, key=lambda job: int(job["JobId"]))


def _configure(folder: Path, ends: contextlib.ExitStack) -> None:
    ETC.mkdir(exist_ok=True)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(2)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        controller, daemon = (one.getsockname()[1] for one in sockets)
    for name, text in FILES.items():
        ends.callback((ETC / name).unlink, missing_ok=True)
        (ETC / name).write_text(MARK + text.format(folder=folder, controller=controller, daemon=daemon), "utf-8")


def _munge(folder: Path, ends: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o400)
    names = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munged.pid", "seed-file": "munged.seed"}
    options = (f"--{option}={folder / file}" for option, file in names.items())
    return _start(folder, ends, "munged", "--foreground", "--force", *options)


def _start(folder: Path, ends: contextlib.ExitStack, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = [_program(name) or name, *arguments]
    with (folder / f"{name}.out").open("wb") as out:
        daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd="/")
    ends.callback(_end, daemon)
    return daemon


def _end(daemon: subprocess.Popen[bytes]) -> None:
    daemon.terminate()
    try:
        daemon.wait(SECONDS)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


def _wait_until_idle(folder: Path, daemons: list[subprocess.Popen[bytes]]) -> None:
    def read_logs() -> str:
        return "".join(path.read_text(errors="replace")[-3000:] for path in sorted(folder.glob("*.out")))

    def idle() -> bool:
        assert not [daemon.args for daemon in daemons if daemon.poll() is not None], f"ended: {read_logs()}"
        process = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False)
        return process.returncode == 0 and process.stdout.split()[:1] == ["idle"]

    wait_until(idle, SECONDS, describe=read_logs)


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
