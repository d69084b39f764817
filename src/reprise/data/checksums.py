"""The one way in which files are checked, wherever they come from."""

from __future__ import annotations

import hashlib
from pathlib import Path

_BLOCK = 1 << 20


def file_digest(path: Path, algorithm: str) -> str:
    """Hexadecimal digest of a file: sha256, sha1, md5, or git-blob (the id that git gives its content).

    A git blob id is the SHA-1 of the bytes `blob <size>`, a zero byte and the content.
    """
    with path.open("rb") as file:
        if algorithm == "git-blob":
            state = hashlib.sha1(usedforsecurity=False)
            state.update(b"blob %d\0" % path.stat().st_size)
        else:
            state = hashlib.new(algorithm, usedforsecurity=False)
        while block := file.read(_BLOCK):
            state.update(block)
    return state.hexdigest()


def mismatch(path: Path, algorithm: str, digest: str) -> str | None:
    """None where the file has this digest, else a clause that tells both digests."""
    found = file_digest(path, algorithm)
    if found == digest:
        return None
    return f"wrong checksum ({algorithm}): expected {digest}, got {found}"
