"""Takes a file out of a zip archive that others made, to a place of ours: the archive's names lead nowhere."""

from __future__ import annotations

import errno
import shutil
import zipfile
import zlib
from pathlib import Path

from reprise.errors import UserError
from reprise.files import atomic_path

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Errors of a full disk: the archive is not to blame."""


def take_member(archive: Path, member: str, target: Path, limit: int, prefix: int | None = None) -> None:
    """Writes one file of the archive (its first `prefix` bytes if given) to `target`, whole or not at all.

    Raises UserError if the member is missing, damaged, or larger than `limit` bytes; `target` is then as it was.
    """
    try:
        with zipfile.ZipFile(archive) as opened, atomic_path(target) as temporary:
            if member not in opened.namelist():
                raise UserError(f"{archive}: holds no file {member}")
            size = opened.getinfo(member).file_size
            wanted = size if prefix is None else prefix
            if wanted > limit:
                raise UserError(f"{archive}: {member} unpacks to more than {limit:,} bytes; refused")
            with opened.open(member) as content, temporary.open("wb") as out:
                if prefix is None:
                    shutil.copyfileobj(content, out)
                else:
                    out.write(content.read(prefix))
                written = out.tell()
            if written < wanted:
                raise UserError(f"{archive}: {member} ends after {written:,} of {wanted:,} bytes")
    except (EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile, OSError) as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise
        raise UserError(f"{archive}: cannot be unpacked ({str(error) or type(error).__name__})") from None
