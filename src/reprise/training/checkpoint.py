"""Checkpoints: written whole or not at all, checked bit for bit before they are believed.

File: 8 bytes of magic, 32 bytes of SHA-256 over the rest, then what `torch.save` wrote. It is read with
`weights_only=True`, so that a file from elsewhere cannot run code. Two are kept, the newest and the one before it.
"""

import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from reprise.errors import UserError
from reprise.files import atomic_path, describe_dead_link, entry_exists, find_dead_link, read_whole

MAGIC = b"REPRISE1"


class DamagedCheckpoint(Exception):
    """The file is not a whole checkpoint: cut short, altered, or not one at all."""


def encode(content: dict[str, Any]) -> bytes:
    """Return the bytes of a checkpoint's file."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    payload = buffer.getvalue()
    return MAGIC + hashlib.sha256(payload).digest() + payload


def decode(data: bytes) -> dict[str, Any]:
    """Return the content of a checkpoint's file; raises `DamagedCheckpoint`."""
    head, payload = data[: len(MAGIC) + 32], data[len(MAGIC) + 32 :]
    if not head.startswith(MAGIC) or hashlib.sha256(payload).digest() != head[len(MAGIC) :]:
        raise DamagedCheckpoint("cut short or altered")
    # Where the checksum fits, somebody made the file so: for example with an object that weights_only refuses.
    try:
        content = torch.load(io.BytesIO(payload), weights_only=True, map_location="cpu")
    except Exception as error:  # torch names none of those that a file of another make ends in
        raise DamagedCheckpoint((str(error) or type(error).__name__).splitlines()[0]) from None
    if not isinstance(content, dict) or not all(isinstance(content.get(key), dict) for key in ("identity", "state")):
        raise DamagedCheckpoint("not made by Reprise")
    return content


class CheckpointFile:
    """The checkpoint of one replica, or of a stack (-1): `<path>` and, one save older, `<path>.previous`."""

    def __init__(self, path: Path, config_hash: str, engine: str, replica: int) -> None:
        self.path = path
        self.previous = path.with_name(path.name + ".previous")
        self.identity = {"config_hash": config_hash, "engine": engine, "replica": replica}
        self._is_newest_damaged = False

    def save(self, state: dict[str, Any]) -> None:
        """Write the state; the one written before becomes the older file, unless it is damaged."""
        data = encode({"identity": self.identity, "state": state})
        with atomic_path(self.path) as temporary:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            # Only once the new one is on the disk: on a full disk both old ones stay as they are.
            if self.path.exists() and not self._is_newest_damaged:
                self.path.replace(self.previous)
        self._is_newest_damaged = False

    def load(
        self, log: Callable[[str], None], restore: Callable[[dict[str, Any]], None] = lambda _: None
    ) -> dict[str, Any] | None:
        """Return the newest state that is whole and that `restore` accepts, or None where there is no file.

        A damaged file is reported and the one before it taken. `restore` raises `DamagedCheckpoint` for a state that
        it cannot use.

        Raises:
            UserError: Every file is damaged, so that hours of work are never thrown away in silence. Or one is a link
                that leads nowhere, or belongs to another configuration, engine or replica.
            OSError: A file cannot be read. That is no damage, and the one before it would lose work.
        """
        paths = [path for path in (self.path, self.previous) if entry_exists(path)]
        for path in paths:
            if link := find_dead_link(path):
                raise UserError(f"{path}: no such checkpoint: {describe_dead_link(link)}")
            try:
                content = decode(read_whole(path))
                for key, expected in self.identity.items():
                    if (value := content["identity"].get(key)) != expected:
                        remedy = "remove the file to train from the start, or restore what it was made with"
                        raise UserError(f"{path}: key {key}: made with {value!r}, not {expected!r}; {remedy}")
                restore(content["state"])
                return content["state"]
            except (DamagedCheckpoint, FileNotFoundError) as error:
                self._is_newest_damaged = self._is_newest_damaged or path == self.path
                next_step = "; trying the one before it" if path != paths[-1] else ""
                log(f"{path}: damaged checkpoint ({error}){next_step}")
        if paths:
            names, them = " and ".join(map(str, paths)), "both" if len(paths) > 1 else "it"
            raise UserError(f"{names}: damaged; remove {them} to train from the start")
        return None

    def remove(self) -> None:
        """Remove both files."""
        self.path.unlink(missing_ok=True)
        self.previous.unlink(missing_ok=True)
