"""Records and logs in one file, for machines that give back few files: written by `run`, taken in by `collect`.

Neither side imports torch.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from reprise.errors import UserError
from reprise.files import is_there, write_atomically
from reprise.records.record import parse_record, write_record
from reprise.records.resolved import Resolved

LARGEST = 16_000_000
"""Bytes of an archive above which it is said that it is large, and of a member above which none is believed."""
_PIECE = 1 << 20
_REMEDY = "bring the archive from the machine that wrote it again"


class RunArchive:
    """A gzipped tar of the records of `experiments` and of the logs under `output`, as far as they are there.

    `say` is for what goes wrong: an archive that cannot be written must not stop the training.
    """

    def __init__(
        self, path: Path, output: Path, tier: str, experiments: Iterable[Resolved], say: Callable[[str], None]
    ) -> None:
        self.path, self.output, self.tier, self.say = path, output, tier, say
        self.wanted = [record for experiment in experiments for record in experiment.record_paths()]
        self.held: list[str] = []
        self.told = False

    def refresh(self) -> None:
        """Writes it anew if records have come since."""
        if self._records() != self.held:
            self.write()

    def write(self) -> bool:
        """Writes it anew, whole or not at all; whether that was possible."""
        records = self._records()
        logs = sorted((self.output / "logs" / "run").glob(f"{self.tier}*.log"))
        try:
            packed = _packed(self.output, [*records, *(log.relative_to(self.output).as_posix() for log in logs)])
            write_atomically(self.path, packed)
        except OSError as error:
            self.say(f"{self.path}: not written: {error.strerror or error}; the records are in {self.output}")
            return False
        self.held = records
        if len(packed) > LARGEST and not self.told:
            self.told = True
            self.say(f"{self.path}: {len(packed) / 1e6:.0f} MB; an --output of its own would hold new records alone")
        return True

    def _records(self) -> list[str]:
        return [record for record in self.wanted if (self.output / record).exists()]


def _packed(root: Path, names: Iterable[str]) -> bytes:
    """The same files give the same bytes: nothing is kept of their owners and times."""
    buffer = io.BytesIO()
    # PAX, which knows names of any length.
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in names:
            content = (root / name).read_bytes()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def take_in(path: Path, experiments: Iterable[Resolved], root: Path) -> tuple[int, int, list[str]]:
    """Puts the records of an archive into their places under `root`.

    Returns how many were new, how many were there already (those stay as they are), and the names of the records that
    are of no experiment of the current configuration: they are not taken. Raises `UserError` before anything is
    written where the archive is damaged, holds something that does not belong into one, or a record that was altered.
    """
    owners = {
        record: (experiment, replica)
        for experiment in experiments
        for replica, record in enumerate(experiment.record_paths())
    }
    new, there, refused = [], 0, []
    for name, content in _members(path):
        if name.parts[0] == "logs":
            continue
        if str(name) not in owners:
            refused.append(str(name))
        elif is_there(root / name):
            there += 1
        else:
            new.append((root / name, parse_record(content, f"{path}: {name}", *owners[str(name)], _REMEDY)))
    for target, record in new:
        write_record(target, record)
    return len(new), there, refused


def _members(path: Path) -> list[tuple[PurePosixPath, bytes]]:
    found = []
    try:
        _check_sum(path)
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                name = PurePosixPath(member.name)
                inside = (
                    not name.is_absolute() and ".." not in name.parts and name.parts[:1] in (("results",), ("logs",))
                )
                if not (member.isreg() and inside and member.size <= LARGEST):
                    raise UserError(f"{path}: '{member.name}' does not belong into an archive of `run --archive`")
                found.append((name, archive.extractfile(member).read()))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; name what `run --archive` wrote") from None
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise UserError(f"{path}: not a whole gzipped tar ({error}); copy it again") from None
    return found


def _check_sum(path: Path) -> None:
    """Reads to the very end, where gzip has its checksum: whoever reads the tar alone stops before.

    In pieces, as nobody knows yet how much there is.
    """
    with gzip.open(path) as stream:
        while stream.read(_PIECE):
            pass
