"""Raw files that are members of an archive or come from a mirror alone, and their checksums."""

from __future__ import annotations

import errno
import hashlib
import zipfile
from pathlib import Path

import pytest

from reprise.catalogue.spec import DatasetSpec, FileSpec
from reprise.data.fetch import fetch
from reprise.data.raw import file_digest
from reprise.errors import UserError

RIGHT = b"anarchism originated as a term of abuse\n" * 5000
WRONG = RIGHT.replace(b"abuse", b"praise")
NOWHERE = "http://127.0.0.1:9/dc/text8.zip"  # nothing may be asked of the network here


def member(tmp_path: Path, **values: object) -> DatasetSpec:
    """A dataset whose file is a member of tmp_path/text8.zip, which is made here."""
    path = tmp_path / "text8.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("text8", RIGHT)
    entry = {
        "name": "text8",
        "url": NOWHERE,
        "algorithm": "sha256",
        "digest": hashlib.sha256(path.read_bytes()).hexdigest(),
        "member": "text8",
        "member_digest": ("sha1", hashlib.sha1(RIGHT).hexdigest()),
    }
    return DatasetSpec("toy", "", "", "", "text8", (FileSpec(**{**entry, **values}),))


def shelf(tmp_path: Path, name: str, content: bytes) -> Path:
    file = tmp_path / "mirror" / "toy" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return tmp_path / "mirror"


def zipped(tmp_path: Path, **values: object) -> tuple[DatasetSpec, Path]:
    """The dataset and a mirror that holds its archive."""
    spec = member(tmp_path, **values)
    return spec, shelf(tmp_path, "text8.zip", (tmp_path / "text8.zip").read_bytes())


def get(spec: DatasetSpec, tmp_path: Path, mirror: Path | None, said: list[str]) -> Path:
    (path,) = fetch(spec, tmp_path / "raw", mirror, said.append, pause=0.0)
    return path


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "raw" / "toy").iterdir())


def test_member_of_an_archive(tmp_path: Path) -> None:
    said: list[str] = []
    spec, mirror = zipped(tmp_path)
    assert spec.checksums() == {"text8": "sha1:" + hashlib.sha1(RIGHT).hexdigest()}
    path = get(spec, tmp_path, mirror, said)
    assert path == tmp_path / "raw" / "toy" / "text8"
    assert path.read_bytes() == RIGHT
    assert "text8.zip: from the mirror" in said[0]
    assert "taken out of text8.zip" in said[1]
    path.write_bytes(WRONG)
    assert get(spec, tmp_path, None, said).read_bytes() == RIGHT  # out of the archive kept in raw/
    assert "wrong checksum" in said[2]
    assert "already there" in said[3]
    assert "taken out" in said[4]
    assert left(tmp_path) == ["text8", "text8.zip"]
    get(spec, tmp_path, None, said)
    assert said[5:] == ["toy/text8: already there, checksum verified"]


def test_member_straight_from_the_mirror(tmp_path: Path) -> None:
    said: list[str] = []
    mirror = shelf(tmp_path, "text8", RIGHT)
    assert get(member(tmp_path), tmp_path, mirror, said).read_bytes() == RIGHT
    assert len(said) == 1
    assert "toy/text8: from the mirror" in said[0]
    assert left(tmp_path) == ["text8"]


def test_wrong_member_in_the_mirror(tmp_path: Path) -> None:
    said: list[str] = []
    spec, mirror = zipped(tmp_path)
    shelf(tmp_path, "text8", WRONG)
    assert get(spec, tmp_path, mirror, said).read_bytes() == RIGHT
    assert "refused" in said[0]
    assert "taken out" in said[-1]


def test_member_without_a_checksum_is_taken_again(tmp_path: Path) -> None:
    spec, mirror = zipped(tmp_path, member_digest=None)
    get(spec, tmp_path, mirror, []).write_bytes(WRONG)
    assert get(spec, tmp_path, mirror, []).read_bytes() == RIGHT


def test_prefix_of_a_member(tmp_path: Path) -> None:
    start = ["sha256", hashlib.sha256(RIGHT[:1234]).hexdigest()]
    spec, mirror = zipped(tmp_path, prefix=1234, member_digest=start)
    assert get(spec, tmp_path, mirror, []).read_bytes() == RIGHT[:1234]


@pytest.mark.parametrize("change", [{"member_digest": ("sha1", "0" * 40)}, {"member": "text9"}])
def test_a_wrong_member_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    spec, mirror = zipped(tmp_path, **change)
    with pytest.raises(UserError, match="checksum|holds no file"):
        get(spec, tmp_path, mirror, [])
    assert left(tmp_path) == ["text8.zip"]


@pytest.mark.parametrize("algorithm", ["sha256", "sha1", "git-blob"])
def test_a_file_that_the_mirror_alone_has_is_checked(tmp_path: Path, algorithm: str) -> None:
    (tmp_path / "x").write_bytes(RIGHT)
    digest = file_digest(tmp_path / "x", algorithm)
    spec = DatasetSpec("toy", "", "", "", "ptb", (FileSpec("a", None, algorithm, digest),))
    mirror = shelf(tmp_path, "a", WRONG)
    with pytest.raises(UserError, match=rf"{digest}.*key datasets.toy.files, or replace {mirror}"):
        get(spec, tmp_path, mirror, [])
    assert get(spec, tmp_path, shelf(tmp_path, "a", RIGHT), []).read_bytes() == RIGHT


def test_checksums_are_those_of_git_and_openssl(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"hello\n")
    assert file_digest(file, "sha1") == "f572d396fae9206628714fb2ce00f72e94f2258f"
    assert file_digest(file, "git-blob") == "ce013625030ba8dba906f756967f9e9ca394464a"


@pytest.mark.parametrize("called", ["reprise.data.fetch.shutil.copyfile", "reprise.data.archives.shutil.copyfileobj"])
def test_a_full_disk_is_named_and_not_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: str
) -> None:
    spec, mirror = zipped(tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(called, full)
    with pytest.raises(OSError, match="No space left") as caught:
        get(spec, tmp_path, mirror, [])
    assert Path(caught.value.filename).parent == tmp_path / "raw/toy"
    assert not (tmp_path / "raw/toy/text8").exists()
