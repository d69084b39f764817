"""A dataset of the configuration: raw files with their checksums, a licence, the preparation that reads them."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

from pydantic import Field, model_validator

from reprise.config.base import PLAIN, AnyText, Hex, Plain, Strict, Url

_DIGITS = {"sha256": 64, "sha1": 40, "git-blob": 40}
"""Checksum algorithm -> hexadecimal digits of its digest; git-blob: `git hash-object`."""


class RawFile(Strict):
    """One raw file of a dataset; one without `url` can only come from a mirror."""

    name: Plain
    url: Url | None = None
    algorithm: Literal["sha256", "sha1", "git-blob"]
    digest: Hex = Field(description="checksum of what is downloaded")
    size: int | None = Field(None, ge=1, description="bytes of what is downloaded")
    member: str | None = Field(
        None,
        description="the member of a zip archive, which is what `url`, `algorithm`, `digest` and `size` then belong to",
    )
    member_digest: Annotated[tuple[str, str], Field(strict=False)] | None = Field(
        None, description="algorithm and digest of the member itself"
    )
    prefix: int | None = Field(
        None, ge=1, description="how many bytes of the member are taken, from its beginning; by default all"
    )

    @model_validator(mode="after")
    def _check_digests(self) -> RawFile:
        for algorithm, digest in filter(None, [(self.algorithm, self.digest), self.member_digest]):
            digits = _DIGITS.get(algorithm, 0)
            if not re.fullmatch(rf"[0-9a-f]{{{digits}}}", digest):
                raise ValueError(f"'{digest}' is no checksum of {algorithm}; write {digits} hexadecimal digits")
        if self.member is None and (self.member_digest or self.prefix):
            raise ValueError("member_digest and prefix belong to 'member', which is missing; add it")
        if self.member is not None and (self._archive_name == self.name or not re.fullmatch(PLAIN, self._archive_name)):
            raise ValueError(f"'member' needs a url that ends with its archive's name, which is not '{self.name}'")
        return self

    @property
    def _archive_name(self) -> str:
        return unquote(PurePosixPath(urlsplit(self.url or "").path).name)

    @property
    def archive(self) -> RawFile:
        """Return the archive that holds `member`, as a file of its own, called as the last part of `url`."""
        update = {"name": self._archive_name, "member": None, "member_digest": None, "prefix": None}
        return self.model_copy(update=update)

    @property
    def own_digest(self) -> tuple[str, str] | None:
        """Return algorithm and digest of the raw file itself; None of a member whose archive alone has a digest."""
        return (self.algorithm, self.digest) if self.member is None else self.member_digest

    @property
    def checksum(self) -> str:
        """Return `algorithm:digest` of the raw file; the archive's where a member has none of its own."""
        return ":".join(self.own_digest or (self.algorithm, self.digest))


class Dataset(Strict):
    """A dataset as config/config.yaml has it."""

    title: str
    licence: str
    homepage: AnyText
    prepare: str = Field(
        description="the preparation that turns its files into a corpus, see `reprise.catalogue.datasets`"
    )
    mirror: Plain | None = Field(None, description="its folder in a mirror; by default its name")
    unavailable: str | None = Field(None, description="why its raw files could not be had where results were made")
    files: list[RawFile] = []
    expected: dict[str, Any] = Field(
        {},
        description="facts that the corpus must show or is refused, {'tokens': {'train': 929589}}",
    )

    @model_validator(mode="after")
    def _check_unique_names(self) -> Dataset:
        names = [file.name for file in self.files]
        if len(set(names)) < len(names):
            raise ValueError(f"files: a name stands twice in {', '.join(names)}; keep one of the two")
        return self


class NamedDataset(Dataset):
    """A dataset under the name that the configuration gives it."""

    name: str

    @property
    def mirror_folder(self) -> str:
        """Return its folder in a mirror."""
        return self.mirror or self.name

    def get_raw_folder(self, raw_root: Path) -> Path:
        """Return where its raw files lie."""
        return raw_root / self.name

    def list_checksums(self) -> dict[str, str]:
        """Return `algorithm:digest` of every raw file by its name."""
        return {file.name: file.checksum for file in self.files}
