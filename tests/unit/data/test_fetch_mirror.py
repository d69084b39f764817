"""A file that only a mirror has: a wrong one, and a disk without room for it."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path

import pytest

from reprise.catalogue.spec import DatasetSpec, FileSpec
from reprise.data.fetch import fetch
from reprise.errors import UserError

RIGHT, WRONG = b"black monday\n", b"black sunday\n"
SHA256 = hashlib.sha256(RIGHT).hexdigest()
SPEC = DatasetSpec("toy", "", "", "", "ptb", (FileSpec("a.txt", None, "sha256", SHA256),), "toys")


def shelf(tmp_path: Path, content: bytes) -> Path:
    file = tmp_path / "mirror" / "toys" / "a.txt"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    return tmp_path / "mirror"


def test_a_wrong_file_in_the_mirror_that_nobody_else_has(tmp_path: Path) -> None:
    mirror = shelf(tmp_path, WRONG)
    with pytest.raises(UserError) as caught:
        fetch(SPEC, tmp_path / "raw", mirror, print)
    assert str(caught.value) == (
        f"toy/a.txt: the mirror's file has a wrong checksum (sha256): expected {SHA256}, got"
        f" {hashlib.sha256(WRONG).hexdigest()}; correct its digest in config/config.yaml, key datasets.toy.files,"
        f" or replace {mirror / 'toys' / 'a.txt'}"
    )


def test_a_full_disk_is_named_and_not_the_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `shutil` tells it where the system copies: the source stands first."""
    mirror = shelf(tmp_path, RIGHT)

    def full(source: Path, copy: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(source), None, str(copy))

    monkeypatch.setattr("reprise.data.fetch.shutil.copyfile", full)
    with pytest.raises(OSError, match="No space left") as caught:
        fetch(SPEC, tmp_path / "raw", mirror, print)
    assert caught.value.filename == str(tmp_path / "raw" / "toy" / "a.txt")
    assert list((tmp_path / "raw" / "toy").iterdir()) == []
