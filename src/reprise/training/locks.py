"""One process a replica, one pipeline a clone: operating-system locks that end with the process that holds them."""

import contextlib
import errno
import fcntl
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from reprise.errors import Interrupted, UserError
from reprise.files import name_file_in_errors

_LONGEST = 512
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class LockHeld(Interrupted):
    """Another process holds the lock."""


@contextlib.contextmanager
def lock_replica(path: Path, title: str, wait: bool = False) -> Iterator[None]:
    """Hold the lock of a replica while the body runs.

    Args:
        path: The lock file. It stays: removing it would let two processes lock two files of one name.
        title: The replica, for messages.
        wait: Wait for another holder.

    Raises:
        LockHeld: Another process trains the replica, and `wait` is not set (exit status 75).
        UserError: The file system has no locks.
    """
    handle = _acquire(path, f"{title} is being trained by process {{}}; wait for it, stop it, or pass --wait", wait)
    try:
        yield
    finally:
        os.close(handle)


def lock_clone(path: Path) -> None:
    """Hold the lock of the clone until this process ends, however it ends.

    Args:
        path: The lock file.

    Raises:
        LockHeld: Another pipeline works in the clone.
        UserError: The file system has no locks.
    """
    _acquire(path, "another run works in this clone: process {}; wait for it or stop it")


def _acquire(path: Path, message: str, wait: bool = False) -> int:
    """Return the open file that holds the lock; its content becomes "<pid> <host>" of this process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = _read_holder(handle)
        os.close(handle)
        if isinstance(error, BlockingIOError):
            raise LockHeld(message.format(holder)) from None
        if error.errno in _NO_LOCKS:
            remedy = f"move {path.parent} to a disk that has them and leave a link"
            raise UserError(f"{path}: this file system has no locks ({error.strerror}); {remedy}") from None
        raise
    try:
        with name_file_in_errors(path):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()} {platform.node()}".encode(), 0)
    except OSError:
        os.close(handle)
        raise
    return handle


def _read_holder(handle: int) -> str:
    """Return "<pid> on <host>" as the lock file has it; "unknown" of one that has only just been locked."""
    return os.pread(handle, _LONGEST, 0).decode(errors="replace").replace(" ", " on ", 1) or "unknown"
