"""Raw files from a mirror or from the network, under one checksum: a wrong file is never used."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from reprise.catalogue.spec import DatasetSpec, FileSpec
from reprise.data.archives import NO_ROOM, take_member
from reprise.data.raw import mismatch
from reprise.errors import UserError
from reprise.files import atomic_path

REMEDY = "or set REPRISE_MIRROR to a folder that holds {place}"
_LARGEST = 1 << 30  # bytes of a file whose size nobody stated, and of a file in an archive
_TIMEOUT = (15, 60)  # seconds to connect, seconds without a byte


def fetch(
    dataset: DatasetSpec,
    raw_root: Path,
    mirror: Path | None,
    say: Callable[[str], None],
    *,
    attempts: int = 4,
    pause: float = 1.0,
) -> list[Path]:
    """Puts every file of the dataset into `raw_root/<dataset>/` and returns their paths.

    A file that is there with the right checksum stays; else `mirror/<dataset.mirror>/<file>` is
    copied, or its url downloaded, in at most `attempts` attempts with pauses of `pause`, twice
    and four times that many seconds. `say` gets a line about each. Raises UserError, in one line, if a
    file cannot be had, and OSError, which names the file, if it cannot be put there; no file with a
    wrong checksum is left anywhere.
    """
    shelf = mirror / dataset.mirror if mirror else None
    if mirror and not mirror.is_dir():
        say(f"mirror {mirror}: no such folder, not used")
    job = _Job(dataset, raw_root / dataset.name, shelf, say, attempts, pause)
    return [job.fetch(file) for file in dataset.files]


class _Transient(Exception):
    """Something that may be gone at the next attempt."""


class _Wrong(Exception):
    """A file with another checksum than the configuration gives."""


@dataclass(frozen=True)
class _Job:
    dataset: DatasetSpec
    folder: Path
    shelf: Path | None
    say: Callable[[str], None]
    attempts: int
    pause: float

    def fetch(self, file: FileSpec) -> Path:
        target = self.folder / file.name
        label = f"{self.dataset.name}/{file.name}"
        if file.member is None:
            if not self._at_hand(file, target, label, (file.algorithm, file.digest)):
                self._download(file, target, label)
        else:
            digest = file.member_digest
            if digest is None or not self._at_hand(file, target, label, digest):
                self._unpack(file, target, label)
        return target

    def _at_hand(self, file: FileSpec, target: Path, label: str, digest: tuple[str, str]) -> bool:
        """True once the target has this digest, from an earlier call or from the mirror."""
        if target.is_file():
            problem = mismatch(target, *digest)
            if problem is None:
                self.say(f"{label}: already there, checksum verified")
                return True
            target.unlink()
            self.say(f"{label}: {problem}; removed, fetching it again")
        source = self.shelf / file.name if self.shelf else None
        if source is None or not source.is_file():
            return False
        try:
            with atomic_path(target) as temporary:
                _copy(source, temporary)
                if problem := mismatch(temporary, *digest):
                    raise _Wrong(problem)
        except _Wrong as error:
            if file.url is None:
                raise UserError(
                    f"{label}: the mirror's file has a {error}; correct its digest in config/config.yaml, key"
                    f" datasets.{self.dataset.name}.files, or replace {source}"
                ) from None
            self.say(f"{label}: refused {source} of the mirror: {error}")
            return False
        self.say(f"{label}: from the mirror, {source}")
        return True

    def _unpack(self, file: FileSpec, target: Path, label: str) -> None:
        """Takes the member out of its archive, which stays beside it."""
        archive = self.fetch(file.archive)
        with atomic_path(target) as temporary:
            take_member(archive, str(file.member), temporary, _LARGEST, file.prefix)
            if file.member_digest and (problem := mismatch(temporary, *file.member_digest)):
                raise UserError(
                    f"{label}: {file.member} in {archive.name}: {problem}; correct"
                    f" member_digest of datasets.{self.dataset.name} in config/config.yaml"
                )
        self.say(f"{label}: taken out of {archive.name}")

    def _remedy(self, file: FileSpec) -> str:
        """The other remedy where the file cannot be downloaded."""
        if self.shelf and (there := self.shelf / file.name).is_file():
            return f"or replace {there} of the mirror, which has another checksum"  # or it would have been taken
        return REMEDY.format(place=f"{self.dataset.mirror}/{file.name}")

    def _download(self, file: FileSpec, target: Path, label: str) -> None:
        remedy = self._remedy(file)
        if file.url is None:
            raise UserError(f"{label}: has no url and no mirror has it; set {remedy.removeprefix('or set ')}")
        for attempt in range(1, self.attempts + 1):
            try:
                size = _transfer(file, target, label)
            except _Transient as error:
                if attempt == self.attempts:
                    raise UserError(f"{label}: {error} ({attempt} attempts); try again later, {remedy}") from None
                wait = self.pause * 2 ** (attempt - 1)
                self.say(f"{label}: {error}; attempt {attempt + 1} in {wait:g} s")
                time.sleep(wait)
            except _Wrong as error:
                raise UserError(
                    f"{label}: {error}; correct datasets.{self.dataset.name} in config/config.yaml, {remedy}"
                ) from None
            else:
                self.say(f"{label}: downloaded from {file.url} ({size:,} bytes)")
                return


def _copy(source: Path, copy: Path) -> None:
    try:
        shutil.copyfile(source, copy)
    except OSError as error:
        # It names what it reads from, as if that were full.
        if error.errno in NO_ROOM:
            raise OSError(error.errno, error.strerror, str(copy)) from error
        raise


def _transfer(file: FileSpec, target: Path, label: str) -> int:
    """One attempt; returns the number of bytes. The target appears if its checksum is right."""
    import pooch
    from requests import exceptions

    url, answers = str(file.url), []
    with atomic_path(target) as temporary:
        try:
            with temporary.open("wb") as out, _progress(label) as bar:
                capped = _Capped(out, file.size or _LARGEST)
                # Not compressed on the way: a .gz must arrive as it lies there.
                pooch.HTTPDownloader(
                    progressbar=bar,
                    chunk_size=1 << 16,
                    timeout=_TIMEOUT,
                    headers={"Accept-Encoding": "identity"},
                    hooks={"response": lambda answer, **_: answers.append(answer)},
                )(url, capped, None)
        except exceptions.HTTPError as error:
            status = error.response.status_code
            kind = _Transient if status >= 500 or status in (408, 429) else _Wrong
            raise kind(f"HTTP {status} for {url}") from None
        except (exceptions.ChunkedEncodingError, exceptions.ContentDecodingError):
            raise _Transient(f"truncated: {url} broke off after {temporary.stat().st_size:,} bytes") from None
        except (exceptions.ConnectionError, exceptions.Timeout) as error:
            raise _Transient(
                f"no network or no answer from {urlsplit(url).hostname} ({type(error).__name__})"
            ) from None
        except exceptions.RequestException as error:
            raise _Wrong(f"url {url}: {error}") from None
        finally:
            for answer in answers:  # pooch leaves them open when a transfer fails
                answer.close()
        size = temporary.stat().st_size
        if problem := mismatch(temporary, file.algorithm, file.digest):
            with temporary.open("rb") as content:
                head = content.read(512).lstrip().lower()
            if head.startswith((b"<!doctype html", b"<html")):
                raise _Wrong(f"an HTML page came instead of the file from {url}; {problem}")
            if file.size and size < file.size:
                raise _Transient(f"truncated: {url} gave {size:,} of {file.size:,} bytes")
            raise _Wrong(f"{problem} from {url}")
        return size


@dataclass
class _Capped:
    """A file that refuses to grow over `limit` bytes."""

    file: IO[bytes]
    limit: int

    def write(self, data: bytes) -> int:
        if self.file.tell() + len(data) > self.limit:
            raise _Wrong(f"more than the {self.limit:,} bytes expected")
        return self.file.write(data)

    def flush(self) -> None:
        self.file.flush()


@contextlib.contextmanager
def _progress(label: str) -> Iterator[Any]:
    """A progress bar on standard error as pooch wants it, or False where nobody watches."""
    if not sys.stderr.isatty():
        yield False
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield _Bar(progress, progress.add_task(label, total=None))


class _Bar:
    """A progress bar as pooch wants it: total, update, reset, close."""

    def __init__(self, progress: Any, task: Any) -> None:
        self._progress, self._task = progress, task
        self.total = 0

    def update(self, size: int) -> None:
        self._progress.update(self._task, total=self.total or None, advance=size)

    def reset(self) -> None:
        self._progress.update(self._task, completed=0)

    def close(self) -> None:
        """The bar goes with its `Progress`."""
