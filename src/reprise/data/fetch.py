"""Raw files from a mirror or from the network, under one checksum: a wrong file is never used."""

import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import requests
from requests import exceptions
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from reprise.config.datasets import NamedDataset, RawFile
from reprise.data.raw import mismatch
from reprise.errors import UserError
from reprise.files import atomic_path, read_whole, write_atomically

_ATTEMPTS = 4
_LARGEST = 1 << 30  # bytes of a file whose size nobody stated, and of a file in an archive
_TIMEOUT = (15, 60)  # seconds to connect, seconds without a byte


def fetch(
    dataset: NamedDataset, raw_root: Path, mirror: Path | None, say: Callable[[str], None], pause: float = 1.0
) -> list[Path]:
    """Puts every file of the dataset into `raw_root/<dataset>/` and returns their paths.

    A file that is there with the right checksum stays; else `mirror/<dataset.shelf>/<file>` is
    copied, or its url downloaded, in at most four attempts with pauses of `pause`, twice
    and four times that many seconds. `say` gets a line about each. Raises UserError, in one line, if a
    file cannot be had, and OSError, which names the file, if it cannot be put there; no file with a
    wrong checksum is left anywhere.
    """
    if mirror and not mirror.is_dir():
        say(f"mirror {mirror}: no such folder, not used")
    shelf = mirror / dataset.shelf if mirror else None
    return [_Job(dataset, file, raw_root / dataset.name, shelf, say, pause).fetch() for file in dataset.files]


class _Transient(Exception):
    """Something that may be gone at the next attempt."""


class _Wrong(Exception):
    """Another file than the configuration describes."""


@dataclass(frozen=True)
class _Job:
    dataset: NamedDataset
    file: RawFile
    folder: Path
    shelf: Path | None
    say: Callable[[str], None]
    pause: float

    @property
    def target(self) -> Path:
        return self.folder / self.file.name

    @property
    def label(self) -> str:
        return f"{self.dataset.name}/{self.file.name}"

    def fetch(self) -> Path:
        digest, member = self.file.own_digest, self.file.member
        if digest is None or not self._at_hand(*digest):
            self._download() if member is None else self._unpack(member)
        return self.target

    def _at_hand(self, *digest: str) -> bool:
        """True once the target has this digest, from an earlier call or from the mirror."""
        if self.target.is_file():
            problem = mismatch(self.target, *digest)
            if problem is None:
                self.say(f"{self.label}: already there, checksum verified")
                return True
            self.target.unlink()
            self.say(f"{self.label}: {problem}; removed, fetching it again")
        source = self.shelf / self.file.name if self.shelf else None
        if source is None or not source.is_file():
            return False
        if problem := mismatch(source, *digest):
            if self.file.url is None:
                raise UserError(
                    f"{self.label}: the mirror's file has a {problem}; correct its digest in config/config.yaml, key"
                    f" datasets.{self.dataset.name}.files, or replace {source}"
                )
            self.say(f"{self.label}: refused {source} of the mirror: {problem}")
            return False
        write_atomically(self.target, read_whole(source))
        self.say(f"{self.label}: from the mirror, {source}")
        return True

    def _unpack(self, member: str) -> None:
        """Takes the member out of its archive, which stays beside it."""
        archive = replace(self, file=self.file.archive).fetch()
        content = read_member(archive, member, _LARGEST, self.file.prefix)
        with atomic_path(self.target) as temporary:
            temporary.write_bytes(content)
            if self.file.member_digest and (problem := mismatch(temporary, *self.file.member_digest)):
                entry = f"member_digest of datasets.{self.dataset.name} in config/config.yaml"
                raise UserError(f"{self.label}: {member} in {archive.name}: {problem}; correct {entry}")
        self.say(f"{self.label}: taken out of {archive.name}")

    def _download(self) -> None:
        file, label = self.file, self.label
        remedy = f"set REPRISE_MIRROR to a folder that holds {self.dataset.shelf}/{file.name}"
        if self.shelf and (there := self.shelf / file.name).is_file():
            remedy = f"replace {there} of the mirror, which has another checksum"  # or it would have been taken
        if file.url is None:
            raise UserError(f"{label}: has no url and no mirror has it; {remedy}")
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                size = _transfer(file, file.url, self.target, label)
            except _Transient as error:
                if attempt == _ATTEMPTS:
                    raise UserError(f"{label}: {error} ({attempt} attempts); try again later, or {remedy}") from None
                wait = self.pause * 2 ** (attempt - 1)
                self.say(f"{label}: {error}; attempt {attempt + 1} in {wait:g} s")
                time.sleep(wait)
            except _Wrong as error:
                entry = f"datasets.{self.dataset.name} in config/config.yaml"
                raise UserError(f"{label}: {error}; correct {entry}, or {remedy}") from None
            else:
                self.say(f"{label}: downloaded from {file.url} ({size:,} bytes)")
                return


