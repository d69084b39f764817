"""Raw files from a mirror or from the network, under one checksum: a wrong file is never used."""

import re
import threading
import time
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import requests
import urllib3
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from reprise.config.datasets import NamedDataset, RawFile
from reprise.data.raw import find_mismatch
from reprise.errors import UserError, shorten
from reprise.files import atomic_path, read_whole, write_atomically
from reprise.terminal import STDERR

_ATTEMPTS = 4
_LARGEST = 1 << 30  # bytes of a file whose size nobody stated, and of a file in an archive
_TIMEOUT = (15, 60)  # seconds to connect, seconds without a byte
# A slow server is given these seconds. After them its bytes have to come at this rate on average.
_GRACE, _SLOWEST = 30.0, 10_000.0


def fetch_file(
    dataset: NamedDataset,
    file: RawFile,
    raw_root: Path,
    mirror: Path | None,
    log: Callable[[str], None],
    pause: float = 1.0,
) -> Path:
    """Put a file of the dataset into `raw_root/<dataset>/` and return its path.

    A file that is there with the right checksum stays. Else `mirror/<dataset.mirror_folder>/<file>` is copied, or its
    url downloaded. A download has at most four attempts, with pauses of `pause`, twice and four times that many
    seconds. `log` gets a line about what was done.

    Raises:
        UserError: The file cannot be had. What was there before stays, and nothing with a wrong checksum is added.
        OSError: The file cannot be written; the error names it.
    """
    mirror_folder = mirror / dataset.mirror_folder if mirror else None
    return _Job(dataset, file, raw_root / dataset.name, mirror_folder, log, pause).fetch()


class _TransientError(Exception):
    """Something that may be gone at the next attempt."""


class _WrongFileError(Exception):
    """Another file than the configuration describes."""


@dataclass(frozen=True)
class _Job:
    dataset: NamedDataset
    file: RawFile
    folder: Path
    mirror_folder: Path | None
    log: Callable[[str], None]
    pause: float

    @property
    def target(self) -> Path:
        return self.folder / self.file.name

    @property
    def label(self) -> str:
        return f"{self.dataset.name}/{self.file.name}"

    def fetch(self) -> Path:
        digest, member = self.file.own_digest, self.file.member
        if digest is None or not self._is_present(*digest):
            self._download() if member is None else self._unpack(member)
        return self.target

    def _is_present(self, *digest: str) -> bool:
        """Return whether the target has this digest, from an earlier call or from the mirror."""
        if self.target.is_file():
            problem = find_mismatch(self.target, *digest)
            if problem is None:
                self.log(f"{self.label}: already there, checksum verified")
                return True
            self.log(f"{self.label}: {problem}")
        source = self.mirror_folder / self.file.name if self.mirror_folder else None
        if source is None or not source.is_file():
            return False
        if problem := find_mismatch(source, *digest):
            if self.file.url is None:
                raise UserError(
                    f"{self.label}: the mirror's file has a {problem}; correct its digest in config/config.yaml, key"
                    f" datasets.{self.dataset.name}.files, or replace {source}"
                )
            self.log(f"{self.label}: refused {source} of the mirror: {problem}")
            return False
        write_atomically(self.target, read_whole(source))
        self.log(f"{self.label}: from the mirror, {source}")
        return True

    def _unpack(self, member: str) -> None:
        """Take the member out of its archive, which stays beside it."""
        archive = replace(self, file=self.file.archive).fetch()
        content = read_member(archive, member, _LARGEST, self.file.prefix)
        with atomic_path(self.target) as temporary:
            temporary.write_bytes(content)
            if self.file.member_digest and (problem := find_mismatch(temporary, *self.file.member_digest)):
                entry = f"member_digest of datasets.{self.dataset.name} in config/config.yaml"
                raise UserError(f"{self.label}: {member} in {archive.name}: {problem}; correct {entry}")
        self.log(f"{self.label}: taken out of {archive.name}")

    def _download(self) -> None:
        file, label = self.file, self.label
        remedy = f"set REPRISE_MIRROR to a folder that holds {self.dataset.mirror_folder}/{file.name}"
        if self.mirror_folder and (wrong := self.mirror_folder / file.name).is_file():
            remedy = f"replace {wrong} of the mirror, which has another checksum"  # or it would have been taken
        if file.url is None and self.target.is_file():
            entry = f"its digest in config/config.yaml, key datasets.{self.dataset.name}.files"
            raise UserError(f"{self.target}: has another checksum, and no url; correct {entry}, or replace the file")
        if file.url is None:
            raise UserError(f"{label}: has no url and no mirror has it; {remedy}")
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                size = _transfer(file, file.url, self.target, label)
            except _TransientError as error:
                if attempt == _ATTEMPTS:
                    raise UserError(f"{label}: {error} ({attempt} attempts); try again later, or {remedy}") from None
                wait = self.pause * 2 ** (attempt - 1)
                self.log(f"{label}: {error}; attempt {attempt + 1} in {wait:g} s")
                time.sleep(wait)
            except _WrongFileError as error:
                entry = f"datasets.{self.dataset.name} in config/config.yaml"
                raise UserError(f"{label}: {error}; correct {entry}, or {remedy}") from None
            else:
                self.log(f"{label}: downloaded from {_hide_credentials(file.url)} ({size:,} bytes)")
                return


