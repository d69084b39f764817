"""Single bits that fall over, and ends that are missing, at random places of the files that a training leaves."""

import random
from pathlib import Path

import pytest
from replica import Replica

from reprise.errors import UserError
from reprise.records.record import RESULT_KEYS, Outcome, make_record, read_record, write_record
from reprise.records.resolved import Resolved
from reprise.training.checkpoint import DamagedCheckpoint, decode

pytestmark = pytest.mark.faults


def flipped(data: bytes, place: int) -> bytes:
    """The data with one bit changed, the one of that number."""
    changed = bytearray(data)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


def test_no_bit_of_a_checkpoint_matters_unseen(killed_digits: Replica) -> None:
    data = killed_digits.checkpoint.read_bytes()
    decode(data)
    draw = random.Random(1)
    places = [*range(64), *(draw.randrange(8 * len(data)) for _ in range(200))]
    for damaged in [flipped(data, place) for place in places] + [data[: draw.randrange(len(data))] for _ in range(50)]:
        with pytest.raises(DamagedCheckpoint):
            decode(damaged)


@pytest.fixture
def record(tmp_path: Path) -> Path:
    config = {"model": {"name": "elman", "options": {"hidden_size": 8}}, "training": {"options": {"steps": 3}}}
    resolved = Resolved("p", "e", "quick", "t", 1, config, {}, None)
    metrics = [{"split": "train", "metric": "accuracy", "value": 0.375, "unit": "share", "n": 8}]
    curves = [{"split": "train", "metric": "loss", "unit": "nats", "axis": "step", "x": [0, 1], "y": [2.5, 1.25]}]
    run = {"engine": "hand", "device": "cpu", "wall_seconds": 1.0}
    outcome = Outcome(metrics=metrics, curves=curves)
    write_record(tmp_path / "r.json", make_record(resolved, 0, outcome, 96, None, run))
    return tmp_path / "r.json"


def test_no_bit_of_a_record_matters_unseen(record: Path) -> None:
    """A record with a bit changed is refused in one line, or its result is what it was: the bit was in the key run."""
    data, whole = record.read_bytes(), read_record(record)
    draw, refusals = random.Random(2), []
    places = draw.sample(range(8 * len(data)), 1500)
    for place in places:
        record.write_bytes(flipped(data, place))
        try:
            found = read_record(record)
        except UserError as error:
            refusals.append(str(error))
        else:
            assert {k: found[k] for k in RESULT_KEYS} == {k: whole[k] for k in RESULT_KEYS}
    assert all(line.startswith(f"{record}: ") and "\n" not in line for line in refusals)
    assert len(refusals) > len(places) / 2
    for end in draw.sample(range(len(data) - 1), 300):
        record.write_bytes(data[:end])
        with pytest.raises(UserError, match="not a whole run record"):
            read_record(record)
