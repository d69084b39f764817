"""Starting the process of an implementation, asking it for repetitions, and giving it up in time."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from reprise.bench.machine import THREADS
from reprise.bench.timing import Repetition

ENVIRONMENT = {
    **THREADS,
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
    # Compiles in the process itself: others that wait would be taken for a disturbance.
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
}


class WorkerFailed(Exception):
    """The implementation cannot be timed; the message is one line."""


class Worker:
    """An implementation in a process of its own, which inherits the core that this process is kept on."""

    def __init__(self, bench: str, implementation: str, folder: Path) -> None:
        self.errors = folder / f"{implementation}.log"
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "reprise.bench.worker", bench, implementation, str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=os.environ | ENVIRONMENT,
            )
        self.received = b""

    def close(self) -> None:
        """Ends the process, whatever it is doing."""
        self.process.kill()
        with contextlib.suppress(BrokenPipeError):
            self.process.communicate()

    def ready(self, limit: float) -> dict[str, Any]:
        """What it says after its check; WorkerFailed if that takes more than `limit` seconds."""
        return self._answer(limit, "checking and compiling")

    def run(self, count: int, limit: float) -> Repetition:
        """Trains on the next `count` pieces; WorkerFailed as in `ready`."""
        try:
            self.process.stdin.write(f"{count}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            raise WorkerFailed(self._last_words()) from None
        return Repetition(**self._answer(limit, "a repetition"))

    def _answer(self, limit: float, what: str) -> dict[str, Any]:
        end = time.monotonic() + limit
        pipe = self.process.stdout.fileno()
        while b"\n" not in self.received:
            left = max(0.0, end - time.monotonic())
            if not select.select([pipe], [], [], left)[0]:
                raise WorkerFailed(f"{what} takes more than {limit:.0f} s")
            part = os.read(pipe, 1 << 16)
            if not part:
                raise WorkerFailed(self._last_words())
            self.received += part
        line, _, self.received = self.received.partition(b"\n")
        answer = json.loads(line)
        if "failed" in answer:
            raise WorkerFailed(answer["failed"])
        return answer

    def _last_words(self) -> str:
        status = self.process.wait()
        lines = self.errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else f"ended with status {status}"
