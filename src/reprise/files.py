"""Outputs are whole or missing: each is written to a file of another name, synced and renamed.

What the system refuses (no folder, no room) is one line with its remedy, before the work where possible.
"""

import contextlib
import hashlib
import json
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from reprise.errors import UserError

# Strings hold no line feeds in JSON, so that no string is taken for a list.
_NEGATIVE_NUMBER = re.compile(r"-\d+(\.\d+)?")
_LIST_OF_NUMBERS = re.compile(r"\[\n([-+0-9.eE,\s]+)\]")


@contextlib.contextmanager
def atomic_path(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`; on a clean exit it is synced and renamed to `path`.

    On an exception the temporary file is removed and what stood at `path` before is untouched. A dead link there is a
    `UserError`. An `OSError` (a full disk, say) names `path`.
    """
    path = Path(path)
    if link := find_dead_link(path):  # renamed over it, the file would not be on the disk that is meant
        raise UserError(f"{path}: {describe_dead_link(link)}")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The system applies the umask, which a process of several threads could not read without changing it.
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        # A write that fails, or a temporary file that cannot be made, knows only the temporary name, or none.
        # An error without a number comes from the body, not from the system.
        is_ours = error.filename is None or Path(str(error.filename)).name.startswith(f".{path.name}.")
        if error.errno is None or not is_ours:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with contextlib.suppress(OSError):  # of a folder that was never made
            temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def write_atomically(path: Path | str, content: str | bytes) -> None:
    """Write text (UTF-8) or bytes to `path`, whole or not at all."""
    data = content.encode() if isinstance(content, str) else content
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


@contextlib.contextmanager
def name_file_in_errors(path: Path) -> Iterator[None]:
    """Name `path` in an `OSError` of the body that names no file: reads and writes of an open file know no name."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def read_whole(path: Path) -> bytes:
    """Return the content of a file. An `OSError` names `path`, also one of a disk that fails while it is read."""
    with name_file_in_errors(path):
        return path.read_bytes()


def compute_sha256(path: Path) -> str:
    """Compute the SHA-256 of a file's content, in hexadecimal digits. An `OSError` names `path`."""
    return hashlib.sha256(read_whole(path)).hexdigest()


def entry_exists(path: Path) -> bool:
    """Return whether something stands at `path`, or did: behind a dead link, on a disk that is not mounted."""
    return path.exists() or find_dead_link(path) is not None


def find_dead_link(path: Path) -> Path | None:
    """Return the link at `path` or on the way to it that leads nowhere, or to itself; None where there is none."""
    for part in (path, *path.parents):
        if part.exists():
            return None
        if part.is_symlink():
            return part
    return None


def describe_dead_link(link: Path) -> str:
    """Say where a dead link leads, and the remedy."""
    return f"the link {link} leads nowhere (to {link.readlink()}); mount what it is to lead to, or remove the link"


def escape_formula(value: Any) -> Any:
    """Return a value as a cell of a CSV file; ' precedes a text that a spreadsheet would take for a formula."""
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula and not _NEGATIVE_NUMBER.fullmatch(value) else value


def dump_canonical_json(value: Any) -> str:
    """Return the one spelling of `value` in JSON: sorted keys, no blanks, ASCII; ValueError for NaN and infinity."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def dump_json(value: Any) -> str:
    """Return `value` as readable JSON with sorted keys, a list of numbers on one line.

    Refuses NaN and infinity (ValueError).
    """
    text = json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    return _LIST_OF_NUMBERS.sub(lambda numbers: "[" + " ".join(numbers[1].split()) + "]", text) + "\n"


def write_json(path: Path | str, value: Any) -> None:
    """Write `dump_json(value)` to `path`, whole or not at all."""
    write_atomically(path, dump_json(value))


def write_if_changed(path: Path | str, content: str) -> bool:
    """Write `content` unless `path` holds it already, so that modification times mean something."""
    path, data = Path(path), content.encode()
    # As bytes: what is there may be damaged, and no text at all.
    if path.is_file() and path.read_bytes() == data:
        return False
    write_atomically(path, data)
    return True


def describe_os_error(error: OSError, action: str = "") -> str:
    """Say in one line what the system refused, with the remedy; `action` stands for a file that the error lacks."""
    remedy = "make room or fix the access, then run it again"
    if not error.filename:
        return f"{action}: {error}; {remedy}" if action else f"{error}; {remedy}"
    # What is put into another's place has both names.
    where = Path(os.fsdecode(error.filename if error.filename2 is None else error.filename2))
    if isinstance(error, (NotADirectoryError, FileExistsError)):
        if link := find_dead_link(where):
            return f"{where}: {describe_dead_link(link)}"
        file = next(part for part in (where, *where.parents) if part.exists())
        return f"{where}: {file} is no folder, and one is wanted; move it away, or name another place"
    if isinstance(error, IsADirectoryError):
        return f"{where}: a folder, and a file is wanted; move it away, or name another place"
    if isinstance(error, FileNotFoundError):
        remedy = "make it, or correct its name"
    return f"{error.filename}: {error.strerror}; {remedy}"


def make_file_type(option: str, example: str, suffix: str = "") -> Callable[[str], Path]:
    """Make the type of an option that names a file: `UserError` for a folder or a device.

    Args:
        option: The option's name, which begins the message.
        example: The name of such a file.
        suffix: How the name has to end.
    """

    def parse_file(text: str) -> Path:
        path = Path(text)
        if path.is_dir() or text.endswith("/"):
            raise UserError(f"{option} {text or repr(text)}: is a folder; name a file, such as {path / example}")
        if path.exists() and not path.is_file():
            raise UserError(f"{option} {text}: is not a regular file; name another")
        if not text.endswith(suffix):
            raise UserError(f"{option} {text}: does not end in {suffix}; name a file such as {path.with_name(example)}")
        return path

    return parse_file


def require_place(path: Path, what: str) -> None:
    """Raise `UserError`, which begins with `what`, where no file could be written to `path`: before hours go into it.

    It is tried, as rights alone do not tell: a disk may be read-only, or a folder the kernel's.
    """
    path = path.absolute()
    if link := find_dead_link(path):
        raise UserError(f"{what}: {describe_dead_link(link)}")
    if path.exists() and not path.is_file():
        raise UserError(f"{what}: is not a regular file; move it away, or name another")
    folder = next(parent for parent in path.parents if parent.exists())  # the others will be made
    if not folder.is_dir():
        raise UserError(f"{what}: {folder} is no folder; name a file in another folder")
    try:
        tempfile.NamedTemporaryFile(dir=folder, prefix=f".{path.name}.", suffix=".part").close()
    except OSError as error:
        why = f"cannot be written to ({error.strerror})"
        raise UserError(f"{what}: {folder} {why}; name a file in another folder") from None


def make_output_type(option: str, example: str) -> Callable[[str], Path]:
    """Make the type of an option that names a file to write: `UserError` where none could be written."""
    parse_file = make_file_type(option, example)

    def parse_output(text: str) -> Path:
        path = parse_file(text)
        require_place(path, f"{option} {text}")
        return path

    return parse_output


def _sync_folder(folder: Path) -> None:
    # Without this a power cut can undo the rename. Where a file system refuses to sync a folder, no more can be done.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
