"""Whole pipelines that tests disturb: started in the background, watched, stopped, killed with all that they left."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from project import PYTHON, SECONDS, Project

_STEPS = re.compile(r"^(\d+) of \d+ steps", re.MULTILINE)
_BEGUN = re.compile(r"^Job (\d+): (.+)$", re.MULTILINE)
_ENDED = re.compile(r"^Finished jobid: (\d+) ", re.MULTILINE)


@dataclass(frozen=True)
class Started:
    """A `snakemake` in the background and the file that its messages go to."""

    project: Project
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def over(self) -> bool:
        return self.process.poll() is not None

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    @property
    def steps(self) -> int:
        """Jobs that it has finished."""
        done = _STEPS.findall(self.said)
        return int(done[-1]) if done else 0

    @property
    def in_flight(self) -> list[str]:
        """The messages of the jobs that it has begun and not finished: "judging the claims from …"."""
        ended = set(_ENDED.findall(self.said))
        return [message for number, message in _BEGUN.findall(self.said) if number not in ended]

    def is_at(self, *jobs: str) -> bool:
        """Whether a job is in flight whose message starts with one of these words."""
        return any(message.startswith(jobs) for message in self.in_flight)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        limit = time.monotonic() + SECONDS
        while not condition():
            assert not self.over, self.said
            assert time.monotonic() < limit, self.said
            time.sleep(0.01)


@contextlib.contextmanager
def started(project: Project, target: str, *arguments: str) -> Iterator[Started]:
    """`snakemake --config tier=quick <arguments> -- <target>`; when the body ends, nothing of the project runs on."""
    log = project.root.parent / f"log-{time.monotonic_ns()}.txt"
    command = (PYTHON, "-m", "snakemake", "--cores", "2", "--config", "tier=quick", *arguments, "--", target)
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=project.root,
            env=project.environment(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Started(project, process, log)
    finally:
        project.kill_everything()
        process.wait()


def unlock(project: Project) -> None:
    """What Snakemake asks for after kill -9."""
    done = project.run(PYTHON, "-m", "snakemake", "--cores", "1", "--config", "tier=quick", "--unlock")
    assert done.returncode == 0, done.stderr


def half_way(run: Started, experiment: str) -> int:
    """Halts the training of an experiment (one replica at most) once it has a checkpoint; the process."""
    found: list[Path] = []

    def saved() -> bool:
        found.extend((run.project.root / "checkpoints" / experiment).glob("*.ckpt"))
        return bool(found)

    run.wait_until(saved)
    pid = int(found[0].with_suffix(".lock").read_text(encoding="utf-8").split()[0])
    os.kill(pid, signal.SIGSTOP)
    return pid
