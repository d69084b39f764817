"""One replica in a folder of its own, trained by a process that tests stop, kill and starve.

The process is forked from one that has imported torch, which would take longer than the training; it runs what
`python -m reprise train` runs. The results it is held to are made by that very command.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from project import ROOT, SECONDS, Project, read_record, result_bytes, wait_until

from reprise.errors import EXIT_INTERRUPTED
from reprise.records.resolved import Resolved
from reprise.training import trainer
from reprise.training.checkpoint import CheckpointFile, decode

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["numpy", "torch", "torch._inductor.config", "rich.progress"])


@dataclass(frozen=True)
class Halt:
    """Where a training stops itself: at its first save of at least `target`, `inside` an epoch if so wished.

    It does so from within (SIGSTOP, right behind the save). A test that only looked on, every few milliseconds, could
    miss a place that a fast machine passes in less.
    """

    target: int
    inside: bool = False

    def reached(self, place: tuple[int, bool]) -> bool:
        step, within = place
        return step >= self.target and (within or not self.inside)

    def install(self) -> None:
        """In the process that trains."""
        save, waiting = CheckpointFile.save, [self]
        if self.inside:  # on a slow disk saves are put off, and those inside an epoch might all be
            trainer._WORK_PER_SAVE = 0.0

        def save_and_halt(file: CheckpointFile, state: dict[str, Any]) -> None:
            save(file, state)
            if waiting and self.reached(place(state)):
                waiting.clear()  # once: who is sent on, goes on
                os.kill(os.getpid(), signal.SIGSTOP)

        CheckpointFile.save = save_and_halt


def place(state: dict[str, Any]) -> tuple[int, bool]:
    """The step or epoch of a checkpoint's state, and whether it is inside an epoch."""
    training = state["training"]
    return training.get("step", training.get("epoch")), training.get("next", 0) > 0


@dataclass(frozen=True)
class Ended:
    """How a process ended (minus the signal, where one killed it) and what it said."""

    status: int
    err: str

    @property
    def lines(self) -> list[str]:
        return self.err.splitlines()

    def require_resumed(self) -> str:
        """What a training says first that went on from a checkpoint and came to its end."""
        assert self.status == 0, self.err
        return next(line for line in self.lines if "goes on from" in line)

    def require_message(self, status: int) -> str:
        """The one line of Reprise, its last, of a command that ended so; no other of one that was put off."""
        assert self.status == status, self
        assert [line for line in self.lines if line.startswith("reprise: ")] == self.lines[-1:], self.err
        assert len(self.lines) == 1 or status != EXIT_INTERRUPTED
        assert self.lines[-1].startswith("reprise: error: ") == (status != EXIT_INTERRUPTED)
        return self.lines[-1]


@dataclass(frozen=True)
class Running:
    """A training that was started."""

    process: ForkServerProcess
    folder: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def over(self) -> bool:
        return self.process.exitcode is not None

    def wait_for_halt(self) -> Running:
        """Returns once the training has reached its `Halt`."""
        wait_until(lambda: self.over or state_of(self.pid) == "T")
        assert not self.over, f"trained to its end without a halt: {self.end()}"
        return self

    def send(self, number: int) -> Ended:
        """Sends a signal, to one that halted too, and waits for the end."""
        os.kill(self.pid, number)
        if number != signal.SIGKILL:
            os.kill(self.pid, signal.SIGCONT)
        return self.end()

    def end(self) -> Ended:
        self.process.join(SECONDS)
        assert self.over, "it does not end"
        output = self.folder / f"output-{self.pid}.txt"
        return Ended(self.process.exitcode, output.read_text(encoding="utf-8") if output.exists() else "")


def work(folder: Path, arguments: list[str], variables: dict[str, str], largest: int | None, halt: Halt | None) -> None:
    """The process: `reprise <arguments>` in `folder`, whose files may not grow over `largest` bytes."""
    os.chdir(folder)
    output = os.open(f"output-{os.getpid()}.txt", os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.update(variables)
    # Ignored where a shell runs the tests in its background, or under nohup.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    tempfile.tempdir = None  # looked up anew
    if largest is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    if halt is not None:
        halt.install()
    from reprise.cli import main

    sys.exit(main(arguments))


@dataclass(frozen=True)
class Replica:
    """Replica 0 of `resolved`, trained in `folder`; `variables` are laid over the environment."""

    folder: Path
    resolved: Resolved
    variables: dict[str, str]
    corpus: Path | None = None

    @property
    def record(self) -> Path:
        return self.folder / "record.json"

    @property
    def checkpoint(self) -> Path:
        return self.folder / f"checkpoints/{self.resolved.id}/0-{self.resolved.config_hash}.ckpt"

    @property
    def previous(self) -> Path:
        return self.checkpoint.with_name(self.checkpoint.name + ".previous")

    @property
    def lock(self) -> Path:
        return self.checkpoint.with_suffix(".lock")

    @property
    def saved_at(self) -> tuple[int, bool]:
        """The place of its last checkpoint."""
        return place(decode(self.checkpoint.read_bytes())["state"])

    def copy(self, folder: Path) -> Replica:
        shutil.copytree(self.folder, folder)
        return replace(self, folder=folder)

    def arguments(self, *more: str) -> list[str]:
        """What follows `reprise` on the command line; writes the configuration that it names."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "config.json").write_text(self.resolved.to_json(), encoding="utf-8")
        corpus = ["--corpus", str(self.corpus)] if self.corpus else []
        paths = ["--config", "config.json", "--output", self.record.name]
        return ["train", self.resolved.id, "--replica", "0", *paths, *corpus, *more]

    def start(self, *more: str, largest: int | None = None, halt: Halt | None = None, **variables: str) -> Running:
        arguments = (self.folder, self.arguments(*more), {**self.variables, **variables}, largest, halt)
        process = FORKS.Process(target=work, args=arguments, daemon=True)
        process.start()
        return Running(process, self.folder)

    def run(self, *more: str, largest: int | None = None, **variables: str) -> Ended:
        return self.start(*more, largest=largest, **variables).end()

    def command(self, *more: str, **variables: str) -> subprocess.Popen[str]:
        """`python -m reprise train …`, started as a user starts it."""
        command = [sys.executable, "-m", "reprise", *self.arguments(*more)]
        variables = Project(self.folder, self.variables).environment(PYTHONPATH=str(ROOT / "src"), **variables)
        pipes = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return subprocess.Popen(command, cwd=self.folder, env=variables, text=True, **pipes)

    def result(self) -> bytes:
        """The record without the key `run`; it holds no NaN."""
        read_record(self.record)
        return result_bytes(self.record)

    def saved(self) -> dict[str, bytes]:
        """The checkpoint files there are, by name; temporary ones too."""
        folder = self.checkpoint.parent
        return {p.name: p.read_bytes() for p in folder.iterdir() if p != self.lock} if folder.exists() else {}


def end(process: subprocess.Popen[str]) -> Ended:
    out, err = process.communicate(timeout=SECONDS)
    return Ended(process.returncode, out + err)


def state_of(pid: int) -> str:
    """The letter of a process: T for one that was stopped, Z for one that ended; "" for none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return ""


def alive(pid: int) -> bool:
    return state_of(pid) not in ("", "Z", "X")
