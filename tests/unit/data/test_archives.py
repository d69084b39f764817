"""Archives that mean harm: nothing is written outside, nothing is left half-done."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from reprise.data.archives import take_member
from reprise.errors import UserError

LIMIT = 1 << 20
GOOD = {"a.txt": b"one\n" * 100, "deep/er/b.txt": b"two\n" * 100}


def tar_of(path: Path, entries: list[tuple[tarfile.TarInfo, bytes]], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:
        for info, content in entries:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def tar_entry(name: str, kind: bytes = tarfile.REGTYPE, to: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info


def tar_files(path: Path, files: dict[str, bytes], mode: str = "w:gz") -> Path:
    return tar_of(path, [(tar_entry(name), content) for name, content in files.items()], mode)


def zip_files(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return path


Maker = Callable[[Path, dict[str, bytes]], Path]
both = pytest.mark.parametrize("make", [tar_files, zip_files])


def state(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"folder"
        for path in sorted(folder.rglob("*"))
    }


def refused(archive: Path, tmp_path: Path, message: str, limit: int = LIMIT) -> None:
    """Taking the last file changes nothing anywhere under tmp_path, whether the file is there already or not."""
    for target in (tmp_path / "new" / "last.txt", tmp_path / "older.txt"):
        (tmp_path / "older.txt").write_text("older")
        before = state(tmp_path)
        with pytest.raises(UserError, match=message) as caught:
            take_member(archive, "last.txt", target, limit)
        assert "\n" not in str(caught.value)
        assert str(archive) in str(caught.value)
        after = state(tmp_path)
        assert after.pop("new", b"folder") == b"folder"  # the target's own folder may be made, and stays empty
        assert after == {name: content for name, content in before.items() if name != "new"}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_members_of_tar(tmp_path: Path, mode: str) -> None:
    archive = tar_files(tmp_path / "a.tar", {"./" + k: v for k, v in GOOD.items()}, mode)
    check_good(archive, tmp_path)


def test_members_of_zip(tmp_path: Path) -> None:
    archive = zip_files(tmp_path / "a.zip", {"deep/": b"", **GOOD})
    check_good(archive, tmp_path)


def check_good(archive: Path, tmp_path: Path) -> None:
    for name, content in GOOD.items():
        take_member(archive, name, tmp_path / "new" / "b", LIMIT)
        assert (tmp_path / "new" / "b").read_bytes() == content
        assert [path.name for path in (tmp_path / "new").iterdir()] == ["b"]
    take_member(archive, "a.txt", tmp_path / "new" / "b", LIMIT, prefix=5)
    assert (tmp_path / "new" / "b").read_bytes() == b"one\no"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["b"]


@both
def test_member_that_is_missing(tmp_path: Path, make: Maker) -> None:
    archive = make(tmp_path / "archive", GOOD)
    (tmp_path / "b").write_text("older")
    for name in ("b.txt", "deep"):
        with pytest.raises(UserError, match=f"holds no file {name}"):
            take_member(archive, name, tmp_path / "b", LIMIT)
    with pytest.raises(UserError, match="ends after 400 of 500 bytes"):
        take_member(archive, "a.txt", tmp_path / "b", LIMIT, prefix=500)
    assert (tmp_path / "b").read_text() == "older"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "b"]


@both
@pytest.mark.parametrize(
    "name",
    ["../evil", "../../evil", "a/../../evil", "/tmp/reprise-evil", "..\\evil", "C:/evil", "C:evil",
     "a/..", "new\nline", "x" * 300],
)  # fmt: skip
def test_names_that_climb(tmp_path: Path, make: Maker, name: str) -> None:
    archive = make(tmp_path / "archive", {"a.txt": b"fine", name: b"evil", "last.txt": b"x"})
    refused(archive, tmp_path, "unsafe member name")
    assert not Path("/tmp/reprise-evil").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
@pytest.mark.parametrize("to", ["../outside", "/etc", "a.txt", "."])
def test_links_in_tar(tmp_path: Path, kind: bytes, to: str) -> None:
    entries = [
        (tar_entry("a.txt"), b"fine"),
        (tar_entry("link", kind, to), b""),
        (tar_entry("link/evil"), b"evil"),
        (tar_entry("last.txt"), b"x"),
    ]
    refused(tar_of(tmp_path / "a.tar", entries), tmp_path, "link is a link or device")


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_devices_in_tar(tmp_path: Path, kind: bytes) -> None:
    entries = [(tar_entry("null", kind), b""), (tar_entry("last.txt"), b"x")]
    refused(tar_of(tmp_path / "a.tar", entries), tmp_path, "null is a link or device")


def test_symlink_in_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "../outside")
        archive.writestr("last.txt", "x")
    refused(tmp_path / "a.zip", tmp_path, "link is a link or device")


@both
def test_bomb(tmp_path: Path, make: Maker) -> None:
    archive = make(tmp_path / "archive", {"a.txt": bytes(64 << 20), "last.txt": b"x"})
    assert archive.stat().st_size < 100_000
    refused(archive, tmp_path, "unpacks to more than 1,048,576 bytes")


@both
def test_many_files_count_together(tmp_path: Path, make: Maker) -> None:
    files = {f"{i}.txt": bytes(1000) for i in range(11)} | {"last.txt": b"x"}
    archive = make(tmp_path / "archive", files)
    refused(archive, tmp_path, "unpacks to more than 10,999 bytes", limit=10_999)
    take_member(archive, "last.txt", tmp_path / "last.txt", 11_001)
    assert (tmp_path / "last.txt").read_bytes() == b"x"


def test_bomb_in_a_long_name(tmp_path: Path) -> None:
    """A header of 64 MiB, compressed to nothing: no member's size shows it."""
    archive = tmp_path / "a.tar.gz"
    info = tar_entry("././@LongLink", tarfile.GNUTYPE_LONGNAME)
    info.size = 64 << 20
    with gzip.open(archive, "wb") as out:
        out.write(info.tobuf(tarfile.GNU_FORMAT))
        out.write(bytes(info.size))
    refused(archive, tmp_path, "far more than its files need")


