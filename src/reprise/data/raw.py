"""Raw files: their checksums, and reading them as bytes or lines."""

import gzip
import hashlib
import zlib
from pathlib import Path

from reprise.errors import UserError


def how_to_fetch(raw: Path) -> str:
    """The remedy for files that are missing in a raw folder, which is called as its dataset is."""
    return f"run `python -m reprise fetch {raw.name}`"


def file_digest(path: Path, algorithm: str) -> str:
    """Hexadecimal digest of a file: sha256, sha1, md5, or git-blob (the id that git gives its content).

    A git blob id is the SHA-1 of the bytes `blob <size>`, a zero byte and the content.
    """
    with path.open("rb") as file:
        name = "sha1" if algorithm == "git-blob" else algorithm
        state = hashlib.new(name, usedforsecurity=False)
        if algorithm == "git-blob":
            state.update(b"blob %d\0" % path.stat().st_size)
        return hashlib.file_digest(file, lambda: state).hexdigest()


def mismatch(path: Path, algorithm: str, digest: str) -> str | None:
    """None where the file has this digest, else a clause with both digests."""
    found = file_digest(path, algorithm)
    if found == digest:
        return None
    return f"wrong checksum ({algorithm}): expected {digest}, got {found}"


def read_bytes(path: Path) -> bytes:
    """A raw file, unpacked where it is called .gz. UserError where it is missing, damaged or empty."""
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
    except FileNotFoundError:
        raise UserError(f"{path}: no such raw file; {how_to_fetch(path.parent)}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: cannot be read ({error}); fetch it again") from None
    if not data.strip():
        raise UserError(f"{path}: empty; fetch it again")
    return data


def read_text(path: Path) -> str:
    """The same as UTF-8; UserError, with the line, where it is not."""
    data = read_bytes(path)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}: line {line}: not UTF-8; fetch it again") from None


def read_lines(path: Path) -> list[str]:
    """The lines of `read_text`, with line ends of either kind.

    Not `splitlines`: words may hold characters that Unicode calls line ends.
    """
    lines = read_text(path).split("\n")
    if not lines[-1]:
        lines.pop()  # what stands after the last line end is no line
    return [line.removesuffix("\r") for line in lines]