def read_member(archive: Path, member: str, limit: int, prefix: int | None = None) -> bytes:
    """Read one file of a zip archive, or its first `prefix` bytes; nothing is written where the archive says.

    Raises:
        UserError: The member is missing, damaged, shorter than `prefix`, or larger than `limit` bytes.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            if member not in opened.namelist():
                raise UserError(f"{archive}: holds no file {member}")
            size = opened.getinfo(member).file_size if prefix is None else prefix
            if size > limit:
                raise UserError(f"{archive}: {member} unpacks to more than {limit:,} bytes; refused")
            with opened.open(member) as content:
                data = content.read() if prefix is None else content.read(prefix)
    except (EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile, OSError) as error:
        raise UserError(f"{archive}: cannot be unpacked ({str(error) or type(error).__name__})") from None
    if len(data) < size:
        raise UserError(f"{archive}: {member} ends after {len(data):,} of {size:,} bytes")
    return data


def _transfer(file: RawFile, url: str, target: Path, label: str) -> int:
    """Make one attempt; return the number of bytes. The target appears if its checksum is right."""
    safe_url = _hide_credentials(url)
    with atomic_path(target) as temporary:
        with temporary.open("wb") as opened:
            size = _Transfer(url, opened, file.size or _LARGEST).receive(label)
        if problem := find_mismatch(temporary, file.algorithm, file.digest):
            with temporary.open("rb") as content:
                head = content.read(512).lstrip().lower()
            if head.startswith((b"<!doctype html", b"<html")):
                raise _WrongFileError(f"an HTML page came instead of the file from {safe_url}; {problem}")
            if file.size and size < file.size:
                raise _TransientError(f"truncated: {safe_url} gave {size:,} of {file.size:,} bytes")
            raise _WrongFileError(f"{problem} from {safe_url}")
        return size


def _hide_credentials(text: str) -> str:
    """Return a text without the user names and passwords of the addresses in it."""
    return re.sub(r"//[^/\s]*@", "//", text)


class _Transfer(threading.Thread):
    """One request, in a thread of its own: a name service or a server can hold a request beyond every timeout."""

    def __init__(self, url: str, file: BinaryIO, limit: int) -> None:
        super().__init__(daemon=True)
        self.url, self.file, self.limit = url, file, limit
        self.size, self.total, self.abandoned = 0, None, False
        self.error: Exception | None = None

    def receive(self, label: str) -> int:
        """Write what the url gives to the file and return how many bytes; a bar shows on a terminal.

        Raises:
            _TransientError: The next attempt may succeed.
            _WrongFileError: The next attempt would give the same.
        """
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        bar = Progress(*columns, console=STDERR, transient=True, disable=not STDERR.is_terminal)
        begin, task = time.monotonic(), bar.add_task(label, total=None)
        self.start()
        try:
            with bar:
                while self.is_alive():
                    self.join(0.1)
                    bar.update(task, completed=self.size, total=self.total)
                    if self.is_alive() and time.monotonic() - begin > _GRACE + self.size / _SLOWEST:
                        seconds = f"{time.monotonic() - begin:.0f} s"
                        raise _TransientError(
                            f"too slow: {_hide_credentials(self.url)} gave {self.size:,} bytes in {seconds}"
                        )
        finally:
            self.abandoned = True
        if self.error:
            raise self.error
        return self.size

    def run(self) -> None:
        """Transfer the file; an error is kept for `receive`. A server's answer is data and may be of any kind."""
        safe_url = _hide_credentials(self.url)
        try:
            self._write()
        except requests.HTTPError as error:
            status = error.response.status_code
            kind = _TransientError if status >= 500 or status in (408, 429) else _WrongFileError
            self.error = kind(f"HTTP {status} for {safe_url}")
        except ValueError as error:  # an address or a header that is none; also some of the errors of requests
            self.error = _WrongFileError(
                f"{safe_url}: the address or the server's answer is not valid ({_describe_error(error)})"
            )
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            cut = f"truncated: {safe_url} broke off after {self.size:,} bytes"
            self.error = _TransientError(
                cut if self.size else f"no network or no answer from {safe_url} ({_describe_error(error)})"
            )
        except Exception as error:
            self.error = error

    def _write(self) -> None:
        # A .gz must arrive as it lies on the server: nothing is compressed on the way or unpacked here.
        request = requests.get(self.url, stream=True, timeout=_TIMEOUT, headers={"Accept-Encoding": "identity"})
        with request as response:
            response.raise_for_status()
            length = response.headers.get("Content-Length", "")
            self.total = int(length) if length.isdecimal() else None
            for block in response.raw.stream(1 << 16, decode_content=False):
                if self.abandoned:
                    return
                self.size += len(block)
                if self.size > self.limit:
                    raise _WrongFileError(f"more than the {self.limit:,} bytes expected")
                self.file.write(block)


def _describe_error(error: Exception) -> str:
    """Return the kind of an error and the beginning of its message, which may quote a server."""
    return f"{type(error).__name__} {shorten(_hide_credentials(str(error)))}"
