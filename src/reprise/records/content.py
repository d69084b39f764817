"""What the files of records have in common: JSON whose result part has a digest, of one replica of an experiment."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reprise.errors import UserError
from reprise.files import describe_dead_link, dump_canonical_json, find_dead_link, read_whole
from reprise.records.resolved import Resolved

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def compute_digest(record: Mapping[str, Any], keys: Iterable[str]) -> str:
    """Compute SHA-256 over these keys of a record."""
    return hashlib.sha256(dump_canonical_json({key: record[key] for key in keys}).encode()).hexdigest()


def read_content(path: Path, what: str, missing: str, foreign: str) -> bytes:
    """Read a file whole.

    Args:
        path: The file.
        what: What the file is called in messages.
        missing: What to do where there is no such file.
        foreign: What to do where a folder stands there.

    Raises:
        UserError: There is no such file.
        OSError: The file cannot be read, which is no damage.
    """
    try:
        return read_whole(path)
    except OSError as error:
        if link := find_dead_link(path):
            raise UserError(f"{path}: no such record: {describe_dead_link(link)}") from None
        if isinstance(error, FileNotFoundError):
            raise UserError(f"{path}: no such record; {missing}") from None
        if isinstance(error, IsADirectoryError):
            raise UserError(f"{path}: this is a folder, not the {what}; {foreign}") from None
        raise


def decode_content(content: bytes, name: Path | str, keys: Iterable[str], what: str, remedy: str) -> dict[str, Any]:
    """Decode a whole, unaltered record.

    Args:
        content: The content of its file.
        name: Where it comes from; messages begin with it.
        keys: The result part, of which the key `result_sha256` holds the digest.
        what: What the record is called in messages.
        remedy: What messages end with.

    Raises:
        UserError: The record is truncated or altered, or says a key twice.
    """
    try:
        # The digest refuses what is no number, but `run` lies outside it.
        record = json.loads(content.decode("utf-8"), object_pairs_hook=_make_object, parse_constant=_refuse_constant)
        # Half of a pair of surrogates is a text in JSON, and in no file.
        if _SURROGATE.search(content):
            json.dumps(record, ensure_ascii=False).encode()
        stated, digest = record["result_sha256"], compute_digest(record, keys)
    except _DuplicateKey as error:
        raise UserError(f"{name}: key {str(error)!r} stands twice; {remedy}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UserError(f"{name}: not a whole {what}; {remedy}") from None
    if stated != digest:
        raise UserError(f"{name}: key result_sha256 does not fit the content, which was altered; {remedy}")
    return record


def require_owner(
    record: Mapping[str, Any], name: Path | str, expected: Resolved | None, replica: int | None, remedy: str
) -> None:
    """Raise `UserError` where a record is of another experiment, configuration or replica; None stands for any."""
    owner = f"{record['paper']}/{record['experiment']} with {record['config_hash']}"
    if expected and owner != (required := f"{expected.id} with {expected.config_hash}"):
        raise UserError(f"{name}: key config_hash: the record is of {owner}, not of {required}; {remedy}")
    # A copy under another replica's name would count as one more replica.
    if replica not in (None, number := record["replica"]):
        raise UserError(f"{name}: key replica: the record is of replica {number}, not of {replica}; {remedy}")


def _refuse_constant(name: str) -> None:
    """Refuse NaN, Infinity and -Infinity, which are no JSON."""
    raise ValueError(f"{name} is no number")


class _DuplicateKey(Exception):
    """A key that stands twice in one object: a reader sees the first, a program the last."""


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _DuplicateKey(next(key for key in keys if keys.count(key) > 1))
    return content
