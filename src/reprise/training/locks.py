"""One process a replica: an operating-system lock that dies with its holder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from reprise.errors import Interrupted


@contextlib.contextmanager
def replica_lock(path: Path, what: str, wait: bool = False) -> Iterator[None]:
    """Holds the lock file at `path` while the body runs.

    Raises `Interrupted` (exit status 75), naming the holder's pid, where another process trains `what`; with `wait` it
    waits instead. The file stays: removing it would let two processes lock two files of one name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                holder = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
                if not wait:
                    raise Interrupted(
                        f"{what} is being trained by process {holder}; wait for it, stop it, or pass --wait"
                    ) from None
                time.sleep(0.5)
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)
