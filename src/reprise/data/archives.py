"""Takes a file out of a tar or zip archive that others made, and trusts nothing the archive says.

Only a regular file is taken, and written to a place of our choice, never to one that the archive names. On the way to
it every name and kind is checked here, so that the same rules hold on every Python: an archive that climbs, or has a
link, even one that points inside, is refused. Nothing appears at its place before all of it is right.
"""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from reprise.errors import UserError
from reprise.files import atomic_path

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""What the system says where a file is to grow and cannot: the archive is not to blame."""
_BLOCK = 1 << 16
_HEADERS = 1 << 20  # bytes of tar headers and padding that even a small archive may have
_OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_ERRORS = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    NotImplementedError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
)


@dataclass(frozen=True)
class _Member:
    name: str  # relative, with /
    folder: bool
    size: int  # bytes, as the archive declares
    content: IO[bytes] | None


def take_member(archive: Path, member: str, target: Path, limit: int, prefix: int | None = None) -> None:
    """Writes one file of the archive (its first `prefix` bytes if given) to `target`.

    `limit`: bytes that the archive's files may unpack to, as far as they must be read. Raises
    UserError if the member is missing, the archive damaged or over the limit, or any name or kind
    in it unsafe; `target` is then as it was.
    """
    with _trouble(archive), atomic_path(target) as temporary:
        for entry in _members(archive, limit):
            if entry.name == member and not entry.folder:
                with temporary.open("wb") as out:
                    _copy(entry, out, archive, prefix)
                return
        raise UserError(f"{archive}: holds no file {member}")


@contextlib.contextmanager
def _trouble(archive: Path) -> Iterator[None]:
    try:
        yield
    except _ERRORS as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise
        raise UserError(f"{archive}: cannot be unpacked ({str(error) or type(error).__name__})") from None


def _members(archive: Path, limit: int) -> Iterator[_Member]:
    """Checked members in the archive's order; reads no further than it is asked to."""
    with archive.open("rb") as file:
        head = file.read(8)
    zipped = head.startswith((b"PK\x03\x04", b"PK\x05\x06"))
    total = 0
    for entry in _zip_members(archive) if zipped else _tar_members(archive, head, limit):
        total += entry.size
        if total > limit:
            raise UserError(f"{archive}: unpacks to more than {limit:,} bytes; refused")
        yield entry


def _zip_members(archive: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            name = _safe_name(archive, info.orig_filename)
            kind = stat.S_IFMT(info.external_attr >> 16)  # 0 where the maker was not Unix
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise UserError(f"{archive}: {name} is a link or device; refused")
            if info.is_dir():
                yield _Member(name, True, 0, None)
            else:
                with opened.open(info) as content:
                    yield _Member(name, False, info.file_size, content)


def _tar_members(archive: Path, head: bytes, limit: int) -> Iterator[_Member]:
    opener: Any = next((o for magic, o in _OPENERS.items() if head.startswith(magic)), open)
    with (
        opener(archive, "rb") as raw,
        tarfile.open(fileobj=_Meter(raw, archive, 2 * limit + _HEADERS), mode="r|", tarinfo=_StrictInfo) as opened,
    ):
        for info in opened:
            name = _safe_name(archive, info.name)
            if not (info.isreg() or info.isdir()):
                raise UserError(f"{archive}: {name} is a link or device; refused")
            content = opened.extractfile(info) if info.isreg() else None
            yield _Member(name, info.isdir(), info.size if info.isreg() else 0, content)


class _StrictInfo(tarfile.TarInfo):
    """A header; a broken or missing one is an error, where tarfile would see the archive's end."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> tarfile.TarInfo:
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # the two blocks of zeros that end an archive
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from None


class _Meter:
    """A reader that gives up after so many bytes: long-name headers may hide a bomb, too."""

    def __init__(self, raw: IO[bytes], archive: Path, allowance: int) -> None:
        self._raw, self._archive, self._left = raw, archive, allowance

    def read(self, size: int) -> bytes:
        data = self._raw.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise UserError(f"{self._archive}: unpacks to far more than its files need; refused")
        return data


def _safe_name(archive: Path, name: str) -> str:
    """The name without `./`; UserError where it is absolute, climbs, or could mean two things."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    unsafe = (
        name.startswith("/")
        or ".." in parts
        or re.search(r"[\\\x00-\x1f\x7f]|^[A-Za-z]:", name)  # Windows paths and drives, control characters
        or any(len(part.encode("utf-8", "replace")) > 255 for part in parts)
    )
    if unsafe:
        raise UserError(f"{archive}: unsafe member name {name!r}; refused")
    return "/".join(parts)


def _copy(entry: _Member, out: IO[bytes], archive: Path, prefix: int | None) -> None:
    wanted = entry.size if prefix is None else prefix
    left = wanted
    while left > 0 and entry.content and (block := entry.content.read(min(_BLOCK, left))):
        out.write(block)
        left -= len(block)
    if left:
        raise UserError(f"{archive}: {entry.name} ends after {wanted - left:,} of {wanted:,} bytes")
