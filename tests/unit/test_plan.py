"""What has to hold before a pipeline starts its first job."""

import errno
import fcntl
import os
import time

import pytest

from reprise.errors import UserError
from reprise.plan import require_past
from reprise.training.locks import Held, lock_clone, replica_lock


def test_inputs_dated_in_the_future_are_refused(tmp_path):
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    for path, seconds in ((old, -60), (new, 3600)):
        path.touch()
        os.utime(path, times=(time.time() + seconds,) * 2)
    require_past([old])
    with pytest.raises(UserError, match=rf"^1 files .*{new}"):
        require_past([old, new])


def test_a_second_run_of_a_clone_is_refused_until_the_first_ends(tmp_path):
    """The lock is the operating system's: here its holder is a child, which ends without a word."""
    lock, (read, write) = tmp_path / "run/clone.lock", os.pipe()
    child = os.fork()
    if not child:
        lock_clone(lock)
        os.write(write, b"x")
        time.sleep(60)
    os.read(read, 1)
    with pytest.raises(Held, match=f"process {child} "):
        lock_clone(lock)
    os.kill(child, 9)
    os.waitpid(child, 0)
    lock_clone(lock)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_named_with_the_lock_file(monkeypatch, tmp_path, number):
    def flock(*_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    lock = tmp_path / "0.lock"
    with pytest.raises(UserError, match=f"^{lock}: this file system has no locks"), replica_lock(lock, "p/e"):
        pass
