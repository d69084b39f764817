#!/usr/bin/env python3
"""Runs Snakemake and shows one line: what is being made, how many jobs are left, about how long they take.

    python workflow/scripts/progress.py logs/quick.log snakemake --cores 2 --config tier=quick -- all

All output of Snakemake goes to the file named first. What the user has to read is shown: where the command fails, its
error and the end of each failed job's log. The exit status is the command's. Needs nothing beyond Python itself, and
works on Snakemake's text, because a logger plugin would have to be a package of its own.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TextIO

_JOB = re.compile(r"^(?:Job \d+|localrule \w+|rule \w+): ?(.*)$")
_TOTAL = re.compile(r"^total +(\d+)$")
_DONE = re.compile(r"^(\d+) of (\d+) steps \([\d.]+%\) done$")
_OURS = "reprise: error: "
_SECONDS_BETWEEN_LINES = 20.0
"""Where the output is no terminal."""
_SECONDS_BETWEEN_LOOKS = 0.2
_SHOWN = 40
_LONGEST = 200
"""Characters: Snakemake lists all inputs on one line."""


class Progress:
    """What Snakemake has said so far."""

    def __init__(self, out: TextIO) -> None:
        self.out, self.terminal = out, out.isatty()
        self.begin, self.last = time.monotonic(), -_SECONDS_BETWEEN_LINES
        self.now, self.done, self.total = "starting Snakemake", 0, 0

    def take(self, line: str) -> None:
        """One line of Snakemake's output."""
        if found := _DONE.match(line):
            self.done, self.total = int(found[1]), int(found[2])
        elif found := _TOTAL.match(line):
            self.total = int(found[1])
        elif found := _JOB.match(line):
            self.now = found[1] or self.now
        else:
            return
        self.show()

    def line(self) -> str:
        if not self.total:
            return self.now
        left = self.total - self.done
        # The first jobs say little about the others: they import and compile.
        known = self.done >= max(3, self.total // 10)
        seconds = (time.monotonic() - self.begin) / self.done * left if known else 0.0
        return (
            f"{self.done} of {self.total} jobs done{f', about {_duration(seconds)} left' if known else ''}: {self.now}"
        )

    def show(self) -> None:
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            self.out.write(f"\r\x1b[K{self.line()[:width]}")
        elif time.monotonic() - self.last >= _SECONDS_BETWEEN_LINES:
            self.last = time.monotonic()
            self.out.write(f"{self.line()}\n")
        self.out.flush()

    def end(self) -> None:
        if self.terminal:
            self.out.write("\r\x1b[K")
            self.out.flush()


def main(arguments: list[str]) -> int:
    if len(arguments) < 2:
        print("reprise: error: write progress.py LOG COMMAND [ARGUMENT ...]", file=sys.stderr)
        return 2
    log = Path(arguments[0])
    log.parent.mkdir(parents=True, exist_ok=True)
    progress = Progress(sys.stderr)
    progress.show()
    # At Ctrl-C Snakemake ends its jobs, which save their state; this program waits for it. SIGTERM is handed on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Held back until there is a command to hand it to.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    signal.signal(signal.SIGTERM, lambda *_: command.terminate())
    # Straight into the file: nobody waits for a reader, and a process that outlives Snakemake holds no pipe open.
    with log.open("wb") as out, log.open(encoding="utf-8", errors="replace") as written:
        command = subprocess.Popen(
            arguments[1:],
            stdout=out,
            stderr=subprocess.STDOUT,
            preexec_fn=_own_signals,
        )
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        begun = ""
        while True:
            status = command.poll()
            *whole, begun = (begun + written.read()).split("\n")
            for line in whole:
                progress.take(line)
            if status is not None:
                break
            time.sleep(_SECONDS_BETWEEN_LOOKS)
    progress.end()
    if status != 0:
        for line in _failure(log.read_text(encoding="utf-8").splitlines()):
            print(line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …", file=sys.stderr)
        print(f"reprise: {arguments[1]} ended with status {status}; all of its output: {log}", file=sys.stderr)
    return status if status >= 0 else 128 - status


def _own_signals() -> None:
    """In the command's process: Ctrl-C and SIGTERM do what they do by default."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def _failure(lines: list[str]) -> list[str]:
    """What to show of a run that failed: our own error line, else what was said since the first failed job."""
    ours = [line for line in lines if line.startswith(_OURS)]
    if ours:
        return ours[:_SHOWN]
    first = next((i for i, line in enumerate(lines) if line.startswith(("Error in", "Error:"))), None)
    return lines[-15:] if first is None else lines[first : first + _SHOWN]


def _duration(seconds: float) -> str:
    return f"{max(1, round(seconds / 60))} min" if seconds >= 55 else f"{max(1, round(seconds / 5)) * 5} s"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
