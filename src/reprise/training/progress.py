"""Progress: a bar on a terminal, a plain line now and then elsewhere and in a thread."""

import logging
import threading
import time

from rich.progress import Progress, TextColumn, TimeElapsedColumn

from reprise.terminal import STDERR

_LOG = logging.getLogger(__name__)
_SECONDS_BETWEEN_LINES = 15.0


class TrainingProgress:
    """Show how far a replica is, by its `bar` while that is entered, else in lines.

    `title` names it, `unit` is what `total` counts (steps, epochs).
    """

    def __init__(self, title: str, unit: str, total: int) -> None:
        self.title, self.unit, self.total = title, unit, total
        self.last_line = time.monotonic()
        self.bar: Progress | None = None
        # Bars of several threads would be written over one another.
        if STDERR.is_terminal and threading.current_thread() is threading.main_thread():
            counted = TextColumn("{task.completed:g}/{task.total}"), TextColumn("{task.fields[note]}")
            self.bar = Progress(*Progress.get_default_columns(), *counted, TimeElapsedColumn(), console=STDERR)
            self.task = self.bar.add_task(title, total=total, note="")

    def update(self, done: float, note: str) -> None:
        """Show that `done` units are finished, and a `note`, e.g. the last loss."""
        if self.bar:
            self.bar.update(self.task, completed=done, note=note)
        elif time.monotonic() - self.last_line >= _SECONDS_BETWEEN_LINES:
            self.print_line(done, note)

    def print_line(self, done: float, note: str) -> None:
        """Print a line in any case, terminal or not."""
        self.last_line = time.monotonic()
        self.print_text(f"{self.unit} {done:g} of {self.total}{f': {note}' if note else ''}")

    def print_text(self, text: str) -> None:
        """Print a text under the title."""
        _LOG.info("%s: %s", self.title, text)
