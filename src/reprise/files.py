"""Nothing is half there: every output is written beside its place, synced and renamed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
