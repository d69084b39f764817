"""The lock of a replica names its holder, on whichever node that is."""

from __future__ import annotations

import fcntl
import os
import platform

import pytest

from reprise.errors import Interrupted
from reprise.training.locks import replica_lock


def refusal(path):
    with pytest.raises(Interrupted) as refused, replica_lock(path, "p/e replica 0"):
        pass
    return str(refused.value)


def test_a_busy_replica_names_process_and_host(tmp_path):
    lock = tmp_path / "folder" / "0.lock"
    with replica_lock(lock, "p/e replica 0"):
        assert lock.read_text() == f"{os.getpid()} {platform.node()}"
        assert refusal(lock).startswith(
            f"p/e replica 0 is being trained by process {os.getpid()} on {platform.node()}; wait for it"
        )
    with replica_lock(lock, "p/e replica 0"):
        pass


@pytest.mark.parametrize(
    ("content", "holder"), [("4711", "4711"), ("", "unknown"), ("12 node-07.cluster", "12 on node-07.cluster")]
)
def test_what_others_have_written_is_read(tmp_path, content, holder):
    """An earlier version wrote the process alone; one that has only just locked the file has written nothing yet."""
    lock = tmp_path / "0.lock"
    lock.write_text(content)
    with lock.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert f"is being trained by process {holder};" in refusal(lock)