def read_member(archive: Path, member: str, limit: int, prefix: int | None = None) -> bytes:
    """One file of a zip archive, or its first `prefix` bytes. The archive's names lead to no place.

    Raises UserError if the member is missing, damaged, shorter than `prefix`, or larger than `limit` bytes.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            if member not in opened.namelist():
                raise UserError(f"{archive}: holds no file {member}")
            wanted = opened.getinfo(member).file_size if prefix is None else prefix
            if wanted > limit:
                raise UserError(f"{archive}: {member} unpacks to more than {limit:,} bytes; refused")
            with opened.open(member) as content:
                data = content.read() if prefix is None else content.read(prefix)
    except (EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile, OSError) as error:
        raise UserError(f"{archive}: cannot be unpacked ({str(error) or type(error).__name__})") from None
    if len(data) < wanted:
        raise UserError(f"{archive}: {member} ends after {len(data):,} of {wanted:,} bytes")
    return data


def _transfer(file: RawFile, url: str, target: Path, label: str) -> int:
    """One attempt; returns the number of bytes. The target appears if its checksum is right."""
    with atomic_path(target) as temporary:
        try:
            size = _receive(url, temporary, file.size or _LARGEST, label)
        except exceptions.HTTPError as error:
            status = error.response.status_code
            kind = _Transient if status >= 500 or status in (408, 429) else _Wrong
            raise kind(f"HTTP {status} for {url}") from None
        except (exceptions.ChunkedEncodingError, exceptions.ContentDecodingError):
            raise _Transient(f"truncated: {url} broke off after {temporary.stat().st_size:,} bytes") from None
        except (exceptions.ConnectionError, exceptions.Timeout) as error:
            host = urlsplit(url).hostname
            raise _Transient(f"no network or no answer from {host} ({type(error).__name__})") from None
        except exceptions.RequestException as error:
            raise _Wrong(f"url {url}: {error}") from None
        if problem := mismatch(temporary, file.algorithm, file.digest):
            with temporary.open("rb") as content:
                head = content.read(512).lstrip().lower()
            if head.startswith((b"<!doctype html", b"<html")):
                raise _Wrong(f"an HTML page came instead of the file from {url}; {problem}")
            if file.size and size < file.size:
                raise _Transient(f"truncated: {url} gave {size:,} of {file.size:,} bytes")
            raise _Wrong(f"{problem} from {url}")
        return size


def _receive(url: str, path: Path, limit: int, label: str) -> int:
    """Writes what the url gives, at most `limit` bytes, and returns how many; a bar shows on a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    hidden = not sys.stderr.isatty()
    # Not compressed on the way: a .gz must arrive as it lies there.
    asked = requests.get(url, stream=True, timeout=_TIMEOUT, headers={"Accept-Encoding": "identity"})
    bar = Progress(*columns, console=Console(stderr=True), transient=True, disable=hidden)
    with asked as answer, path.open("wb") as out, bar:
        answer.raise_for_status()
        length = answer.headers.get("Content-Length", "")
        task = bar.add_task(label, total=int(length) if length.isdecimal() else None)
        for block in answer.iter_content(1 << 16):
            if out.tell() + len(block) > limit:
                raise _Wrong(f"more than the {limit:,} bytes expected")
            out.write(block)
            bar.advance(task, len(block))
        return out.tell()
