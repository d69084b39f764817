"""Raw files: their checksums, and the one reader of their text, which every corpus takes."""

import gzip
import hashlib
import re
import unicodedata
import zlib
from pathlib import Path

from reprise.errors import UserError, make_printable
from reprise.files import read_whole

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
"""Soft hyphens, characters without width, and marks of direction or byte order: none of them is a letter."""


def describe_fetching(raw: Path) -> str:
    """Return the remedy for files that are missing in a raw folder, which is called as its dataset is."""
    return f"run `python -m reprise fetch {raw.name}`"


def compute_digest(path: Path, algorithm: str) -> str:
    """Return the hexadecimal digest of a file: sha256, sha1, md5, or git-blob (the id that git gives its content).

    A git blob id is the SHA-1 of the bytes `blob <size>`, a zero byte and the content.
    """
    with path.open("rb") as file:
        name = "sha1" if algorithm == "git-blob" else algorithm
        state = hashlib.new(name, usedforsecurity=False)
        if algorithm == "git-blob":
            state.update(b"blob %d\0" % path.stat().st_size)
        return hashlib.file_digest(file, lambda: state).hexdigest()


def find_mismatch(path: Path, algorithm: str, digest: str) -> str | None:
    """Return None where the file has this digest, else a clause with both digests."""
    actual = compute_digest(path, algorithm)
    if actual == digest:
        return None
    return f"wrong checksum ({algorithm}): expected {digest}, got {actual}"


def make_unreadable_error(path: Path, problem: str, line: int | None = None) -> UserError:
    """Return the error for a raw file that is there, but holds something else than its preparation reads.

    Its checksum was verified, so that to fetch it again would not help.

    Args:
        path: the file.
        problem: what is wrong, in words.
        line: the number of the line, from 1, where there is one.
    """
    place = path if line is None else f"{path}: line {line}"
    problem = make_printable(problem)  # a library may quote the file, with what ends a line
    return UserError(f"{place}: {problem}; correct the file, and its digest in config/config.yaml, or name another one")


def read_text(path: Path) -> str:
    """Return the text of a raw file: the one door by which text comes into a corpus.

    A file called .gz is unpacked. The text is UTF-8 in normal form C without `_INVISIBLE` characters. Every line end
    (LF, CR LF, CR) becomes a line feed.

    Raises:
        UserError: The file is missing, damaged, in another encoding (with the offset of the byte), or empty.
    """
    try:
        data = read_whole(path)
    except FileNotFoundError:
        raise UserError(f"{path}: no such raw file; {describe_fetching(path.parent)}") from None
    try:
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        text = data.decode()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise make_unreadable_error(path, f"damaged gzip file ({error})") from None
    except UnicodeDecodeError as error:
        raise _make_utf8_error(path, data, error.start) from None
    if (zero := data.find(0)) >= 0:  # every second byte of English in UTF-16
        raise _make_utf8_error(path, data, zero)
    if not (text := normalise_text(text)).strip():
        raise make_unreadable_error(path, "holds no text")
    return text


def normalise_text(text: str) -> str:
    """Bring a text into the form of every corpus: NFC, without `_INVISIBLE` characters, each line end a line feed."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", _INVISIBLE.sub("", text))
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _make_utf8_error(path: Path, data: bytes, offset: int) -> UserError:
    line = data.count(b"\n", 0, offset) + 1
    return make_unreadable_error(path, f"not UTF-8 at byte {offset} (0x{data[offset]:02x}); convert it to UTF-8", line)


def read_lines(path: Path) -> list[str]:
    """Return the lines of `read_text`, blank ones too.

    Not `splitlines`: words may hold characters that Unicode calls line ends.
    """
    return read_text(path).removesuffix("\n").split("\n")
