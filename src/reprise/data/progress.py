"""A progress bar for downloads, where somebody watches."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any


def _on_terminal() -> bool:
    return sys.stderr.isatty()


@contextlib.contextmanager
def progress(label: str) -> Iterator[Any]:
    """A progress bar on standard error as pooch wants it, or False where nobody watches."""
    if not _on_terminal():
        yield False
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield _Bar(progress, progress.add_task(label, total=None))


class _Bar:
    """What pooch asks of a progress bar: total, update, reset, close."""

    def __init__(self, progress: Any, task: Any) -> None:
        self._progress, self._task = progress, task
        self.total = 0

    def update(self, size: int) -> None:
        self._progress.update(self._task, total=self.total or None, advance=size)

    def reset(self) -> None:
        self._progress.update(self._task, completed=0)

    def close(self) -> None:
        """The bar goes with its `Progress`."""
