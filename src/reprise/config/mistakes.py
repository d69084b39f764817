"""Mistakes that pydantic finds, as one line that names the file, the key and the remedy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from reprise.config.base import FORMS, Strict
from reprise.errors import UserError, shortened

M = TypeVar("M", bound=BaseModel)

_TYPES = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "a word",
    "list_type": "a list",
    "model_type": "a mapping",
    "dict_type": "a mapping",
}


@dataclass(frozen=True)
class Places:
    """Where keys stand: the experiments as they are `written`, and the family that each is `like`, if any."""

    written: Mapping[str, Any] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)

    def of(self, *keys: str, missing: bool = False) -> str:
        """Where a key stands, dotted: one of an experiment that its family says, "families.<family>.<key>".

        A key that is `missing` is missing where the mapping around it stands.
        """
        name, inner = keys[1:2], keys[2:]
        if keys[0] == "experiments" and inner and name[0] in self.families:
            entry = self.written[name[0]]
            try:
                for key in inner[:-1] if missing else inner:
                    entry = entry[int(key) if isinstance(entry, list) else key]
            except (LookupError, TypeError, ValueError):
                return ".".join(("families", self.families[name[0]], *inner))
        return ".".join(keys)


def parse(kind: type[M], content: Any, path: Path, places: Places | None = None, said: Mapping[str, Any] = {}) -> M:
    """The `content` of a file as a `kind`; UserError where it is none. `said`: keys that the command line gave."""
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        errors = [(_keys(e, content), e) for e in error.errors(include_url=False)]
        # A misspelt key is missing under its right name too; of a union's members the meant one was read furthest, and
        # a key that is missing may be that of another member.
        keys, first = max(
            errors,
            key=lambda one: (
                one[1]["type"] == "extra_forbidden",
                len(one[0]),
                one[1]["type"] != "missing",
                not one[1]["type"].endswith("_type"),
            ),
        )
        wanted = list(dict.fromkeys(_TYPES[e["type"]] for k, e in errors if k == keys and e["type"] in _TYPES))
        key = (places or Places()).of(*keys, missing=first["type"] == "missing") if keys else "(top)"
        more = len({tuple(k) for k, _ in errors if k[: len(keys)] != keys and keys[: len(k)] != k})
        others = f" (and {more} more)" if more else ""
        where = source(path, keys[0] if keys else "", said)
        raise UserError(f"{where}: key {key}: {_remedy(first, keys, wanted)}{others}") from None


def source(path: Path, key: str, said: Mapping[str, Any]) -> str:
    """Where the value of a key of the file comes from, which the command line may have `said`."""
    return f"{path} (with --config {key}={said[key]})" if key in said else str(path)


def unknown_key(name: str, value: Any = "") -> str:
    """The remedy for a key that nothing reads: the one that was probably meant, if there is one."""
    every = {field.alias or key for kind in _kinds(Strict) for key, field in kind.model_fields.items()}
    # In {from: paper §2, Table 1} "Table 1" is a key.
    comma = " (a value with a comma needs quotes)" if value is None else ""
    # A word may be a key elsewhere.
    if close := get_close_matches(name, sorted((every | {"like", "families"}) - {name}), n=1):
        return f"unknown key; did you mean '{close[0]}'?{comma}"
    return f"unknown key; remove it, or correct its spelling{comma}"


def _kinds(kind: type[BaseModel]) -> list[type[BaseModel]]:
    return [kind, *(inner for subclass in kind.__subclasses__() for inner in _kinds(subclass))]


def _keys(error: Any, content: Any) -> list[str]:
    """pydantic adds the names of union members to the location; only what is really in the file is shown."""
    found: list[str] = []
    for part in error["loc"]:
        if isinstance(content, Mapping) and part in content or isinstance(content, list) and isinstance(part, int):
            content = content[part]
            found.append(str(part))
    if error["type"] == "missing":
        found.append(str(error["loc"][-1]))
    return found


def _remedy(error: Any, keys: list[str], wanted: list[str]) -> str:
    match error["type"]:
        case "extra_forbidden":
            return unknown_key(keys[-1], error["input"])
        case "missing":
            # Where any key may stand, only its likeness to the missing one tells that a key is misspelt.
            if close := get_close_matches(keys[-1], error["input"], n=1, cutoff=0.8):
                return f"missing; '{close[0]}' is unknown, correct its spelling"
            return "missing; add it"
        case "string_pattern_mismatch":
            pattern = error["ctx"]["pattern"]
            return f"{shortened(error['input'])} {FORMS.get(pattern, f'is not of the form {pattern}; correct it')}"
        case "value_error":
            return error["msg"].removeprefix("Value error, ")
        case "literal_error":
            return f"{shortened(error['input'])} is not known; write one of {error['ctx']['expected']}"
    if wanted and error["type"] in _TYPES:
        setting = " {value: …, from: …}" if error.get("ctx", {}).get("class_name") == "Setting" else ""
        either = " or ".join(", ".join(wanted).rsplit(", ", 1))
        return f"{shortened(error['input'])} should be {either}{setting}; correct it"
    return f"{error['msg'].lower()}, not {shortened(error['input'])}; correct the value"
