"""Whether a run record has the keys and the kinds of values that its readers count on, whoever wrote its digest."""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

_NONE = type(None)
_WORDS = {bool: "true or false", str: "a text", int: "a whole number", float: "a number", dict: "an object"}
_WORDS |= {list: "a list", _NONE: "null"}
_NUMBER = (int, float)
SCHEMA = 1
_RUN = {"device": (str,), "engine": (str,), "wall_seconds": _NUMBER}
_METRIC = {"split": (str,), "metric": (str,), "unit": (str,), "value": _NUMBER, "n": (int, _NONE)}
_CURVE = {"split": (str,), "metric": (str,), "unit": (str,), "axis": (str,), "x": (list,), "y": (list,)}
_COUNTS = ("hypothesis_words", "reference_words", "matches_1", "matches_2", "matches_3", "matches_4")
# What `reprise.evidence.numbers` makes a score of: a number a text in each of the lists.
_TRANSLATIONS = {"split": (str,), "lowercase": (bool,), "tokenisation": (str,), "texts": (list,)}
_TRANSLATIONS |= dict.fromkeys(_COUNTS, (list,))
_RECORD = {
    "schema": (int,),
    "paper": (str,),
    "experiment": (str,),
    "replica": (int,),
    "seed": (int,),
    "fold": (int, str, _NONE),
    "config": (dict,),
    "config_hash": (str,),
    "status": (str,),
    "diverged": (dict, _NONE),
    "parameters": (int, _NONE),
    "metrics": (list,),
    "curves": (list,),
    "samples": (list,),
    "run": (dict,),
}
RESULT_KEYS = tuple(key for key in _RECORD if key != "run")
"""Keys that must come out the same when a replica is trained again on the same machine; `run` says how it was made."""
_SHOWN = 40
"""Characters of a wrong value that are quoted."""


def mistake_in(record: Mapping[str, Any]) -> str | None:
    """The first mistake, "key metrics[0].value: null, not a number", or None.

    Keys that nobody reads are not looked at, nor are most samples, each of which has keys of its own.
    """
    return next(_mistakes(record), None)


def _mistakes(record: Mapping[str, Any]) -> Iterator[str]:
    yield from _fields(record, _RECORD, "")
    run = record["run"]
    yield from _fields(run, _RUN | ({"peak_memory_mib": _NUMBER} if "peak_memory_mib" in run else {}), "run.")
    if run["wall_seconds"] < 0:
        yield f"key run.wall_seconds: {run['wall_seconds']}, below 0"
    if record["schema"] != SCHEMA:
        yield f"key schema: {record['schema']}, and this version of Reprise reads {SCHEMA}"
    status = "diverged" if record["diverged"] else "finished"
    if record["status"] != status:
        yield f"key status: {_quoted(record['status'])}, not {_quoted(status)}, as the key diverged says"
    for key in ("metrics", "curves", "samples"):
        for i, item in enumerate(record[key]):
            path = f"{key}[{i}]"
            if type(item) is not dict:
                yield _wrong(path, item, (dict,))
            elif key == "metrics":
                yield from _fields(item, _METRIC, f"{path}.")
            elif key == "curves":
                yield from _fields(item, _CURVE, f"{path}.")
                yield from _columns(item, ("x", "y"), "y", f"{path}.")
            elif item.get("kind") == "translations":
                yield from _fields(item, _TRANSLATIONS, f"{path}.")
                yield from _columns(item, _COUNTS, "texts", f"{path}.")


def _fields(item: Mapping[str, Any], fields: Mapping[str, tuple[type, ...]], path: str) -> Iterator[str]:
    for key, kinds in fields.items():
        if key not in item:
            yield f"key {path}{key}: missing"
        else:
            yield from _of_kind(item[key], kinds, f"{path}{key}")


def _columns(item: Mapping[str, Any], keys: tuple[str, ...], beside: str, path: str) -> Iterator[str]:
    """The mistakes in lists of numbers, which are as long as the one that stands `beside`."""
    for key in keys:
        values = item[key]
        # Curves are long and read by the thousand: points are looked at one by one only where not all are floats.
        if set(map(type, values)) - {float}:
            for at, value in enumerate(values):
                yield from _of_kind(value, _NUMBER, f"{path}{key}[{at}]")
        if len(values) != len(item[beside]):
            yield f"key {path}{key}: {len(values)} values, and {len(item[beside])} in {beside}"


def _of_kind(value: Any, kinds: tuple[type, ...], path: str) -> Iterator[str]:
    # By type itself: in Python true and false are whole numbers as well.
    if type(value) not in kinds:
        yield _wrong(path, value, kinds)
    # The digest knows no infinite float, but a whole number of any length.
    elif kinds is _NUMBER and abs(value) > sys.float_info.max:
        yield f"key {path}: {_quoted(value)}, too large"


def _wrong(path: str, value: Any, kinds: tuple[type, ...]) -> str:
    words = "a number" if kinds == _NUMBER else " or ".join(_WORDS[kind] for kind in kinds)
    return f"key {path}: {_quoted(value)}, not {words}"


def _quoted(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
