"""What pydantic finds wrong, as one line that names the file, the key and the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from reprise.config.base import HEX, ID, NAME, ORIGIN
from reprise.config.places import Places
from reprise.config.schema import Section, Setting
from reprise.errors import UserError, shortened

M = TypeVar("M", bound=BaseModel)

_FORMS = {
    ORIGIN: "is no origin; begin with 'paper …', 'author's code', 'author's log', 'assumption <id>', 'deviation <id>' "
    "or 'ours: …'",
    HEX: "is no checksum; write 64 hexadecimal digits for sha256, 40 for sha1 and git-blob, in small letters",
    ID: "is no name; write small letters, digits and hyphens",
    NAME: "is no name of an experiment; write <experiment>, or <experiment>@<assumption>=<alternative>",
}
_TYPES = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "a word",
    "list_type": "a list",
    "model_type": "a mapping",
    "dict_type": "a mapping",
}
"""What is said where several would do."""
_NAMED = 4
"""Missing keys that a line names at most."""


def parse(
    kind: type[M],
    content: Any,
    path: Path,
    places: Places | None = None,
    said: Mapping[str, Any] | None = None,
) -> M:
    """The `content` of a file as a `kind`; UserError where it is none. `said`: keys that the command line gave."""
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        keys, line = _one_line(error.errors(include_url=False), kind, content, places)
        raise UserError(f"{source(path, keys.partition('.')[0], said or {})}: {line}") from None


def source(path: Path, key: str, said: Mapping[str, Any]) -> str:
    """Where the value of a key of the file comes from, which the command line may have `said`."""
    return f"{path} (with --config {key}={said[key]})" if key in said else str(path)


def unknown_key(name: str, names: Iterable[str], value: Any = "") -> str:
    """The remedy for a key that nothing reads: the one that was probably meant, if there is one."""
    close = get_close_matches(name, sorted(names), n=1)
    if close:
        return f"unknown key; did you mean '{close[0]}'?"
    # In {from: paper §2, Table 1} "Table 1" is a key.
    comma = " (a value with a comma needs quotes)" if value is None else ""
    return f"unknown key; remove it, or mend its spelling{comma}"


def _one_line(errors: Sequence[Any], kind: type[BaseModel], content: Any, places: Places | None) -> tuple[str, str]:
    """The first key that is wrong, and what there is to say."""
    errors = [_misspelt(e, kind, content) or e for e in _deepest(errors, content)]
    # A misspelt key is missing under its right name, too: what is there and nothing reads comes first.
    first = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])
    everywhere = list(dict.fromkeys(_place(e, content, places) for e in errors))
    keys = [_place(first, content, places)]
    if first["type"] == "missing":
        beside = [e for e in errors if e["type"] == "missing" and e["loc"][:-1] == first["loc"][:-1]]
        keys = [_place(e, content, places) for e in beside[:_NAMED]]
    more = f" (and {len(everywhere) - len(keys)} more)" if len(everywhere) > len(keys) else ""
    if len(keys) > 1:
        return keys[0], f"keys {', '.join(keys)}: missing; add them{more}"
    types = dict.fromkeys(_TYPES.get(e["type"]) for e in errors if _keys(e, content) == _keys(first, content))
    if len(types) > 1 and None not in types:
        types = [word for word in types if word != _TYPES["int_type"] or _TYPES["float_type"] not in types]
        either = " or ".join(", ".join(types).rsplit(", ", 1))
        return keys[0], f"key {keys[0]}: {shortened(first['input'])} should be {either}; write it so{more}"
    return keys[0], f"key {keys[0]}: {_remedy(first, kind, content)}{more}"


def _deepest(errors: Sequence[Any], content: Any) -> list[Any]:
    """Without those of a union's members that was not meant: of the one that was, more than its type was looked at."""
    inside = {tuple(keys[:n]) for keys in (_keys(e, content) for e in errors) for n in range(len(keys))}
    left = [e for e in errors if tuple(_keys(e, content)) not in inside]
    looked_at = {tuple(_keys(e, content)) for e in left if not e["type"].endswith("_type")}
    return [e for e in left if not e["type"].endswith("_type") or tuple(_keys(e, content)) not in looked_at]


