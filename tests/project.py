"""A small project as a newcomer has it, and its pipeline run from the outside, for the tests of workflow and faults."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TOY = Path(__file__).resolve().parent / "workflow" / "toy"
COMPILED = ROOT / "build" / "kernels"
"""Where the unit tests' engines are compiled; pipelines that do not test that find theirs there."""
PYTHON = sys.executable
SECONDS = 300
"""No command of these tests takes as long; one that does is stopped."""

# What the profile makes Snakemake say; everything else on stderr is a message.
PROFILE_LINE = "Using workflow specific profile profiles/default for setting default command line arguments."
_TRAINING = re.compile(r"^Job \d+: training (\S+), replica (\d+)$", re.MULTILINE)
_STATISTICS = re.compile(r"^(\w+) +(\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """A finished `snakemake` and what it planned: jobs a rule, and the replicas it trained ("paper/experiment n")."""

    status: int
    out: str
    err: str

    @property
    def log(self) -> str:
        """What Snakemake says: of a dry run on stdout, of a run on stderr."""
        return self.out + self.err

    @property
    def jobs(self) -> dict[str, int]:
        """Jobs a rule, `all` left out; empty where there was nothing to do."""
        table = self.log.partition("Job stats:\n")[2].partition("\n\n")[0]
        counts = {rule: int(n) for rule, n in _STATISTICS.findall(table)}
        assert counts or "Nothing to be done" in self.log, self.log
        return {rule: n for rule, n in counts.items() if rule not in {"all", "total"}}

    @property
    def trained(self) -> list[str]:
        return sorted({f"{name} {replica}" for name, replica in _TRAINING.findall(self.log)})

    @property
    def messages(self) -> list[str]:
        """The lines on stderr, without the one that Snakemake's profile brings."""
        return [line for line in self.err.splitlines() if line and line != PROFILE_LINE]


@dataclass(frozen=True)
class Project:
    """A project in a folder of its own. `variables` are laid over the environment of every command."""

    root: Path
    variables: Mapping[str, str]

    def environment(self, **more: str) -> dict[str, str]:
        """The environment without what would lead a command out of the project, this Python's programs first."""
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("REPRISE_", "PYTHONPATH", "SLURM_"))}
        variables["PATH"] = f"{Path(PYTHON).parent}{os.pathsep}{variables.get('PATH', '')}"
        return {**variables, "OMP_NUM_THREADS": "1", **self.variables, **more}

    def run(self, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.root,
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def snakemake(
        self,
        *arguments: str,
        tier: str = "quick",
        targets: Sequence[str] = ("all",),
        within: Sequence[str] = (),
        **more: Any,
    ) -> Run:
        """`<within> snakemake --config tier=… <arguments> -- <targets>` on one core."""
        command = (*within, PYTHON, "-m", "snakemake", "--cores", "1", "--config", f"tier={tier}", *arguments)
        process = self.run(*command, "--", *targets, **more)
        return Run(process.returncode, process.stdout, process.stderr)

    def plan(self, **more: str) -> Run:
        """A dry run that was free of errors."""
        run = self.snakemake("--dry-run", **more)
        assert run.status == 0, run.log
        return run

    def reprise(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return self.run(PYTHON, "-m", "reprise", *arguments, PYTHONPATH="src", **more)

    def edit(self, file: str, old: str, new: str) -> None:
        """Replaces the first `old` in a file; there has to be one."""
        path = self.root / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{file} does not hold {old!r}"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def copy(self, folder: Path) -> Project:
        """Everything, with its modification times."""
        shutil.copytree(self.root, folder, symlinks=True)
        return Project(folder, self.variables)

    @contextlib.contextmanager
    def background(self, log: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
        """A command whose messages go to `log`; when the body ends, nothing of the project runs on."""
        with log.open("wb") as out:
            pipes = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": subprocess.STDOUT}
            process = subprocess.Popen(command, cwd=self.root, env=self.environment(), **pipes)
        try:
            yield process
        finally:
            self.kill_everything()
            process.wait()

    def processes(self) -> list[int]:
        """Those alive with this project's TMPDIR in their environment, jobs of a cluster included."""
        return processes_with(f"TMPDIR={self.variables['TMPDIR']}\0", "environ")

    def kill_everything(self) -> None:
        """As a power cut. TMPDIR has to be this project's alone."""
        while pids := self.processes():
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def records(self, pattern: str = "**/*.json", tier: str = "quick") -> list[Path]:
        return sorted((self.root / "results" / tier / "runs").glob(pattern))


def new_project(folder: Path, variables: Mapping[str, str]) -> Project:
    """The code and workflow of this working tree with the tests' own small papers."""
    folder.mkdir(parents=True)
    for name in ("src", "workflow", "profiles", "envs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
    for name in ("Snakefile", ".gitignore"):
        shutil.copy2(ROOT / name, folder / name)
    shutil.copytree(TOY, folder / "config")
    shutil.copytree(ROOT / "config" / "reference", folder / "config" / "reference")
    return Project(folder, variables)


def contents(folder: Path) -> dict[str, bytes]:
    """All files in a folder and below, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def script(path: Path, text: str) -> Path:
    """A program at `path`: these lines of sh."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def flipped(data: bytes, bit: int) -> bytes:
    """The data with the bit of that number changed."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def processes_with(words: str, file: str) -> list[int]:
    """The processes in whose command line or environment, by the name of that file in /proc, these words are."""
    pids = []
    for path in Path("/proc").glob(f"[0-9]*/{file}"):
        with contextlib.suppress(OSError):
            if os.fsencode(words) in path.read_bytes():
                pids.append(int(path.parent.name))
    return pids


def halt(checkpoint: Path) -> int:
    """Stops the training that writes this checkpoint; the process."""
    pid = int(checkpoint.with_suffix(".lock").read_text(encoding="utf-8").split()[0])
    os.kill(pid, signal.SIGSTOP)
    return pid


def wait_until(
    condition: Callable[[], object],
    seconds: float = SECONDS,
    process: subprocess.Popen[Any] | None = None,
    describe: Callable[[], str] = lambda: "it never happened",
) -> None:
    """Looks again and again; AssertionError, which says why, after so many seconds or where the process has ended."""
    limit = time.monotonic() + seconds
    while not condition():
        assert process is None or process.poll() is None, f"the process has ended: {describe()}"
        assert time.monotonic() < limit, describe()
        time.sleep(0.02)


def read_record(path: Path) -> dict[str, Any]:
    """A record as strict JSON: no NaN, no infinity."""

    def refuse(word: str) -> Any:
        raise AssertionError(f"{path} holds {word}")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


def result_bytes(path: Path) -> bytes:
    """The bytes of a record without the key `run`, which says how it was made."""
    text = path.read_text(encoding="utf-8")
    start = text.index('\n "run": {')
    end = text.index("\n }", start) + len("\n },")
    return (text[:start] + text[end:]).encode()
