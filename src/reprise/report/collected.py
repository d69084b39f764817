"""Reading what `reprise collect` gathered, with explicit types."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from reprise.errors import UserError

COLUMNS = {
    "paper": "str",
    "experiment": "str",
    "variant": "str",
    "replica": "int64",
    "seed": "Int64",
    "fold": "str",
    "split": "str",
    "metric": "str",
    "value": "float64",
    "unit": "str",
    "n": "Int64",
    "parameters": "Int64",
    "device": "str",
    "engine": "str",
    "seconds": "float64",
    "status": "str",
    "config_hash": "str",
}
"""The columns of metrics.csv and their types; curves.csv.gz has `axis` and `x` besides, and `value` is y."""
CURVE_COLUMNS = {**COLUMNS, "axis": "str", "x": "float64"}


def read_collected(path: Path, columns: Mapping[str, str], tier: str) -> pd.DataFrame:
    """The file at `path` with these columns, texts as they stand and numbers to the last digit.

    Errors: `UserError` where the file is missing, empty, damaged or lacks a column.
    """
    remedy = f"run `python -m reprise collect --tier {tier}`"
    if not path.is_file():
        raise UserError(f"{path}: no such file; {remedy}")
    try:
        head = pd.read_csv(path, nrows=0).columns
        lacking = [c for c in columns if c not in head]
        if lacking:
            raise UserError(f"{path}: no column {', '.join(lacking)}; {remedy}")
        missing = {c: [""] for c, kind in columns.items() if kind != "str"}
        return pd.read_csv(
            path,
            usecols=list(columns),
            dtype=dict(columns),
            keep_default_na=False,
            na_values=missing,
        )
    except pd.errors.EmptyDataError:
        raise UserError(f"{path}: is empty; {remedy}") from None
    except (ValueError, OSError, EOFError, zlib.error) as error:
        # pandas writes several lines; the first says what it met.
        raise UserError(f"{path}: {str(error).splitlines()[0]}; {remedy}") from None
