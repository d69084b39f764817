"""The process of one implementation, and its caller's end of it.

    python -m benchmarks.worker BENCH IMPLEMENTATION FOLDER MEMBERS

checks the implementation, warms it up and writes one JSON line. Then it reads lines, each a number of pieces
(subsequences, windows, batches), and answers each with the repetition. It ends with its input. MEMBERS above 0 make it
a stack of so many on a CPU, whatever the implementation's name.
"""

import contextlib
import dataclasses
import json
import math
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import BENCHES, gpu, tasks
from benchmarks.timing import Repetition, time_repetition

WARM_SECONDS = 0.2

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
ENVIRONMENT = {
    **dict.fromkeys(THREADS, "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
    # Compiles in the process itself: others that wait would be taken for a disturbance.
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
}

PATHS = (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH"))
"""Where a process finds this package, whatever the current folder."""


class Stream:
    """Trains on the task's text, round and round."""

    def __init__(self, task: Any, implementation: tasks.Implementation) -> None:
        self.task, self.implementation = task, implementation
        self.position, self.loss = 0, 0.0

    def advance(self, count: int) -> int:
        """Train on the next `count` pieces; return their tokens. `loss` has the nats of all so far."""
        tokens = 0
        while count:
            first = self.position
            last = min(first + count, len(self.task))
            self.loss += self.implementation.train(first, last)
            tokens += self.implementation.replicas * self.task.count_tokens(first, last)
            count -= last - first
            self.position = last % len(self.task)
        return tokens

    def time_pieces(self, count: int) -> dict[str, Any]:
        """Return a repetition, or why there is none."""
        result = dataclasses.asdict(time_repetition(partial(self.advance, count)))
        return result if math.isfinite(self.loss) else {"failed": "diverged: the loss is not finite"}


def prepare_stream(bench: str, name: str, folder: Path, members: int = 0) -> tuple[Stream, dict[str, Any]]:
    """Return the implementation after the check and a warm-up, and the line that says what it did."""
    task = tasks.read_task(folder)
    if members:
        make_implementation = partial(gpu.Stacked, replicas=members, device="cpu")
    else:
        module, _, function = BENCHES[bench][name].partition(":")
        make_implementation = getattr(import_module(f"benchmarks.{module}"), function)
    stream = Stream(task, make_implementation(task))
    block = stream.implementation.block
    facts = tasks.check_implementation(task, stream.implementation)
    stream.position = task.block % len(task)
    stream.advance(block)
    start, count = time.perf_counter(), 0
    while not count or time.perf_counter() - start < WARM_SECONDS:
        stream.advance(block)
        count += block
    facts |= {"block": block, "seconds_a_piece": (time.perf_counter() - start) / count}
    return stream, facts | {"replicas": stream.implementation.replicas}


def main(bench: str, name: str, folder: str, members: str) -> None:
    """Prepare an implementation, then time it as often as the caller asks, a line of JSON a repetition."""
    # Answers alone go to the caller: what libraries print joins the error messages.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def write_answer(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    try:
        stream, facts = prepare_stream(bench, name, Path(folder), int(members))
        write_answer(facts)
        for line in sys.stdin:
            write_answer(stream.time_pieces(int(line)))
    except ModuleNotFoundError as error:
        write_answer({"failed": f"not installed: {error.name}"})
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        write_answer({"failed": f"{type(error).__name__}: {' '.join(lines[:2])}"})
        raise


class WorkerFailed(Exception):
    """The implementation cannot be timed; the message is one line."""


class Worker:
    """An implementation in a process of its own, with a thread for each of `cores`, which it is kept on.

    Without `cores` it inherits the core that this process is kept on. `members` above 0 make it a stack of so many.
    """

    def __init__(
        self, bench: str, implementation: str, folder: Path, cores: Sequence[int] = (), members: int = 0
    ) -> None:
        self.errors = folder / f"{'-'.join([implementation, *map(str, cores)])}.log"
        environment = os.environ | ENVIRONMENT | dict.fromkeys(THREADS, str(len(cores) or 1))
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.worker", bench, implementation, str(folder), str(members)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment | {"PYTHONPATH": os.pathsep.join(filter(None, PATHS))},
            )
        if cores:
            os.sched_setaffinity(self.process.pid, cores)

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self.process.kill()
        with contextlib.suppress(BrokenPipeError):
            self.process.communicate()

    def wait_until_ready(self, limit: float) -> dict[str, Any]:
        """Return its answer after its check; WorkerFailed if that takes more than `limit` seconds."""
        return self._read_answer(limit, "checking and compiling")

    def run(self, count: int, limit: float) -> Repetition:
        """Train on the next `count` pieces; WorkerFailed as in `wait_until_ready`."""
        self.start(count)
        return self.finish(limit)

    def start(self, count: int) -> None:
        """Let it train on the next `count` pieces; `finish` waits for it."""
        with contextlib.suppress(BrokenPipeError):  # it has ended: so does its answer
            self.process.stdin.write(f"{count}\n".encode())
            self.process.stdin.flush()

    def finish(self, limit: float) -> Repetition:
        """Return what it did since `start`; WorkerFailed as in `wait_until_ready`."""
        return Repetition(**self._read_answer(limit, "a repetition"))

    def _read_answer(self, limit: float, work: str) -> dict[str, Any]:
        """Return a line, which comes whole."""
        if not select.select([self.process.stdout], [], [], limit)[0]:
            raise WorkerFailed(f"{work} takes more than {limit:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            lines = self.errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise WorkerFailed(lines[-1] if lines else f"ended with status {status}")
        answer = json.loads(line)
        if "failed" in answer:
            raise WorkerFailed(answer["failed"])
        return answer


if __name__ == "__main__":
    main(*sys.argv[1:])
