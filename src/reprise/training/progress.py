"""Progress: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

_SECONDS_BETWEEN_LINES = 15.0


class TrainingProgress:
    """Shows how far a replica is. `title` names it, `unit` is what `total` counts (steps, epochs)."""

    def __init__(self, title: str, unit: str, total: int | None):
        self.title, self.unit, self.total = title, unit, total
        self.console = Console(stderr=True)
        self.last_line = time.monotonic()
        self.bar: Progress | None = None
        if self.console.is_terminal:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[note]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
            )
            self.bar = Progress(*columns, console=self.console)
            self.task = self.bar.add_task(title, total=total, note="")

    def __enter__(self) -> Self:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar:
            self.bar.stop()

    def update(self, done: float, note: str) -> None:
        """`done` units are finished; `note` says what they brought, e.g. the last loss."""
        if self.bar:
            self.bar.update(self.task, completed=done, note=note)
        elif time.monotonic() - self.last_line >= _SECONDS_BETWEEN_LINES:
            self.line(done, note)

    def line(self, done: float, note: str) -> None:
        """A line that is printed in any case, terminal or not."""
        self.last_line = time.monotonic()
        of = f" of {self.total}" if self.total else ""
        self.say(f"{self.unit} {done:g}{of}: {note}")

    def say(self, text: str) -> None:
        if self.bar:
            self.console.print(f"{self.title}: {text}", highlight=False, markup=False)
        else:
            print(f"{self.title}: {text}", file=sys.stderr, flush=True)
