"""The parts of a dataset: files, their checksums, a licence and the preparation that reads it.

`reprise.config.schema` checks the fields when the configuration is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

DIGITS = {"sha256": 64, "sha1": 40, "git-blob": 40}
"""Checksum algorithm -> hexadecimal digits of its digest; git-blob: `git hash-object`."""


@dataclass(frozen=True)
class FileSpec:
    """One raw file of a dataset.

    `url`, `algorithm`, `digest` and `size` (bytes) belong to what is downloaded. With `member` that is a zip
    archive, and the raw file is this member (its first `prefix` bytes where that is given), whose own checksum is
    `member_digest` = (algorithm, digest). A file without `url` can only come from a mirror.
    """

    name: str
    url: str | None
    algorithm: str
    digest: str
    size: int | None = None
    member: str | None = None
    member_digest: tuple[str, str] | None = None
    prefix: int | None = None

    @property
    def archive(self) -> FileSpec:
        """The archive that holds `member`, as a file of its own, called as the last part of `url`."""
        name = last_part(self.url or "")
        return replace(self, name=name, member=None, member_digest=None, prefix=None)

    @property
    def checksum(self) -> str:
        """`algorithm:digest` of the raw file; the archive's where a member has none of its own."""
        algorithm, digest = self.member_digest or (self.algorithm, self.digest)
        return f"{algorithm}:{digest}"


@dataclass(frozen=True)
class DatasetSpec:
    """A dataset: `prepare` names the preparation (`reprise.catalogue.datasets`) that turns its files into a corpus.

    `mirror` is its folder in a mirror. `expected` holds facts that the prepared corpus must show, as
    in `Corpus.facts`, for example {"tokens": {"train": 929589}}: a preparation that gives others is refused.
    """

    name: str
    title: str
    licence: str
    homepage: str
    prepare: str
    files: tuple[FileSpec, ...] = ()
    mirror: str = ""
    expected: Mapping[str, Any] = field(default_factory=dict)

    def raw_folder(self, raw_root: Path) -> Path:
        """Where its raw files lie."""
        return raw_root / self.name

    def checksums(self) -> dict[str, str]:
        """File name -> `algorithm:digest` of every raw file."""
        return {file.name: file.checksum for file in self.files}


def last_part(url: str) -> str:
    """The name of a file that is downloaded."""
    return unquote(PurePosixPath(urlsplit(url).path).name)


def how_to_fetch(raw: Path) -> str:
    """The remedy for files that are missing in a raw folder, which is called as its dataset is."""
    return f"run `python -m reprise fetch {raw.name}`"
