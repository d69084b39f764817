"""A user's own Treebank-3 (LDC99T42) in place of Mikolov's text: the raw Wall Street Journal that document 000 reads.

The folder holds `raw/wsj/NN/wsj_NNNN`. Where the key `ldc_wsj` names it, it takes the place of the raw files of the
dataset that `wsj_characters` prepares; its checksum goes into the configuration hash.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path

from reprise.catalogue.spec import DatasetSpec
from reprise.errors import UserError

REPLACES = "wsj_characters"
"""The preparation whose raw files the folder replaces."""
STORIES = "raw/wsj"
_SECTION, _STORY = re.compile(r"\d\d"), re.compile(r"wsj_\d{4}")
_KEY = "config/config.yaml: key ldc_wsj"


@dataclass(frozen=True)
class FolderSpec(DatasetSpec):
    """A dataset whose raw text lies in a folder of the user's; nothing of it is downloaded or copied."""

    folder: Path = Path()

    def raw_folder(self, raw_root: Path) -> Path:
        return self.folder

    def checksums(self) -> dict[str, str]:
        return {"ldc_wsj": f"sha256:{folder_digest(self.folder)}"}


def in_place_of(spec: DatasetSpec, folder: Path, variable: str | None = None) -> FolderSpec:
    """`spec` with the text in `folder` for its raw files, and without the facts that were expected of the other text.

    Raises UserError where the folder is missing or holds no stories; it names the environment `variable` that the
    folder was taken from, if it was.
    """
    if not stories(folder):
        remedy = f"name the folder of LDC99T42, or {'unset it' if variable else 'write null'} for Mikolov's text"
        raise UserError(f"{variable or _KEY}: no file {folder / STORIES}/NN/wsj_NNNN; {remedy}")
    values = {field.name: getattr(spec, field.name) for field in fields(spec)}
    return FolderSpec(**{**values, "files": (), "expected": {}}, folder=folder)


def stories(folder: Path) -> list[Path]:
    """Files of all stories, sorted by name."""
    found = [path for path in folder.glob(f"{STORIES}/*/*") if path.is_file()]
    return sorted(p for p in found if _SECTION.fullmatch(p.parent.name) and _STORY.fullmatch(p.name))


@lru_cache(maxsize=4)
def folder_digest(folder: Path) -> str:
    """SHA-256 over the lines "<section>/<story> <SHA-256 of its content>", sorted by name.

    Where the folder lies does not matter. Computed once a process.
    """
    state = hashlib.sha256()
    for path in stories(folder):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        state.update(f"{path.parent.name}/{path.name} {content}\n".encode())
    return state.hexdigest()
