"""The committed configuration in a folder of the test's own, where it can be changed."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]


def copy_config(folder: Path) -> Path:
    """`folder`, with a copy of config/ in it."""
    shutil.copytree(ROOT / "config", folder / "config")
    return folder


def edit(clone: Path, file: str, old: str, new: str) -> None:
    """Puts `new` where `old` first stands in a file of config/, which has to have it."""
    path = clone / "config" / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
