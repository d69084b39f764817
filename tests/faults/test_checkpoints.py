"""Checkpoints that were cut short, altered, forged or made by something else."""

import errno
import hashlib
import os
import pickle
import random
from pathlib import Path

import pytest
import torch
from project import flipped

from reprise.errors import EXIT_USAGE, UserError
from reprise.training.checkpoint import MAGIC, CheckpointFile, DamagedCheckpoint, decode, encode

pytestmark = pytest.mark.faults


def test_no_bit_and_no_end_of_a_checkpoint_matters_unseen(killed_digits):
    data, draw = killed_digits.checkpoint.read_bytes(), random.Random(1)
    decode(data)
    bits = [*range(64), *(draw.randrange(8 * len(data)) for _ in range(200))]
    ends = [0, *(draw.randrange(len(data)) for _ in range(50))]
    for damaged in [flipped(data, bit) for bit in bits] + [data[:end] for end in ends]:
        with pytest.raises(DamagedCheckpoint):
            decode(damaged)


def test_the_one_before_a_damaged_checkpoint_is_used_and_where_all_are_nothing_is_thrown_away(half_way, digits_result):
    original, name = half_way.previous.read_bytes(), half_way.checkpoint.relative_to(half_way.folder)
    for path in (half_way.checkpoint, half_way.previous):
        path.write_bytes(path.read_bytes()[:-100])
    before, line = half_way.saved(), half_way.run().require_message(EXIT_USAGE)
    assert f"{name} and " in line
    assert f"{name}.previous: damaged; remove both" in line
    assert (half_way.saved(), len(before), half_way.record.exists()) == (before, 2, False)
    half_way.previous.write_bytes(original)
    ended = half_way.run()
    assert f"{name}: damaged checkpoint" in ended.lines[0]
    assert ended.require_resumed() == ended.lines[1]
    assert half_way.result() == digits_result


@pytest.fixture
def file(tmp_path):
    """The file of a replica's checkpoints, of which it has two."""
    file = CheckpointFile(tmp_path / "0.ckpt", "0" * 12, "reference", 0)
    for step in (1, 2):
        file.save({"step": step})
    return file


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
def test_one_that_cannot_be_read_is_not_called_damaged(file, monkeypatch, number):
    """Neither is the older one trained on in its place: what was trained since would be lost."""
    read_bytes, messages = Path.read_bytes, []

    def closed(path: Path) -> bytes:
        if path == file.path:
            raise OSError(number, os.strerror(number))
        return read_bytes(path)

    with monkeypatch.context() as changed:
        changed.setattr(Path, "read_bytes", closed)
        with pytest.raises(OSError, match=os.strerror(number)) as caught:
            file.load(messages.append)
    assert caught.value.filename == str(file.path)
    assert messages == []
    assert file.load(messages.append) == {"step": 2}


def test_one_behind_a_link_that_leads_nowhere_is_not_called_absent(file):
    messages = []
    file.path.unlink()
    file.path.symlink_to("/nowhere/0.ckpt")
    with pytest.raises(UserError, match=f"^{file.path}: .*link {file.path} "):
        file.load(messages.append)
    assert messages == []


def test_a_kill_between_two_renames_loses_nothing(half_way, digits_result):
    """While a checkpoint is put into its place there is a moment in which only the one before it has a name.

    The lock file is still there and names a process that is gone: nobody has to remove it.
    """
    assert half_way.lock.exists()
    half_way.checkpoint.replace(half_way.previous)
    assert half_way.run().require_resumed()
    assert half_way.result() == digits_result


@pytest.mark.parametrize("is_full", [True, False])
def test_a_whole_older_checkpoint_stays_until_a_new_one_is_on_the_disk(file, monkeypatch, is_full):
    """The newest one is damaged, and the disk may be full when the next one is saved."""
    whole = file.previous.read_bytes()
    file.path.write_bytes(file.path.read_bytes()[:-1])
    assert file.load(print) == {"step": 1}

    def refuse(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if is_full:
        monkeypatch.setattr("reprise.training.checkpoint.os.fsync", refuse)
        with pytest.raises(OSError, match=r"0\.ckpt"):
            file.save({"step": 2})
    else:
        file.save({"step": 2})
    assert file.previous.read_bytes() == whole
    reader = CheckpointFile(file.path, "0" * 12, "reference", 0)
    assert reader.load(print) == {"step": 1 if is_full else 2}


def test_both_checkpoints_stay_when_the_disk_is_full(file, monkeypatch):
    before = file.path.read_bytes(), file.previous.read_bytes()

    def refuse(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("reprise.training.checkpoint.os.fsync", refuse)
    with pytest.raises(OSError, match=r"0\.ckpt"):
        file.save({"step": 3})
    assert (file.path.read_bytes(), file.previous.read_bytes()) == before


@pytest.mark.parametrize(("key", "other"), [("replica", 1), ("engine", "fused"), ("config_hash", "1" * 12)])
def test_a_checkpoint_of_another_replica_or_engine_is_refused(file, key, other):
    made = {"config_hash": "0" * 12, "engine": "reference", "replica": 0}
    with pytest.raises(UserError, match=f"0.ckpt: key {key}: .*{made[key]!r}.*{other!r}"):
        CheckpointFile(file.path, **made | {key: other}).load(print)


def test_a_whole_checkpoint_that_no_training_can_take_over_is_damaged(half_way, digits_result):
    """Its checksum fits: another version made it, or somebody's script."""
    name = half_way.checkpoint.relative_to(half_way.folder)
    original = half_way.previous.read_bytes()
    for path in (half_way.checkpoint, half_way.previous):
        content = decode(path.read_bytes())
        content["state"]["training"].pop("log")
        path.write_bytes(encode(content))
    assert f"{name}.previous: damaged" in half_way.run().require_message(EXIT_USAGE)
    half_way.previous.write_bytes(original)
    ended = half_way.run()
    assert f"{name}: damaged checkpoint" in ended.lines[0]
    assert "key 'log'" in ended.lines[0]
    assert ended.require_resumed() == ended.lines[1]
    assert half_way.result() == digits_result


class Gadget:
    """Pickled, it creates a file when it is read."""

    def __init__(self, target: Path):
        self.target = target

    def __reduce__(self):
        return Path.touch, (self.target,)


@pytest.mark.parametrize("form", ["saved by torch", "plain pickle"])
def test_a_checkpoint_that_would_run_code_is_refused(tmp_path, form):
    """Under a checksum that fits, as whoever wants to be believed would write it."""
    target = tmp_path / "the code ran"
    content = {"identity": {}, "state": Gadget(target)}
    payload = pickle.dumps(content, 2)  # the protocol that torch reads without a warning
    with pytest.raises(DamagedCheckpoint):
        decode(encode(content) if form == "saved by torch" else MAGIC + hashlib.sha256(payload).digest() + payload)
    assert not target.exists()
    # The test can fail: read without care the same bytes do run it.
    pickle.loads(payload)
    assert target.exists()


@pytest.mark.parametrize("content", [[1, 2], {"state": {}}, {"identity": {}}, torch.zeros(3)])
def test_a_file_of_something_else_is_refused(content):
    with pytest.raises(DamagedCheckpoint, match="not made by Reprise"):
        decode(encode(content))
