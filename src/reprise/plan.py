"""What has to hold before a pipeline starts its first job."""

import time
from collections.abc import Iterable
from pathlib import Path

from reprise.errors import UserError

_CLOCKS_DIFFER = 10.0
"""Seconds by which the clocks of a file server and of this machine may differ."""


def require_past(paths: Iterable[Path]) -> None:
    """Refuse inputs that are dated in the future.

    Snakemake deletes an output that is older than an input once its job has ended.

    Raises:
        UserError: A file is; nothing has been made yet.
    """
    latest = time.time() + _CLOCKS_DIFFER
    future = [path for path in paths if path.stat().st_mtime > latest]
    if future:
        raise UserError(
            f"{len(future)} files of this clone are dated in the future, {future[0]} for example; "
            "set the clock, or run `find . -newermt now -exec touch {} +`"
        )
