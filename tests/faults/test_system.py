"""Numbers that are no longer finite, disks that are full, folders that are closed."""

import pytest
from project import read_record
from replica import Halt

from reprise.errors import EXIT_FAILED, EXIT_USAGE
from reprise.records.record import compute_result_digest

pytestmark = pytest.mark.faults


def test_a_diverged_training_says_so_instead_of_a_number(replica, tmp_path):
    diverging = replica("digits", tmp_path, learning_rate=1.0e37)
    ended = diverging.run()
    assert ended.status == 0, ended.err
    assert "diverged: step 25, quantity training loss" in ended.err
    record = read_record(diverging.record)  # refuses NaN and infinity
    assert (record["status"], record["metrics"]) == ("diverged", [])
    assert record["diverged"] == {"step": 25, "quantity": "training loss"}
    assert [curve["x"] for curve in record["curves"]] == [[0], [0]]
    assert record["result_sha256"] == compute_result_digest(record)
    assert diverging.saved() == {}


@pytest.mark.parametrize("kind", ["half_way", "digits"])
def test_a_full_disk_leaves_the_checkpoints_that_were_there(kind, request, digits_result):
    """No file may grow to a checkpoint's size, as on a disk that is full: two are there, or none yet."""
    replica = request.getfixturevalue(kind)
    before = replica.saved()
    line = replica.run(largest=4096).require_message(EXIT_FAILED)
    assert str(replica.checkpoint.relative_to(replica.folder)) in line
    assert "File too large; make room" in line
    assert (replica.saved(), len(before)) == (before, 2 if kind == "half_way" else 0)
    assert not replica.record.exists()
    assert replica.run().status == 0
    assert replica.result() == digits_result


def test_a_record_that_cannot_be_written_costs_no_training(half_way, digits_result):
    """The checkpoint goes only once the record is on the disk: from it the training goes on once there is room."""

    def files() -> set[str]:
        return {path.name for path in half_way.folder.iterdir() if not path.name.startswith("output-")}

    contents, before = files(), half_way.saved()
    step, _ = half_way.saved_at
    line = half_way.run(largest=len(digits_result) // 2, REPRISE_SAVE_SECONDS="600").require_message(EXIT_FAILED)
    assert f"reprise: error: {half_way.record.name}" in line
    assert "File too large; make room" in line
    assert (files(), half_way.saved()) == (contents, before)
    assert f"goes on from step {step}" in half_way.run().require_resumed()
    assert half_way.result() == digits_result


def test_seconds_between_saves_have_to_be_a_number(digits):
    line = digits.run(REPRISE_SAVE_SECONDS="often").require_message(EXIT_USAGE)
    assert "REPRISE_SAVE_SECONDS: 'often'" in line
    assert "seconds" in line


def test_saves_are_as_rare_as_they_are_wished(digits):
    running = digits.start(halt=Halt(0), REPRISE_SAVE_SECONDS="600")
    with pytest.raises(AssertionError, match="trained to its end"):
        running.wait_for_halt()
    assert digits.record.exists()