def test_zip_that_lies_about_a_size(tmp_path: Path) -> None:
    archive = zip_files(tmp_path / "a.zip", {"last.txt": bytes(5000)})
    data = archive.read_bytes()
    archive.write_bytes(data.replace((5000).to_bytes(4, "little"), (50).to_bytes(4, "little")))
    refused(archive, tmp_path, "cannot be unpacked")


@both
def test_of_a_name_that_comes_twice_the_first_is_taken(tmp_path: Path, make: Maker) -> None:
    archive = make(tmp_path / "archive", {"./a.txt": b"one", "a.txt": b"two"})
    take_member(archive, "a.txt", tmp_path / "out", LIMIT)
    assert (tmp_path / "out").read_bytes() == b"one"


@both
@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.9])
def test_truncated_archive(tmp_path: Path, make: Maker, keep: float) -> None:
    archive = make(tmp_path / "archive", {"a.txt": bytes(range(256)) * 2000, "last.txt": b"x"})
    data = archive.read_bytes()
    archive.write_bytes(data[: int(keep if keep > 1 else keep * len(data))])
    refused(archive, tmp_path, "cannot be unpacked")


def test_damaged_header_is_not_the_end(tmp_path: Path) -> None:
    archive = tar_files(tmp_path / "a.tar", {"a.txt": b"x" * 512, "last.txt": b"y"}, "w")
    data = bytearray(archive.read_bytes())
    data[1024 + 148] ^= 1  # checksum of the second header
    archive.write_bytes(data)
    refused(archive, tmp_path, "cannot be unpacked")
    archive.write_bytes(data[:1024])
    refused(archive, tmp_path, "cannot be unpacked")


def test_damaged_content(tmp_path: Path) -> None:
    archive = zip_files(tmp_path / "a.zip", {"last.txt": b"x" * 5000})
    data = bytearray(archive.read_bytes())
    data[45] ^= 0xFF
    archive.write_bytes(data)
    refused(archive, tmp_path, "cannot be unpacked")


@both
def test_folder_in_the_way(tmp_path: Path, make: Maker) -> None:
    archive = make(tmp_path / "archive", GOOD)
    (tmp_path / "out" / "mine").mkdir(parents=True)
    before = state(tmp_path)
    with pytest.raises(UserError, match="cannot be unpacked"):
        take_member(archive, "a.txt", tmp_path / "out", LIMIT)
    assert state(tmp_path) == before


@both
def test_link_in_the_way_is_replaced_and_not_followed(tmp_path: Path, make: Maker) -> None:
    archive = make(tmp_path / "archive", GOOD)
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    take_member(archive, "a.txt", tmp_path / "out", LIMIT)
    assert (tmp_path / "out").read_bytes() == GOOD["a.txt"]
    assert not (tmp_path / "out").is_symlink()
    assert (tmp_path / "elsewhere").read_text() == "mine"
