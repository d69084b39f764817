"""The process that spares trainings `import torch`: with it, without it and whatever becomes of it, the same."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from project import processes_with, wait_until
from replica import Ended, Replica, alive, end

from reprise.errors import EXIT_INTERRUPTED, EXIT_USAGE

pytestmark = pytest.mark.faults


class Warm:
    """Commands with REPRISE_WARM=1 that share one temporary folder, and the process left behind in it."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir()
        self.started: list[subprocess.Popen[str]] = []

    def start(self, replica: Replica, *more: str, **variables: str) -> subprocess.Popen[str]:
        given = {"REPRISE_WARM": "1", "TMPDIR": str(self.folder), "REPRISE_WARM_IDLE": "300", **variables}
        self.started.append(replica.command(*more, **given))
        return self.started[-1]

    def run(self, replica: Replica, *more: str, **variables: str) -> Ended:
        return end(self.start(replica, *more, **variables))

    def processes(self) -> list[int]:
        """The processes left behind: those whose command line names a socket in the folder."""
        return processes_with(f"warm.py\0{self.folder}/", "cmdline")


@pytest.fixture
def warm(tmp_path):
    warm = Warm(tmp_path / "w")
    yield warm
    for process in warm.started:
        if process.poll() is None:
            process.kill()
            end(process)
    for pid in warm.processes():
        os.kill(pid, signal.SIGKILL)


def trained_by(replica: Replica) -> int:
    return int(replica.lock.read_text(encoding="utf-8").split()[0])


def test_warm_and_cold_give_the_same_record(warm, digits, digits_result):
    """And so does a second training in the same process left behind, after a failing command and a stopped one."""
    first = warm.start(digits)
    done = end(first)
    assert done.status == 0, done.err
    assert digits.result() == digits_result
    # It was a child of the process left behind that trained.
    (server,) = warm.processes()
    assert trained_by(digits) not in {first.pid, server}
    assert "p/digits replica 0: step 1800 of 1800: loss " in done.err

    line = warm.run(digits, "--replica", "-1").told(EXIT_USAGE)
    assert line == "reprise: error: --replica -1: replicas count from 0"

    digits.record.unlink()
    stopped = warm.start(digits)
    wait_until(lambda: digits.checkpoint.exists() or stopped.poll() is not None)
    stopped.send_signal(signal.SIGTERM)
    line = end(stopped).told(EXIT_INTERRUPTED)
    assert "stopped by SIGTERM at step" in line
    assert digits.checkpoint.exists()

    assert warm.run(digits).went_on()
    assert digits.result() == digits_result
    assert warm.processes() == [server]


def test_killed_processes_are_noticed(warm, digits, digits_result):
    """The training killed: told from a finished one. The process left behind killed: another one takes its place."""
    client = warm.start(digits)
    wait_until(lambda: digits.checkpoint.exists() or client.poll() is not None)
    os.kill(trained_by(digits), signal.SIGKILL)
    assert end(client).status == 128 + signal.SIGKILL
    assert not digits.record.exists()
    (server,) = warm.processes()
    os.kill(server, signal.SIGKILL)
    # Until then its socket may still take a request, which ends with it and is trained cold.
    wait_until(lambda: not alive(server))
    assert warm.run(digits).went_on()
    assert digits.result() == digits_result
    assert len(warm.processes()) == 1


@pytest.mark.parametrize("obstacle", ["a file in the way", "open to others", "too long a path", "a batch job"])
def test_without_a_warm_process_it_trains_cold(warm, digits, obstacle):
    place = warm.folder / f"reprise-{os.getuid()}"
    if obstacle == "a file in the way":
        place.touch()
    elif obstacle == "open to others":
        place.mkdir()
        place.chmod(0o777)
    elif obstacle == "too long a path":
        warm.folder = warm.folder / ("long" * 25)
        warm.folder.mkdir()
    # What a job leaves behind would end with it, and with it whatever trains there for another one.
    batch = {"SLURM_JOB_ID": "7"} if obstacle == "a batch job" else {}
    running = digits.start(TMPDIR=str(warm.folder), REPRISE_WARM="1", **batch)
    done = running.end()
    assert done.status == 0, done.err
    assert trained_by(digits) == running.pid
    assert digits.record.exists()
    assert warm.processes() == []


def test_it_ends_when_nobody_asks(warm, replica, tmp_path):
    assert warm.run(replica("digits", tmp_path / "digits", steps=1), REPRISE_WARM_IDLE="0.5").status == 0
    wait_until(lambda: warm.processes() == [], seconds=30)
    assert not list(warm.folder.glob("reprise-*/*.sock"))


@pytest.mark.parametrize("fault", ["cut short", "from a folder that is gone"])
def test_a_request_that_cannot_be_taken_over_gets_no_answer(tmp_path, fault):
    """Its child ends, and says nothing that who asked could take for the pid of a training."""
    asked = {"arguments": ["--version"], "folder": str(tmp_path / "gone"), "environment": dict(os.environ)}
    line = f"{json.dumps(asked)}\n".encode()
    ours, theirs = socket.socketpair()
    code = "import socket; from reprise.cli.warm import _work; _work(socket.socket(fileno=FILE))"
    command = [sys.executable, "-c", code.replace("FILE", str(theirs.fileno()))]
    with ours, subprocess.Popen(command, pass_fds=[theirs.fileno()]) as child:
        theirs.close()
        socket.send_fds(ours, [b"\n"], [0, 1, 2])
        ours.sendall(line[:-2] if fault == "cut short" else line)
        ours.shutdown(socket.SHUT_WR)
        try:
            assert child.wait(30) == 1
            assert ours.recv(100) == b""
        finally:
            child.kill()
