"""Numbers that are no longer finite, disks that are full, folders that are closed."""

import csv
import json
import signal

import pytest
from project import read_record
from replica import Halt, Replica, progress

from reprise.evidence.collect import collect
from reprise.records.record import result_digest

pytestmark = pytest.mark.faults


def test_a_diverged_training_says_so_instead_of_a_number(digits: Replica) -> None:
    diverging = digits.with_options(learning_rate=1.0e37)
    done = diverging.run()
    assert done.status == 0, done.err
    assert "diverged: step 25, quantity training loss" in done.err
    record = read_record(diverging.record)  # refuses NaN and infinity
    assert (record["status"], record["metrics"]) == ("diverged", [])
    assert record["diverged"] == {"step": 25, "quantity": "training loss"}
    assert [curve["x"] for curve in record["curves"]] == [[0], [0]]
    assert record["result_sha256"] == result_digest(record)
    assert diverging.saved() == {}
    place = digits.folder / diverging.resolved.record_path(0)
    place.parent.mkdir(parents=True)
    diverging.record.rename(place)
    folder = digits.folder / "results/quick"
    assert collect([diverging.resolved], digits.folder, folder) == (1, 1)
    with (folder / "metrics.csv").open(encoding="utf-8", newline="") as file:
        assert [(row["status"], row["value"]) for row in csv.DictReader(file)] == [("diverged", "")]
    assert json.loads((folder / "metrics.json").read_text(encoding="utf-8")) == {}


@pytest.mark.parametrize("kind", ["half_way", "digits"])
def test_a_full_disk_leaves_the_checkpoints_that_were_there(
    kind: str, request: pytest.FixtureRequest, digits_result: bytes
) -> None:
    """No file may grow to a checkpoint's size, as on a disk that is full: two are there, or none yet."""
    replica: Replica = request.getfixturevalue(kind)
    before = replica.saved()
    line = replica.run(largest=4096).failure()
    assert str(replica.checkpoint.relative_to(replica.folder)) in line
    assert "File too large; make room" in line
    assert (replica.saved(), len(before)) == (before, 2 if kind == "half_way" else 0)
    assert not replica.record.exists()
    assert replica.run().status == 0
    assert replica.result() == digits_result


def test_a_record_that_cannot_be_written_costs_no_training(digits: Replica, digits_result: bytes) -> None:
    """The checkpoint goes only once the record is on the disk, whose place is lost after the training has begun."""
    running = digits.start("--output", "closed/record.json", halt=Halt(1)).wait_for_halt()
    (digits.folder / "closed").write_text("a file where a folder should be", encoding="utf-8")
    done = running.send(signal.SIGCONT)
    assert "closed is no folder, and one is wanted" in done.failure()
    step, _ = progress(digits.checkpoint)
    assert step > 0
    done = digits.run()
    assert f"goes on from step {step}" in done.lines[0]
    assert digits.result() == digits_result


def test_a_full_disk_leaves_no_half_record(half_way: Replica, digits_result: bytes) -> None:
    """Nor takes what is there already: from the last checkpoint the training goes on once there is room."""

    def files() -> set[str]:
        return {path.name for path in half_way.folder.iterdir() if not path.name.startswith("said-")}

    there, before = files(), half_way.saved()
    step, _ = progress(half_way.checkpoint)
    done = half_way.run(largest=len(digits_result) // 2, REPRISE_SAVE_SECONDS="600")
    assert f"reprise: error: {half_way.record.name}" in done.failure()
    assert "File too large; make room" in done.failure()
    assert (files(), half_way.saved()) == (there, before)
    done = half_way.run()
    assert f"goes on from step {step}" in done.lines[0]
    assert half_way.result() == digits_result


def test_seconds_between_saves_have_to_be_a_number(digits: Replica) -> None:
    line = digits.run(REPRISE_SAVE_SECONDS="often").refusal()
    assert "REPRISE_SAVE_SECONDS: 'often' is not a number; write seconds" in line


def test_saves_are_as_rare_as_they_are_wished(digits: Replica) -> None:
    running = digits.start(halt=Halt(0), REPRISE_SAVE_SECONDS="600")
    with pytest.raises(AssertionError, match="trained to its end"):
        running.wait_for_halt()
    assert digits.record.exists()
