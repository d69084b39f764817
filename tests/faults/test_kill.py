"""Killed, stopped, started twice: the record comes out as if nothing had happened."""

import fcntl
import os
import platform
import signal
from pathlib import Path

import pytest
from project import read_record, wait_until
from replica import Halt

from reprise.errors import EXIT_INTERRUPTED

pytestmark = pytest.mark.faults


@pytest.mark.parametrize(
    ("kind", "stops"),
    [("digits", [(1, False), (400, False), (800, False)]), ("words", [(0, True), (4, False), (8, True)])],
)
def test_killed_again_and_again(kind, stops, replica, tmp_path, undisturbed):
    """kill -9 at three places, of the language model also inside an epoch: the same bytes in the end."""
    replica = replica(kind, tmp_path)
    for target, inside in stops:
        running = replica.start(halt=Halt(target, inside)).wait_for_halt()
        assert Halt(target, inside).reached(replica.saved_at)
        assert running.send(signal.SIGKILL).status == -signal.SIGKILL
        assert not replica.record.exists()
    assert replica.run().require_resumed()
    assert replica.result() == undisturbed[kind]
    # It did go on from what was saved, each time, and not from the start.
    assert read_record(replica.record)["run"]["resumed"] == len(stops)
    assert replica.saved() == {}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_where_it_is(digits, digits_result, number):
    running = digits.start(halt=Halt(1)).wait_for_halt()
    line = running.send(number).require_message(EXIT_INTERRUPTED)
    step, _ = digits.saved_at
    name = digits.checkpoint.relative_to(digits.folder)
    assert f"{number.name} at step {step}" in line
    assert str(name) in line
    assert not digits.record.exists()
    assert f"goes on from step {step}" in digits.run().require_resumed()
    assert digits.result() == digits_result


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_before_the_first_step_is_one_line(digits, digits_result, number):
    """It comes while the training waits for its lock."""
    digits.lock.parent.mkdir(parents=True)
    with open(digits.lock, "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        running = digits.start("--wait")
        opened = Path(f"/proc/{running.pid}/fd")
        wait_until(lambda: any(os.path.realpath(path) == str(digits.lock) for path in opened.iterdir()))
        line = running.send(number).require_message(EXIT_INTERRUPTED)
    assert number.name in line
    assert digits.run().status == 0
    assert digits.result() == digits_result


def test_a_busy_replica_is_left_alone_or_waited_for(digits, digits_result):
    first = digits.start()
    holder = f"{first.pid} {platform.node()}"
    wait_until(lambda: digits.lock.exists() and digits.lock.read_text(encoding="utf-8") == holder)
    line = digits.run().require_message(EXIT_INTERRUPTED)
    assert "p/digits replica 0" in line
    assert f"process {first.pid} on {platform.node()}" in line
    assert "--wait" in line
    second = digits.start("--wait")
    assert first.end().status == 0
    record = digits.record.read_bytes()
    waited = second.end()
    assert waited.status == 0
    assert waited.err.splitlines() == [f"{digits.record.name}: done"]  # no step of its own
    assert digits.record.read_bytes() == record
    assert digits.result() == digits_result
