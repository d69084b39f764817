"""Whether a run record has the keys and the kinds of values that its readers count on, whoever wrote its digest."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

_NONE = type(None)
_WORDS = {str: "a text", int: "a whole number", float: "a number", dict: "an object", list: "a list", _NONE: "null"}
_NUMBER = (int, float)
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
_RUN = {"device": (str,), "engine": (str,), "wall_seconds": _NUMBER}
_METRIC = {"split": (str,), "metric": (str,), "unit": (str,), "value": _NUMBER, "n": (int, _NONE)}
_CURVE = {"split": (str,), "metric": (str,), "unit": (str,), "axis": (str,), "x": (list,), "y": (list,)}
_SHOWN = 40
"""Characters of a wrong value that are quoted."""


def mistake_in(record: Mapping[str, Any], schema: int) -> str | None:
    """What is wrong, "key metrics[0].value: null, not a number", or None where nothing is.

    What training never writes is left unchecked: keys of their own that samples have, and those that nobody reads.
    """
    found = _fields(record, _RECORD, "") or _fields(record["run"], _RUN, "run.")
    if found:
        return found
    if record["schema"] != schema:
        return f"key schema: {record['schema']}, and this version of Reprise reads {schema}"
    status = "diverged" if record["diverged"] else "finished"
    if record["status"] != status:
        return f"key status: {_quoted(record['status'])}, not {_quoted(status)}, as the key diverged says"
    if record["run"]["wall_seconds"] < 0:
        return f"key run.wall_seconds: {record['run']['wall_seconds']}, below 0"
    for key, fields in (("metrics", _METRIC), ("curves", _CURVE), ("samples", {})):
        for i, item in enumerate(record[key]):
            if type(item) is not dict:
                return f"key {key}[{i}]: {_quoted(item)}, not an object"
            found = _fields(item, fields, f"{key}[{i}].")
            if found:
                return found
    return next(filter(None, (_points(curve, f"curves[{i}].") for i, curve in enumerate(record["curves"]))), None)


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


def _points(curve: Mapping[str, Any], path: str) -> str | None:
    """Curves are long and read by the thousand: their points are looked at one by one only where one is wrong."""
    for key in ("x", "y"):
        values = curve[key]
        kinds = set(map(type, values))
        if not kinds.issubset(_NUMBER):
            at = next(i for i, value in enumerate(values) if type(value) not in _NUMBER)
            return _wrong(f"{path}{key}[{at}]", values[at], _NUMBER)
        # The digest knows no infinite float, but a whole number of any length.
        if int in kinds and not (_finite(min(values)) and _finite(max(values))):
            at = next(i for i, value in enumerate(values) if not _finite(value))
            return f"key {path}{key}[{at}]: {_quoted(values[at])}, too large"
    if len(curve["x"]) != len(curve["y"]):
        return f"key {path}x: {len(curve['x'])} points, and {len(curve['y'])} in y"
    return None


def _finite(value: float) -> bool:
    return -sys.float_info.max <= value <= sys.float_info.max


def _wrong(path: str, value: Any, kinds: tuple[type, ...]) -> str:
    words = "a number" if kinds == _NUMBER else " or ".join(_WORDS[kind] for kind in kinds)
    return f"key {path}: {_quoted(value)}, not {words}"


def _quoted(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
