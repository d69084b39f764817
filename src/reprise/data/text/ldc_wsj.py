"""The raw Wall Street Journal text of a user's own Treebank-3 (LDC99T42), which document 000 reads.

The folder holds `raw/wsj/NN/wsj_NNNN`: a story a file, a sentence a line, `.START` at the head of every story. Where
the key `ldc_wsj` names it, it takes the place of Mikolov's text in the dataset that `wsj_characters` prepares.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from reprise.catalogue.spec import DatasetSpec
from reprise.data.corpus import Corpus
from reprise.data.text import character_lines
from reprise.errors import UserError

OPTIONS = character_lines.OPTIONS
REPLACES = "wsj_characters"
"""The preparation whose raw files the folder replaces."""
STORIES = "raw/wsj"
_HEADER = b".START"
_SECTION, _STORY = re.compile(r"\d\d"), re.compile(r"wsj_\d{4}")
_KEY = "config/config.yaml: key ldc_wsj"
_REMEDY = f"name the folder of LDC99T42 that holds {STORIES}/NN/wsj_NNNN"


@dataclass(frozen=True)
class FolderSpec(DatasetSpec):
    """A dataset whose raw text lies in a folder of the user's; nothing of it is downloaded or copied."""

    folder: Path = Path()

    def raw_folder(self, raw_root: Path) -> Path:
        return self.folder

    def checksums(self) -> dict[str, str]:
        return {"ldc_wsj": f"sha256:{folder_digest(self.folder)}"}


def in_place_of(spec: DatasetSpec, folder: Path, variable: str | None = None) -> FolderSpec:
    """`spec` with the text in `folder` for its raw files; what its text was expected to show is no longer asked for.

    Raises UserError where the folder is missing or holds no stories, which names the environment `variable` that the
    folder was taken from, if it was.
    """
    stories(folder, variable)
    values = {field.name: getattr(spec, field.name) for field in fields(spec)}
    return FolderSpec(**{**values, "prepare": "ldc_wsj", "files": (), "expected": {}}, folder=folder)


def prepare(raw: Path, options: Mapping[str, Any]) -> Corpus:
    """Corpus of the stories in `raw`, in the order of their names; options as in `character_lines.corpus_of`.

    Raises UserError for a folder without stories or letters and for unknown options.
    """
    text = b"".join(sentences(path.read_bytes()) for path in stories(raw))
    return character_lines.corpus_of("wsj-characters", text, options)


def sentences(story: bytes) -> bytes:
    """A story without its `.START` line, every line closed."""
    lines = [line for line in story.splitlines() if line.strip() != _HEADER]
    return b"".join(line + b"\n" for line in lines)


def stories(folder: Path, variable: str | None = None) -> list[Path]:
    """Files of all stories, sorted by name.

    Raises UserError where the folder, which `variable` or else the configuration names, is missing or holds none.
    """
    where = variable or _KEY
    remedy = f"{_REMEDY}, or {'unset it' if variable else 'write null'} for Mikolov's text"
    if not folder.is_dir():
        raise UserError(f"{where}: there is no folder {folder}; {remedy}")
    root = folder / STORIES
    if not root.is_dir():
        raise UserError(f"{where}: {folder} holds no folder {STORIES}; {remedy}")
    sections = [section for section in root.iterdir() if _SECTION.fullmatch(section.name) and section.is_dir()]
    found = [path for section in sections for path in section.iterdir() if _STORY.fullmatch(path.name)]
    if not found:
        raise UserError(f"{where}: {root} holds no file NN/wsj_NNNN; {remedy}")
    return sorted(found)


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
