"""The process of one implementation: checks it, warms it up, then times it whenever it is told to.

    python -m reprise.bench.worker BENCH IMPLEMENTATION FOLDER

writes one JSON line when it is ready, then reads a number of pieces (subsequences, windows, batches) a line and
answers each with the repetition. It ends with its input.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import sys
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from reprise.bench import BENCHES
from reprise.bench.task import update_norms
from reprise.bench.timing import repetition

WARM_SECONDS = 0.2


class Task(Protocol):
    block: int  # the check is on so many pieces
    weights: Mapping[str, np.ndarray]

    def __len__(self) -> int: ...
    def tokens(self, first: int, last: int) -> int: ...


class Implementation(Protocol):
    """One with `log_perplexity()` as well says that of its first piece, before any training."""

    block: int  # it trains on whole multiples of so many pieces

    def train(self, first: int, last: int) -> float: ...
    def parameters(self) -> dict[str, np.ndarray]: ...


class Stream:
    """Trains on the task's text, round and round."""

    def __init__(self, task: Task, implementation: Implementation) -> None:
        self.task, self.implementation = task, implementation
        self.position = 0

    def advance(self, count: int) -> tuple[int, float]:
        """The next `count` pieces: their tokens and their summed loss in nats."""
        tokens, total = 0, 0.0
        while count:
            first = self.position
            last = min(first + count, len(self.task))
            total += self.implementation.train(first, last)
            tokens += self.task.tokens(first, last)
            count -= last - first
            self.position = last % len(self.task)
        return tokens, total

    def timed(self, count: int) -> dict[str, Any]:
        """A repetition, or why there is none."""
        losses = []

        def work() -> int:
            tokens, loss = self.advance(count)
            losses.append(loss)
            return tokens

        done = dataclasses.asdict(repetition(work))
        return done if math.isfinite(losses[0]) else {"failed": "diverged: the loss is not finite"}


def prepared(bench: str, name: str, folder: Path) -> tuple[Stream, dict[str, Any]]:
    """The implementation after the check and a warm-up, and the line that says what it did."""
    entry = BENCHES[bench]
    module, _, make = entry.implementations[name].partition(":")
    task = import_module(entry.tasks).read_task(folder)
    stream = Stream(task, getattr(import_module(module), make)(task))
    block = stream.implementation.block
    shown = getattr(stream.implementation, "log_perplexity", None)
    before = {"log_perplexity": shown()} if shown else {}
    _, loss = stream.advance(task.block)
    norms = update_norms(task.weights, stream.implementation.parameters())
    stream.advance(block)
    start, count = time.perf_counter(), 0
    while not count or time.perf_counter() - start < WARM_SECONDS:
        stream.advance(block)
        count += block
    elapsed = time.perf_counter() - start
    facts = {"loss": loss, "update_norms": norms, "block": block, "seconds_a_piece": elapsed / count}
    return stream, before | facts


def main(bench: str, name: str, folder: str) -> None:
    # Answers alone go to the caller: what libraries print joins the error messages.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    try:
        stream, facts = prepared(bench, name, Path(folder))
        say(facts)
        for line in sys.stdin:
            say(stream.timed(int(line)))
    except ModuleNotFoundError as error:
        say({"failed": f"not installed: {error.name}"})
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        say({"failed": f"{type(error).__name__}: {' '.join(lines[:2])}"})
        raise


if __name__ == "__main__":
    main(*sys.argv[1:])
