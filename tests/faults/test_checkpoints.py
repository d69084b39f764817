"""Checkpoints that were cut short, altered, forged or made by something else."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from progress import Halt
from replica import Replica

from reprise.errors import UserError
from reprise.training.checkpoint import MAGIC, CheckpointFile, encode

pytestmark = pytest.mark.faults


def cut_short(data: bytes) -> bytes:
    return data[: len(data) // 2]


def one_bit_flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def emptied(data: bytes) -> bytes:
    return b""


DAMAGES = [cut_short, one_bit_flipped, emptied]


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_one_before_a_damaged_checkpoint_is_used(
    half_way: Replica, digits_result: bytes, damage: Callable[[bytes], bytes]
) -> None:
    half_way.checkpoint.write_bytes(damage(half_way.checkpoint.read_bytes()))
    done = half_way.run()
    assert done.status == 0, done.err
    name = half_way.checkpoint.relative_to(half_way.folder)
    assert f"{name}: damaged checkpoint (cut short or altered); trying the one before it" in done.lines[0]
    assert "goes on from step" in done.lines[1]
    assert half_way.result() == digits_result


@pytest.mark.parametrize("damage", DAMAGES)
def test_where_all_are_damaged_nothing_is_thrown_away(half_way: Replica, damage: Callable[[bytes], bytes]) -> None:
    for path in (half_way.checkpoint, half_way.previous):
        path.write_bytes(damage(path.read_bytes()))
    before = half_way.saved()
    line = half_way.run().refusal()
    assert str(half_way.checkpoint.relative_to(half_way.folder)) in line
    assert "remove it to train from the start" in line
    assert half_way.saved() == before
    assert len(before) == 2
    assert not half_way.record.exists()


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


def test_removed_as_told_it_trains_from_the_start(half_way: Replica, digits_result: bytes) -> None:
    for path in (half_way.checkpoint, half_way.previous):
        path.unlink()
    done = half_way.run()
    assert done.status == 0
    assert "goes on from" not in done.err
    assert half_way.result() == digits_result


def test_a_kill_between_two_renames_loses_nothing(half_way: Replica, digits_result: bytes) -> None:
    """While a checkpoint is put into its place there is a moment in which only the one before it has a name."""
    half_way.checkpoint.replace(half_way.previous)
    done = half_way.run()
    assert "goes on from step" in done.lines[0]
    assert half_way.result() == digits_result


@pytest.mark.parametrize("other", [{"learning_rate": 0.02}, {"steps": 1900}], ids=["learning-rate", "steps"])
def test_a_checkpoint_of_another_configuration_is_refused(half_way: Replica, other: dict[str, Any]) -> None:
    changed = half_way.with_options(**other)
    assert changed.checkpoint != half_way.checkpoint
    shutil.copy(half_way.checkpoint, changed.checkpoint)
    before = changed.saved()
    line = changed.run().refusal()
    old, new = half_way.resolved.config_hash, changed.resolved.config_hash
    assert f"key config_hash: made with '{old}', not '{new}'" in line
    assert "remove the file to train from the start" in line
    assert changed.saved() == before


def test_a_checkpoint_of_another_replica_is_refused(half_way: Replica) -> None:
    theirs = half_way.checkpoint.with_name(half_way.checkpoint.name.replace("0-", "1-", 1))
    shutil.copy(half_way.checkpoint, theirs)
    line = half_way.run("--replica", "1").refusal()
    assert f"{theirs.relative_to(half_way.folder)}: key replica: made with 0, not 1" in line


def test_a_checkpoint_of_another_engine_is_refused(words: Replica) -> None:
    words.start("--engine", "fused", halt=Halt(0)).wait_for_halt().send(signal.SIGKILL)
    before = words.saved()
    line = words.run("--engine", "reference").refusal()
    assert "key engine: made with 'fused', not 'reference'" in line
    assert words.saved() == before


class Gadget:
    """Pickled, it creates a file when it is read."""

    def __init__(self, target: Path):
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.target,)


def sealed(payload: bytes) -> bytes:
    """The payload under a checksum that fits, as whoever wants to be believed would write it."""
    import hashlib

    return MAGIC + hashlib.sha256(payload).digest() + payload


@pytest.mark.parametrize("form", ["saved by torch", "plain pickle"])
def test_a_checkpoint_that_would_run_code_is_refused(half_way: Replica, tmp_path: Path, form: str) -> None:
    target = tmp_path / "the code ran"
    content = {"identity": {}, "state": Gadget(target)}
    forged = encode(content) if form == "saved by torch" else sealed(pickle.dumps(content))
    for path in (half_way.checkpoint, half_way.previous):
        path.write_bytes(forged)
    before = half_way.saved()
    done = half_way.run()
    assert "remove it to train from the start" in done.refusal()
    assert not target.exists()
    assert half_way.saved() == before
    # The test can fail: read without care the same bytes do run it.
    pickle.loads(pickle.dumps(content))
    assert target.exists()


@pytest.mark.parametrize("content", [[1, 2], {"state": {}}, {"identity": {}}, torch.zeros(3)])
def test_a_file_of_something_else_is_refused(half_way: Replica, content: Any) -> None:
    for path in (half_way.checkpoint, half_way.previous):
        path.write_bytes(encode(content))
    assert "not made by Reprise" in half_way.run().lines[0]
    assert not half_way.record.exists()
