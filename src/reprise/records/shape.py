"""Whether a run record has the keys and the kinds of values that its readers count on, whoever wrote its digest."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

_NONE = type(None)
_WORDS = {bool: "true or false", str: "a text", int: "a whole number", float: "a number", dict: "an object"}
_WORDS |= {list: "a list", _NONE: "null"}
_NUMBER = (int, float)
SCHEMA = 1
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
_RUN = {"device": (str,), "engine": (str,), "wall_seconds": _NUMBER}
_METRIC = {"split": (str,), "metric": (str,), "unit": (str,), "value": _NUMBER, "n": (int, _NONE)}
_CURVE = {"split": (str,), "metric": (str,), "unit": (str,), "axis": (str,), "x": (list,), "y": (list,)}
# What `reprise.evidence.bleu` makes a score of: a number a text in each of the lists.
_TRANSLATIONS = {"split": (str,), "lowercase": (bool,), "tokenisation": (str,), "texts": (list,)}
_COUNTS = ("hypothesis_words", "reference_words", "matches_1", "matches_2", "matches_3", "matches_4")
_SHOWN = 40
"""Characters of a wrong value that are quoted."""


def mistake_in(record: Mapping[str, Any]) -> str | None:
    """The first mistake, "key metrics[0].value: null, not a number", or None.

    Keys that nobody reads are not looked at, nor are most samples, each of which has keys of its own.
    """
    if found := _fields(record, _RECORD, "") or _run(record["run"]):
        return found
    if record["schema"] != SCHEMA:
        return f"key schema: {record['schema']}, and this version of Reprise reads {SCHEMA}"
    status = "diverged" if record["diverged"] else "finished"
    if record["status"] != status:
        return f"key status: {_quoted(record['status'])}, not {_quoted(status)}, as the key diverged says"
    for key in ("metrics", "curves", "samples"):
        for i, item in enumerate(record[key]):
            path = f"{key}[{i}]"
            if found := _item(key, item, f"{path}.") if type(item) is dict else _wrong(path, item, (dict,)):
                return found
    return None


def _run(run: Mapping[str, Any]) -> str | None:
    optional = {"peak_memory_mib": _NUMBER} if "peak_memory_mib" in run else {}
    if found := _fields(run, _RUN | optional, "run."):
        return found
    return f"key run.wall_seconds: {run['wall_seconds']}, below 0" if run["wall_seconds"] < 0 else None


def _item(key: str, item: Mapping[str, Any], path: str) -> str | None:
    if key == "metrics":
        return _fields(item, _METRIC, path)
    if key == "curves":
        return _fields(item, _CURVE, path) or _columns(item, ("x", "y"), "y", path)
    if item.get("kind") == "translations":
        fields = _TRANSLATIONS | dict.fromkeys(_COUNTS, (list,))
        return _fields(item, fields, path) or _columns(item, _COUNTS, "texts", path)
    return None


def _fields(item: Mapping[str, Any], fields: Mapping[str, tuple[type, ...]], path: str) -> str | None:
    for key, kinds in fields.items():
        if key not in item:
            return f"key {path}{key}: missing"
        value = item[key]
        # By type itself: in Python true and false are whole numbers as well.
        if type(value) not in kinds:
            return _wrong(f"{path}{key}", value, kinds)
        if kinds is _NUMBER and not _finite(value):
            return f"key {path}{key}: {_quoted(value)}, too large"
    return None


def _columns(item: Mapping[str, Any], keys: tuple[str, ...], beside: str, path: str) -> str | None:
    """The first mistake in lists of numbers, which are as long as the one that stands `beside`.

    Curves are long and read by the thousand: their points are looked at one by one only where one is wrong.
    """
    for key in keys:
        values = item[key]
        kinds = set(map(type, values))
        if not kinds.issubset(_NUMBER):
            at = next(i for i, value in enumerate(values) if type(value) not in _NUMBER)
            return _wrong(f"{path}{key}[{at}]", values[at], _NUMBER)
        # The digest knows no infinite float, but a whole number of any length.
        if int in kinds and not (_finite(min(values)) and _finite(max(values))):
            at = next(i for i, value in enumerate(values) if not _finite(value))
            return f"key {path}{key}[{at}]: {_quoted(values[at])}, too large"
        if len(values) != len(item[beside]):
            return f"key {path}{key}: {len(values)} values, and {len(item[beside])} in {beside}"
    return None


def _finite(value: float) -> bool:
    return -sys.float_info.max <= value <= sys.float_info.max


def _wrong(path: str, value: Any, kinds: tuple[type, ...]) -> str:
    words = "a number" if kinds == _NUMBER else " or ".join(_WORDS[kind] for kind in kinds)
    return f"key {path}: {_quoted(value)}, not {words}"


def _quoted(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