def _misspelt(error: Any, kind: type[BaseModel], content: Any) -> dict[str, Any] | None:
    """A key that is missing where any may stand beside it, as the one that was probably meant for it."""
    there = error["input"]
    if error["type"] != "missing" or not isinstance(there, Mapping):
        return None
    others = set(there) - _names(kind, _keys(error, content)[:-1])
    close = get_close_matches(str(error["loc"][-1]), sorted(others), n=1)
    if not close:
        return None
    return {"type": "extra_forbidden", "loc": (*error["loc"][:-1], close[0]), "input": there[close[0]]}


def _place(error: Any, content: Any, places: Places | None) -> str:
    keys, missing = _keys(error, content), error["type"] == "missing"
    if places and len(keys) > 2 and keys[0] == "experiments":
        return places.of(*keys[1:], missing=missing)
    return ".".join(keys) or "(top)"


def _keys(error: Any, content: Any) -> list[str]:
    """pydantic adds the names of union members to the location; only what is really in the file is shown."""
    found: list[str] = []
    value = content
    for i, part in enumerate(error["loc"]):
        inside = isinstance(value, Mapping) and part in value or isinstance(value, list) and isinstance(part, int)
        last = i == len(error["loc"]) - 1
        if inside:
            value = value[part]
        if inside or (last and error["type"] in {"missing", "extra_forbidden"}):
            found.append(str(part))
    return found


def _remedy(error: Any, kind: type[BaseModel], content: Any) -> str:
    match error["type"]:
        case "extra_forbidden":
            keys = _keys(error, content)
            # `like` is read before pydantic sees the rest.
            like = {"like"} if keys[0] == "experiments" and len(keys) == 3 else set()
            return unknown_key(keys[-1], _names(kind, keys[:-1]) | like, error["input"])
        case "missing":
            return "missing; add it"
        case "string_pattern_mismatch":
            pattern = error["ctx"]["pattern"]
            return f"{shortened(error['input'])} {_FORMS.get(pattern, f'is not of the form {pattern}; write it so')}"
        case "literal_error":
            return f"{shortened(error['input'])} is not known; write one of {error['ctx']['expected']}"
        case "model_type" | "dict_type":
            setting = " (for a setting: {value: …, from: …})" if Setting in _types(kind, _keys(error, content)) else ""
            return f"{shortened(error['input'])} should be a mapping{setting}; write it so"
        case "too_short" | "too_long":
            return f"{error['msg'].lower().replace(' after validation', '')}; mend the value"
    return f"{error['msg'].lower()}, not {shortened(error['input'])}; mend the value"


def _names(kind: type[BaseModel], keys: Sequence[str]) -> set[str]:
    """The keys that may stand in the mapping at `keys` of a `kind`."""
    return {name for one in _types(kind, keys) for name in _fields(one)}


def _types(kind: type[BaseModel], keys: Sequence[str]) -> list[Any]:
    """What may stand at `keys` of a `kind`, unions taken apart."""
    types: list[Any] = [kind]
    for key in keys:
        types = [inner for outer in types for inner in _inside(outer, key)]
    return types


def _fields(kind: Any) -> dict[str, Any]:
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return {}
    return {field.alias or name: field.annotation for name, field in kind.model_fields.items()}


def _inside(kind: Any, key: str) -> list[Any]:
    """The types that `key` of a `kind` may have, unions taken apart."""
    if fields := _fields(kind):
        return _members(fields.get(key, Setting if issubclass(kind, Section) else None))
    if get_origin(kind) in (dict, list):
        return _members(get_args(kind)[-1])
    return []


def _members(kind: Any) -> list[Any]:
    if get_origin(kind) is Annotated:
        return _members(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [member for one in get_args(kind) for member in _members(one)]
    return [kind]
