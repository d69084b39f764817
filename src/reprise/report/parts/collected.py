"""Reading what `reprise collect` and `reprise verify` wrote, with explicit types."""

import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from reprise.errors import UserError
from reprise.evidence.collect import CURVE_KEYS, METRIC_KEYS

_NUMBERS = {"replica": "int64", **dict.fromkeys(("value", "seconds", "x"), "float64")}
_NUMBERS |= dict.fromkeys(("seed", "n", "parameters"), "Int64")
METRIC_COLUMNS, CURVE_COLUMNS = ({k: _NUMBERS.get(k, "str") for k in keys} for keys in (METRIC_KEYS, CURVE_KEYS))
"""The columns of both files and their types; in curves.csv.gz `value` is y."""


@contextmanager
def _reading(path: Path, command: str, tier: str) -> Iterator[None]:
    """Turns what is wrong with a file into one line that names it, and the command that writes it."""
    remedy = f"run `python -m reprise {command} --tier {tier}`"
    if not path.is_file():
        raise UserError(f"{path}: no such file; {remedy}")
    try:
        yield
    except pd.errors.EmptyDataError:
        raise UserError(f"{path}: is empty; {remedy}") from None
    except (ValueError, OSError, EOFError, RecursionError, zlib.error) as error:
        # pandas writes several lines; the first says what it met.
        raise UserError(f"{path}: {str(error).splitlines()[0]}; {remedy}") from None


def read_collected(path: Path, columns: Mapping[str, str], tier: str) -> pd.DataFrame:
    """The file at `path` with these columns, texts as they stand and numbers to the last digit.

    Errors: `UserError` where the file is missing, empty, damaged or lacks a column.
    """
    with _reading(path, "collect", tier):
        head = pd.read_csv(path, nrows=0).columns
        if lacking := [c for c in columns if c not in head]:
            raise ValueError(f"no column {', '.join(lacking)}")
        missing = {c: [""] for c, kind in columns.items() if kind != "str"}
        return pd.read_csv(path, usecols=list(columns), dtype=dict(columns), keep_default_na=False, na_values=missing)


def read_samples(path: Path, tier: str) -> list[dict[str, Any]]:
    """The lines of samples.jsonl: texts that models wrote, with the keys of the other files.

    Errors: `UserError` where the file is missing or damaged.
    """
    with _reading(path, "collect", tier):
        # Only "\n" ends a line here: a text may hold characters that other readers take for line ends.
        samples = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
        if not all(isinstance(sample, dict) for sample in samples):
            raise ValueError("does not hold a sample a line")
        return samples
