"""Nothing is half there: every output is written beside its place, synced and renamed.

What the system refuses (no folder, no room) is one line with its remedy, before the work where possible.
"""

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from reprise.errors import UserError

# Strings hold no line feeds in JSON, so that no string is taken for a list.
_LIST_OF_NUMBERS = re.compile(r"\[\n([-+0-9.eE,\s]+)\]")


@contextlib.contextmanager
def atomic_path(path: Path | str) -> Iterator[Path]:
    """Yields a temporary path beside `path`; on a clean exit it is synced and renamed to `path`.

    On an exception the temporary file is removed and what stood at `path` before is untouched.
    An `OSError` (a full disk, say) names `path`.
    """
    path = Path(path)
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
        temporary = Path(name)
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        # A write that fails, or a temporary file that cannot be made, knows only the temporary name, or none.
        # An error without a number comes from the body, not from the system.
        known = error.filename is None or Path(str(error.filename)).name.startswith(f".{path.name}.")
        if error.errno is None or not known:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        if temporary:
            temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def write_atomically(path: Path | str, content: str | bytes) -> None:
    """Writes text (UTF-8) or bytes to `path`, whole or not at all."""
    data = content.encode() if isinstance(content, str) else content
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def read_whole(path: Path) -> bytes:
    """The content of a file. An `OSError` names `path`, also one of a disk that fails while it is read."""
    try:
        return path.read_bytes()
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def is_there(path: Path) -> bool:
    """Whether something stands at `path`, or did: behind a link that leads nowhere, on a disk that is not mounted."""
    return path.exists() or dead_link(path) is not None


def dead_link(path: Path) -> Path | None:
    """The link at `path` or on the way to it that leads nowhere, or to itself; None where there is none."""
    for part in (path, *path.parents):
        if part.exists():
            return None
        if part.is_symlink():
            return part
    return None


def told_of_link(link: Path) -> str:
    """The words about a `dead_link`."""
    return f"the link {link} leads nowhere (to {link.readlink()}); mount what it is to lead to, or remove the link"


def canonical_json(value: Any) -> str:
    """The one spelling of `value` in JSON: sorted keys, no blanks, ASCII; refuses NaN and infinity (ValueError)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def json_text(value: Any) -> str:
    """`value` as readable JSON with sorted keys, a list of numbers on one line.

    Refuses NaN and infinity (ValueError).
    """
    text = json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    return _LIST_OF_NUMBERS.sub(lambda found: "[" + " ".join(found[1].split()) + "]", text) + "\n"


def write_json(path: Path | str, value: Any) -> None:
    """Writes `json_text(value)` to `path`, whole or not at all."""
    write_atomically(path, json_text(value))


def write_if_changed(path: Path | str, content: str) -> bool:
    """Writes `content` unless `path` holds it already, so that modification times mean something."""
    path, data = Path(path), content.encode()
    # As bytes: what is there may be damaged, and no text at all.
    if path.is_file() and path.read_bytes() == data:
        return False
    write_atomically(path, data)
    return True


def told_of(error: OSError, action: str = "") -> str:
    """The line about what the system refused, with its remedy. Where the error names no file, `action` stands there."""
    remedy = "make room or fix the access, then run it again"
    if not error.filename:
        return f"{action}: {error}; {remedy}" if action else f"{error}; {remedy}"
    # What is put into another's place has both names.
    where = Path(os.fsdecode(error.filename if error.filename2 is None else error.filename2))
    if isinstance(error, (NotADirectoryError, FileExistsError)):
        if link := dead_link(where):
            return f"{where}: {told_of_link(link)}"
        file = next(part for part in (where, *where.parents) if part.exists())
        return f"{where}: {file} is no folder, and one is wanted; move it away, or name another place"
    if isinstance(error, IsADirectoryError):
        return f"{where}: a folder, and a file is wanted; move it away, or name another place"
    return f"{error.filename}: {error.strerror}; {remedy}"


def named_file(option: str, text: str, example: str) -> Path:
    """The file that an option names; `UserError` where it cannot be one: `example` is a name for it in a folder."""
    path = Path(text)
    if path.is_dir() or text.endswith("/"):
        raise UserError(f"{option} {text or repr(text)}: is a folder; name a file in it, {path / example}")
    if path.exists() and not path.is_file():
        raise UserError(f"{option} {text}: is no plain file; name another")
    return path


def require_place(path: Path, what: str) -> None:
    """`UserError`, which begins with `what`, where no file could be written to `path`: before hours go into it.

    It is tried, as rights alone do not tell: of a disk that is read-only, say, or of a folder of the kernel's.
    """
    path = path.absolute()
    if link := dead_link(path):
        raise UserError(f"{what}: {told_of_link(link)}")
    if path.exists() and not path.is_file():
        raise UserError(f"{what}: is no plain file; move it away, or name another")
    folder = next(parent for parent in path.parents if parent.exists())  # the others will be made
    if not folder.is_dir():
        raise UserError(f"{what}: {folder} is no folder; name a file in another folder")
    try:
        tempfile.NamedTemporaryFile(dir=folder, prefix=f".{path.name}.", suffix=".part").close()
    except OSError as error:
        why = f"cannot be written to ({error.strerror})"
        raise UserError(f"{what}: {folder} {why}; name a file in another folder") from None


def output_file(option: str, example: str) -> Callable[[str], Path]:
    """The type of an option that names a file to write: `UserError` where none could be written."""

    def checked(text: str) -> Path:
        path = named_file(option, text, example)
        require_place(path, f"{option} {text}")
        return path

    return checked


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    # Without this a power cut can undo the rename. Where a file system refuses to sync a folder, no more can be done.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
