"""Checkpoints that were cut short, altered, forged or made by something else."""

import errno
import hashlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from replica import Replica

from reprise.errors import UserError
from reprise.training.checkpoint import MAGIC, CheckpointFile, DamagedCheckpoint, decode, encode

pytestmark = pytest.mark.faults


def cut_short(data: bytes) -> bytes:
    return data[: len(data) // 2]


def one_bit_flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def emptied(data: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [cut_short, one_bit_flipped, emptied])
def test_the_one_before_a_damaged_checkpoint_is_used_and_where_all_are_nothing_is_thrown_away(
    half_way: Replica, digits_result: bytes, damage: Callable[[bytes], bytes]
) -> None:
    whole, name = half_way.previous.read_bytes(), half_way.checkpoint.relative_to(half_way.folder)
    for path in (half_way.checkpoint, half_way.previous):
        path.write_bytes(damage(path.read_bytes()))
    before = half_way.saved()
    assert f"{name}: damaged, and no older one is whole; remove it to train from the start" in half_way.run().refusal()
    assert (half_way.saved(), len(before), half_way.record.exists()) == (before, 2, False)
    half_way.previous.write_bytes(whole)
    done = half_way.run()
    assert f"{name}: damaged checkpoint (cut short or altered); trying the one before it" in done.lines[0]
    assert done.went_on() == done.lines[1]
    assert half_way.result() == digits_result


@pytest.mark.parametrize("why", [errno.EIO, errno.EACCES])
def test_one_that_cannot_be_read_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: int
) -> None:
    """Neither is the older one trained on in its place: what was trained since would be lost."""
    file, said = CheckpointFile(tmp_path / "0.ckpt", "0" * 12, "reference", 0), []
    file.save({"step": 1})
    file.save({"step": 2})
    whole = Path.read_bytes

    def closed(path: Path) -> bytes:
        if path == file.path:
            raise OSError(why, os.strerror(why))
        return whole(path)

    with monkeypatch.context() as changed:
        changed.setattr(Path, "read_bytes", closed)
        with pytest.raises(OSError, match=os.strerror(why)) as caught:
            file.load(said.append)
    assert caught.value.filename == str(file.path)
    assert said == []
    assert file.load(said.append) == {"step": 2}


def test_one_behind_a_link_that_leads_nowhere_is_not_called_absent(tmp_path: Path) -> None:
    file, said = CheckpointFile(tmp_path / "0.ckpt", "0" * 12, "reference", 0), []
    file.save({"step": 1})
    file.save({"step": 2})
    file.path.unlink()
    file.path.symlink_to("/nowhere/0.ckpt")
    with pytest.raises(UserError, match=f"{file.path}: no such checkpoint: the link {file.path} leads nowhere"):
        file.load(said.append)
    assert said == []


def test_a_kill_between_two_renames_loses_nothing(half_way: Replica, digits_result: bytes) -> None:
    """While a checkpoint is put into its place there is a moment in which only the one before it has a name.

    The lock file is still there and names a process that is gone: nobody has to remove it.
    """
    assert half_way.lock.exists()
    half_way.checkpoint.replace(half_way.previous)
    assert half_way.run().went_on()
    assert half_way.result() == digits_result


@pytest.mark.parametrize(("key", "other"), [("replica", 1), ("engine", "reference"), ("config_hash", "1" * 12)])
def test_a_checkpoint_of_another_replica_or_engine_is_refused(tmp_path: Path, key: str, other: Any) -> None:
    made = {"config_hash": "0" * 12, "engine": "fused", "replica": 0}
    CheckpointFile(tmp_path / "0.ckpt", **made).save({"step": 1})
    with pytest.raises(UserError, match=f"0.ckpt: key {key}: made with {made[key]!r}, not {other!r}"):
        CheckpointFile(tmp_path / "0.ckpt", **made | {key: other}).load(print)


def test_a_checkpoint_of_a_version_that_kept_other_things_is_refused(half_way: Replica) -> None:
    state = decode(half_way.checkpoint.read_bytes())
    state["state"]["training"].pop("log")
    half_way.checkpoint.write_bytes(encode(state))
    assert "key 'log' is missing; another version of Reprise made it" in half_way.run().refusal()


class Gadget:
    """Pickled, it creates a file when it is read."""

    def __init__(self, target: Path):
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.target,)


@pytest.mark.parametrize("form", ["saved by torch", "plain pickle"])
def test_a_checkpoint_that_would_run_code_is_refused(tmp_path: Path, form: str) -> None:
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
def test_a_file_of_something_else_is_refused(content: Any) -> None:
    with pytest.raises(DamagedCheckpoint, match="not made by Reprise"):
        decode(encode(content))
