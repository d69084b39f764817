"""Reading what `reprise collect` and `reprise verify` wrote, with explicit types."""

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NotRequired

import pandas as pd
from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from reprise.errors import UserError
from reprise.evidence.collect import CURVE_KEYS, METRIC_KEYS

_NUMBERS = {"replica": "int64", **dict.fromkeys(("value", "seconds", "x"), "float64")}
_NUMBERS |= dict.fromkeys(("seed", "n", "parameters"), "Int64")
METRIC_COLUMNS, CURVE_COLUMNS = ({k: _NUMBERS.get(k, "str") for k in keys} for keys in (METRIC_KEYS, CURVE_KEYS))
"""The columns of both files and their types; in curves.csv.gz `value` is y."""


STATUSES = ("finished", "diverged")


class Sample(dict[str, Any]):
    """A text that a model wrote, with the keys of the other files. A key that it lacks is a damage of its file."""

    def __init__(self, content: dict[str, Any], path: Path, remedy: str):
        super().__init__(content)
        self.path, self.remedy = path, remedy

    def __missing__(self, key: str) -> Any:
        raise UserError(f"{self.path}: a sample of {self['paper']}/{self['experiment']} lacks {key!r}; {self.remedy}")


class _SampleKeys(TypedDict):
    """The keys of a line of samples.jsonl that displays read."""

    __pydantic_config__ = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)
    paper: str
    experiment: str
    variant: str
    replica: int
    status: Literal["finished", "diverged"]
    kind: NotRequired[str]
    text: NotRequired[str]
    prompt: NotRequired[str]
    decoder: NotRequired[str]
    prediction: NotRequired[str]
    step: NotRequired[int]
    epoch: NotRequired[int]
    line: NotRequired[int | str]
    words: NotRequired[list[str]]
    features: NotRequired[list[Any]]
    texts: NotRequired[list[str]]


class _Mean(TypedDict):
    """What metrics.json says of one metric and split of an experiment."""

    n: int


_SAMPLE = TypeAdapter(_SampleKeys)
_SUMMARY = TypeAdapter(dict[str, dict[str, dict[str, _Mean]]])


def _remedy(command: str, tier: str) -> str:
    return f"run `python -m reprise {command} --tier {tier}`"


@contextmanager
def _reading(path: Path, command: str, tier: str) -> Iterator[None]:
    """Turn what is wrong with a file into one line that names it, and the command that writes it."""
    remedy = _remedy(command, tier)
    if not path.is_file():
        raise UserError(f"{path}: no such file; {remedy}")
    try:
        yield
    except pd.errors.EmptyDataError:
        raise UserError(f"{path}: is empty; {remedy}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise UserError(f"{path}: {f'key {key}: ' if key else ''}{first['msg']}; {remedy}") from None
    except (ValueError, TypeError, OverflowError, OSError, EOFError, RecursionError, zlib.error) as error:
        # pandas writes several lines; the first says what it met.
        raise UserError(f"{path}: {str(error).splitlines()[0]}; {remedy}") from None


def read_collected(path: Path, columns: Mapping[str, str], tier: str) -> pd.DataFrame:
    """Read the file at `path` with these columns, texts as they stand and numbers to the last digit.

    Raises:
        UserError: The file is missing, empty, damaged or cut, or lacks a column.
    """
    with _reading(path, "collect", tier):
        head = pd.read_csv(path, nrows=0).columns
        if lacking := [c for c in columns if c not in head]:
            raise ValueError(f"no column {', '.join(lacking)}")
        missing = {c: [""] for c, kind in columns.items() if kind != "str"}
        rows = pd.read_csv(path, usecols=list(columns), dtype=dict(columns), keep_default_na=False, na_values=missing)
        # A row that is cut has no status, nor has one whose columns are shifted.
        if not (whole := rows.status.isin(STATUSES)).all():
            raise ValueError(f"row {int((~whole).idxmax()) + 1} has no status")
        return rows


def read_metrics(folder: Path, tier: str) -> pd.DataFrame:
    """Read metrics.csv of a tier's folder. See `read_collected`.

    Raises:
        UserError: As there, and where metrics.json, which is written with it, counts other rows.
    """
    path, summary = folder / "metrics.csv", folder / "metrics.json"
    rows = read_collected(path, METRIC_COLUMNS, tier)
    if not summary.is_file():
        return rows
    with _reading(summary, "collect", tier):
        counts = _SUMMARY.validate_json(summary.read_bytes())
    expected = sum(
        entry["n"] for experiments in counts.values() for of in experiments.values() for entry in of.values()
    )
    if expected != (number := int((rows.metric != "").sum())):
        raise UserError(f"{path}: {number} numbers, and {expected} in {summary.name}; {_remedy('collect', tier)}")
    return rows


def read_samples(path: Path, tier: str) -> list[Sample]:
    """Read the lines of samples.jsonl: texts that models wrote, with the keys of the other files.

    Raises:
        UserError: The file is missing, damaged or cut.
    """
    with _reading(path, "collect", tier):
        # Only "\n" ends a line here: a text may hold characters that other readers take for line ends.
        *lines, rest = path.read_bytes().split(b"\n")
        if rest:
            raise ValueError("is cut in the middle of a line")
        remedy = _remedy("collect", tier)
        return [Sample(dict(_SAMPLE.validate_json(line)), path, remedy) for line in lines]
