"""A member of a zip archive is taken whole, or nothing is left."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from reprise.data.archives import take_member
from reprise.errors import UserError

LIMIT = 1 << 20
GOOD = {"a.txt": b"one\n" * 100, "deep/er/b.txt": b"two\n" * 100, "../c.txt": b"three"}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with zipfile.ZipFile(tmp_path / "z.zip", "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in {**GOOD, "bomb": b"\0" * (2 * LIMIT)}.items():
            opened.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return tmp_path / "z.zip"


@pytest.mark.parametrize("name", GOOD)
def test_a_member_is_taken_to_our_place_alone(tmp_path, archive, name):
    take_member(archive, name, tmp_path / "here/x", LIMIT)
    assert (tmp_path / "here/x").read_bytes() == GOOD[name]
    take_member(archive, name, tmp_path / "here/x", LIMIT, prefix=3)
    assert (tmp_path / "here/x").read_bytes() == GOOD[name][:3]
    assert {path.name for path in tmp_path.rglob("*")} == {"z.zip", "here", "x"}


@pytest.mark.parametrize(("name", "prefix"), [("nothing", None), ("deep", None), ("bomb", None), ("a.txt", 401)])
def test_what_cannot_be_taken_leaves_the_place_as_it_was(tmp_path, archive, name, prefix):
    (tmp_path / "x").write_bytes(b"old")
    with pytest.raises(UserError, match=r"z\.zip: "):
        take_member(archive, name, tmp_path / "x", LIMIT, prefix)
    assert (tmp_path / "x").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.9])
def test_a_truncated_or_damaged_archive_is_one_line(tmp_path, archive, keep):
    whole = archive.read_bytes()
    archive.write_bytes(whole[: int(keep * len(whole)) if isinstance(keep, float) else keep])
    with pytest.raises(UserError, match="cannot be unpacked"):
        take_member(archive, "a.txt", tmp_path / "x", LIMIT)
    archive.write_bytes(whole[:45] + bytes([whole[45] ^ 255]) + whole[46:])
    with pytest.raises(UserError, match="cannot be unpacked"):
        take_member(archive, "a.txt", tmp_path / "x", LIMIT)
    assert not (tmp_path / "x").exists()
