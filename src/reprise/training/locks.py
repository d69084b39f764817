"""One process a replica: an operating-system lock that dies with its holder."""

import contextlib
import fcntl
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from reprise.errors import Interrupted

_LONGEST = 512


class Held(Interrupted):
    """Another process trains the replica."""


@contextlib.contextmanager
def replica_lock(path: Path, what: str, wait: bool = False) -> Iterator[None]:
    """Holds the lock file at `path` while the body runs; its content is "<pid> <host>" of the process that does.

    Raises `Held` (exit status 75), naming the holder, where another process trains `what`; with `wait` it waits
    instead. The file stays: removing it would let two processes lock two files of one name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(handle)
            raise Held(f"{what} is being trained by process {holder}; wait for it, stop it, or pass --wait") from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()} {platform.node()}".encode(), 0)
        yield
    finally:
        os.close(handle)


def _holder(handle: int) -> str:
    """Whom the lock file names: "<pid> on <host>"; "unknown" of one that has only just been locked."""
    return os.pread(handle, _LONGEST, 0).decode(errors="replace").replace(" ", " on ", 1) or "unknown"
