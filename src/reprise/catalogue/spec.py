"""What a dataset is made of: files, their checksums, a licence and the module that reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from reprise.errors import UserError

DIGITS = {"sha256": 64, "sha1": 40, "git-blob": 40}
"""Checksum algorithm -> hexadecimal digits of its digest; git-blob: `git hash-object`."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")


@dataclass(frozen=True)
class FileSpec:
    """One raw file of a dataset.

    `url`, `algorithm`, `digest` and `size` (bytes) belong to what is downloaded. With `member` that
    is a tar or zip archive, and the raw file is this member (its first `prefix` bytes where that
    is given), whose own checksum is `member_digest` = (algorithm, digest). A file without `url`
    can only come from a mirror. Raises UserError where a field makes no sense.
    """

    name: str
    url: str | None
    algorithm: str
    digest: str
    size: int | None = None
    member: str | None = None
    member_digest: tuple[str, str] | None = None
    prefix: int | None = None

    def __post_init__(self) -> None:
        _require_plain("name", self.name)
        _require_digest("digest", self.algorithm, self.digest)
        if self.url is not None and (not isinstance(self.url, str) or not self.url.startswith(("http://", "https://"))):
            raise UserError(f"url: {self.url!r} is neither http(s) nor left out")
        for key in ("size", "prefix"):
            value = getattr(self, key)
            if value is not None and (type(value) is not int or value < 1):
                raise UserError(f"{key}: {value!r} is not a positive number of bytes")
        if self.member_digest is not None:
            _require_digest("member_digest", *self.member_digest)
        if self.member is None:
            if self.member_digest is not None or self.prefix is not None:
                raise UserError("member_digest, prefix: they belong to `member`, which is missing")
        elif self.url is None:
            raise UserError("member: `url` of the archive is missing")
        elif self.archive_name == self.name:
            raise UserError(f"name: {self.name!r} is also the archive's; give the raw file another")

    @property
    def archive_name(self) -> str:
        """File name of the archive that holds `member`: the last part of `url`."""
        name = unquote(PurePosixPath(urlsplit(self.url or "").path).name)
        _require_plain("url (its last part)", name)
        return name

    @property
    def archive(self) -> FileSpec:
        """The archive that holds `member`, as a file of its own."""
        return replace(self, name=self.archive_name, member=None, member_digest=None, prefix=None)

    @property
    def checksum(self) -> str:
        """`algorithm:digest` of the raw file; the archive's where a member has none of its own."""
        algorithm, digest = self.member_digest or (self.algorithm, self.digest)
        return f"{algorithm}:{digest}"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> FileSpec:
        """Reads a mapping with the field names as keys; `member_digest` is a list of two."""
        values = _known_keys(cls, values)
        pair = values.get("member_digest")
        if pair is not None:
            if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                raise UserError("member_digest: give a list of two, [algorithm, digest]")
            values["member_digest"] = tuple(pair)
        values.setdefault("url", None)
        return cls(**values)


@dataclass(frozen=True)
class DatasetSpec:
    """A dataset: `prepare` names the module of `reprise.data` that turns its files into a corpus.

    `mirror` is its folder in a mirror (default: `name`). `expected` holds facts that the prepared
    corpus must show, as in `Corpus.facts`, for example {"tokens": {"train": 929589}}: a
    preparation that gives others is refused.
    """

    name: str
    title: str
    licence: str
    homepage: str
    prepare: str
    files: tuple[FileSpec, ...] = ()
    mirror: str = ""
    expected: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.mirror:
            object.__setattr__(self, "mirror", self.name)
        for key in ("name", "mirror"):
            _require_plain(key, getattr(self, key))
        for key in ("title", "licence", "homepage", "prepare"):
            if not isinstance(getattr(self, key), str):
                raise UserError(f"{key}: {getattr(self, key)!r} is not a string")
        names = [file.name for file in self.files]
        if len(set(names)) < len(names):
            raise UserError(f"files: a name stands twice in {', '.join(names)}")

    def raw_folder(self, raw_root: Path) -> Path:
        """Where its raw files lie."""
        return raw_root / self.name

    def checksums(self) -> dict[str, str]:
        """File name -> `algorithm:digest` of every raw file."""
        return {file.name: file.checksum for file in self.files}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> DatasetSpec:
        """Reads one entry of the configuration's datasets, `name` included.

        Raises UserError with the key (datasets.<name>.files[<i>].<key>) and what is wrong there.
        """
        name = values.get("name", "?") if isinstance(values, Mapping) else "?"
        place = f"config/config.yaml: key datasets.{name}"
        try:
            values = _known_keys(cls, values)
            files = values.pop("files", None) or []
            if not isinstance(files, (list, tuple)):
                raise UserError("files: give a list")
            values["mirror"] = values.get("mirror") or ""
            values["expected"] = values.get("expected") or {}
            if not isinstance(values["expected"], Mapping):
                raise UserError("expected: give a mapping of facts")
        except UserError as error:
            raise UserError(f"{place}.{error}") from None
        read = []
        for i, entry in enumerate(files):
            try:
                read.append(FileSpec.from_dict(entry))
            except UserError as error:
                raise UserError(f"{place}.files[{i}].{error}") from None
        try:
            return cls(files=tuple(read), **values)
        except UserError as error:
            raise UserError(f"{place}.{error}") from None


def how_to_fetch(raw: Path) -> str:
    """What to run for the files in a raw folder, which is called as its dataset is."""
    return f"run `python -m reprise fetch {raw.name}`"


def _known_keys(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        raise UserError(f"{values!r}: give a mapping")
    known = [f.name for f in fields(cls)]
    optional = {"files", "mirror", "expected", "url", "size", "member", "member_digest", "prefix"}
    for key in values:
        if key not in known:
            raise UserError(f"{key}: unknown key; known are {', '.join(known)}")
    for key in known:
        if key not in values and key not in optional:
            raise UserError(f"{key}: missing")
    return dict(values)


def _require_plain(key: str, value: Any) -> None:
    if not isinstance(value, str) or not _PLAIN_NAME.fullmatch(value):
        raise UserError(f"{key}: {value!r} is not a plain file name (letters, digits, . _ + -)")


def _require_digest(key: str, algorithm: Any, digest: Any) -> None:
    if algorithm not in DIGITS:
        raise UserError(f"algorithm: {algorithm!r} is not one of {', '.join(DIGITS)}")
    pattern = rf"[0-9a-f]{{{DIGITS[algorithm]}}}"
    if not isinstance(digest, str) or not re.fullmatch(pattern, digest):
        raise UserError(
            f"{key}: {digest!r} is not a {algorithm} of {DIGITS[algorithm]} lower-case hexadecimal digits in quotes"
        )
