"""Refusals of the system (no folder, no room): one line with its remedy, before the work where possible."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from reprise.errors import UserError
from reprise.files import dead_link, told_of_link


def told_of(error: OSError) -> str | None:
    """The line about a folder where a file is wanted, or a file where a folder is; None of any other error."""
    if error.filename is None:
        return None
    # What is put into another's place has both names.
    where = Path(os.fsdecode(error.filename if error.filename2 is None else error.filename2))
    if isinstance(error, (NotADirectoryError, FileExistsError)):
        if link := dead_link(where):
            return f"{where}: {told_of_link(link)}"
        file = next(part for part in (where, *where.parents) if part.exists())
        return f"{where}: {file} is no folder, and one is wanted; move it away, or name another place"
    if isinstance(error, IsADirectoryError):
        return f"{where}: a folder, and a file is wanted; move it away, or name another place"
    return None


def left_out(error: UserError | OSError, remedy: str) -> str:
    """Why one replica of several is left out; the `remedy` is of what the system refuses in other ways."""
    if not isinstance(error, OSError):
        return str(error)
    return told_of(error) or f"{error}; {remedy}, then run it again"


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
        handle, name = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
        os.unlink(name)
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
