"""Mistakes that pydantic finds, as one line that names the file, the key and the remedy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from reprise.catalogue.options.base import Options, list_options
from reprise.catalogue.own import suggest_target
from reprise.config.base import FORMS, Strict
from reprise.config.sections import NAMES
from reprise.errors import UserError, shorten, suggest_name

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
_MISSING = "missing; add it"
_NOTATIONS = {"Setting": " {value: …, from: …}", "Margin": " {value: …, is: …, from: …}"}
"""How mappings are written that users take for a single value, by the names of their classes."""
_BOUNDS = {
    "greater_than": "above",
    "greater_than_equal": "of at least",
    "less_than": "below",
    "less_than_equal": "of at most",
}


@dataclass(frozen=True)
class Places:
    """Where keys stand: the experiments as they are `written`, and the family that each is `like`, if any."""

    written: Mapping[str, Any] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)

    def locate_key(self, *keys: str, missing: bool = False) -> str:
        """Return where a key stands, dotted: one of an experiment that its family says, "families.<family>.<key>".

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


def parse_model(
    kind: type[M], content: Any, path: Path, places: Places | None = None, overrides: Mapping[str, Any] = {}
) -> M:
    """Read the content of a file as a model.

    Args:
        kind: The model.
        content: What the file holds.
        path: The file, for messages.
        places: Where its experiments' keys stand.
        overrides: Keys that the command line gives.

    Raises:
        UserError: The content does not fit the model.
    """
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        errors = [(_list_keys(e, content), e) for e in error.errors(include_url=False)]
        keys, first = max(errors, key=_rate_error)
        expected = list(dict.fromkeys(_TYPES[e["type"]] for k, e in errors if k == keys and e["type"] in _TYPES))
        key = _locate_error(keys, first, places or Places())
        # A misspelt key is missing under its right name too.
        misspelt_in = {tuple(k[:-1]) for k, e in errors if e["type"] == "extra_forbidden"}
        others = {
            _locate_error(k, e, places or Places())
            for k, e in errors
            if k[: len(keys)] != keys and keys[: len(k)] != k
            if e["type"] != "missing" or tuple(k[:-1]) not in misspelt_in
        }
        other_count = len(others - {key})
        others = f" (and {other_count} more)" if other_count else ""
        where = name_source(path, keys[0] if keys else "", overrides)
        raise UserError(f"{where}: key {key}: {_describe_remedy(first, keys, expected)}{others}") from None


def _locate_error(keys: Sequence[str], error: Any, places: Places) -> str:
    """Return where the key of an error stands; experiments of one family share theirs."""
    return places.locate_key(*keys, missing=error["type"] == "missing") if keys else "(top)"


def _rate_error(error: tuple[list[str], Any]) -> tuple[bool, int, bool, bool]:
    """Return how likely an error, with its keys, is the mistake itself; the largest is reported.

    A misspelt key is missing under its right name too. Of a union's members the meant one was read furthest. A missing
    key may be that of another member.
    """
    keys, details = error
    kind = details["type"]
    return kind == "extra_forbidden", len(keys), kind != "missing", not kind.endswith("_type")


def name_source(path: Path, key: str, overrides: Mapping[str, Any]) -> str:
    """Return where the value of a key of the file comes from, which the command line may override."""
    return f"{path} (with --config {key}={overrides[key]})" if key in overrides else str(path)


def suggest_key(name: str, value: Any = "") -> str:
    """Return the remedy for a key that nothing reads: the one that was probably meant, if there is one."""
    known_keys = {field.alias or key for kind in _list_subclasses(Strict) for key, field in kind.model_fields.items()}
    # In {from: paper §2, Table 1} "Table 1" is a key.
    quotes_hint = " (a value with a comma needs quotes)" if value is None else ""
    # A word may be a key elsewhere.
    if matches := get_close_matches(name, sorted((known_keys | {"like", "families"}) - {name}), n=1):
        return f"unknown key; did you mean '{matches[0]}'?{quotes_hint}"
    return f"unknown key; remove it, or correct its spelling{quotes_hint}"


def _list_subclasses(kind: type[BaseModel]) -> list[type[BaseModel]]:
    return [kind, *(inner for subclass in kind.__subclasses__() for inner in _list_subclasses(subclass))]


def _list_keys(error: Any, content: Any) -> list[str]:
    """Return the keys of an error without the names of union members, which pydantic adds to its location."""
    keys: list[str] = []
    for part in error["loc"]:
        if isinstance(content, Mapping) and part in content or isinstance(content, list) and isinstance(part, int):
            content = content[part]
            keys.append(str(part))
    if error["type"] == "missing":
        keys.append(str(error["loc"][-1]))
    if error["type"] == "union_tag_not_found":
        keys.append(NAMES[keys[-1]][0])
    return keys


def _describe_remedy(error: Any, keys: list[str], expected: list[str]) -> str:
    match error["type"]:
        case "extra_forbidden":
            return suggest_key(keys[-1], error["input"])
        case "missing":
            # Where any key may stand, only its likeness to the missing one tells that a key is misspelt.
            matches = get_close_matches(keys[-1], error["input"], n=1, cutoff=0.8)
            return f"missing; '{matches[0]}' is unknown, correct its spelling" if matches else _MISSING
        case "string_pattern_mismatch":
            pattern = error["ctx"]["pattern"]
            return f"{shorten(error['input'])} {FORMS.get(pattern, f'is not of the form {pattern}; correct it')}"
        case "union_tag_not_found":
            name = error["input"].get(keys[-1]) if isinstance(error["input"], Mapping) else None
            return (
                f"{shorten(name)} is not known; {suggest_target(str(name), NAMES[keys[-2]][1])}" if name else _MISSING
            )
        case "value_error":
            return error["msg"].removeprefix("Value error, ")
        case "literal_error":
            return f"{shorten(error['input'])} is not known; write one of {error['ctx']['expected']}"
    if error["type"] in _BOUNDS:
        (bound,) = error["ctx"].values()
        return f"{shorten(error['input'])} is out of bounds; write a number {_BOUNDS[error['type']]} {bound:.10g}"
    if error["type"] in ("int_type", "float_type") and _is_number(error["input"]):
        return f"{shorten(error['input'])} is a word; remove the quotes"
    if expected and error["type"] in _TYPES:
        setting = next((form for name, form in _NOTATIONS.items() if _get_class_name(error).startswith(name)), "")
        alternatives = " or ".join(", ".join(expected).rsplit(", ", 1))
        return f"{shorten(error['input'])} should be {alternatives}{setting}; correct it"
    problem, remedy = f"{error['msg'].lower()}, not {shorten(error['input'])}", "correct the value"
    if error["type"] == "string_too_short":
        problem, remedy = "is empty", "write a text"
    if error["type"] == "too_short":
        problem = f"{shorten(error['input'])} has too few entries"
        remedy = f"write {error['ctx']['min_length']} or more"
    return f"{problem}; {remedy}"


def _get_class_name(error: Any) -> str:
    """Return the name of the class that was meant; "" if the error names none."""
    return error.get("ctx", {}).get("class_name", "")


def _is_number(value: Any) -> bool:
    """Tell whether a text would be a number without its quotes."""
    try:
        return isinstance(value, str) and bool(value) and isinstance(float(value), float)
    except ValueError:
        return False


def complete_options(
    kind: type[Options], name: str, values: Mapping[str, Any], place: Callable[[str], str]
) -> tuple[dict[str, Any], list[str]]:
    """Check the values of options and add the defaults.

    Args:
        kind: the options of the thing called `name`.
        name: the name under which the configuration has it.
        values: what the experiment states, by option.
        place: where an option was written, as errors begin.

    Returns:
        All options with their values, and those whose value is the default.

    Raises:
        UserError: at the first option that is unknown, missing, or out of its type or bounds.
    """
    for option in values:
        if option not in list_options(kind):
            raise UserError(f"{place(option)}: {name} has no such option; {suggest_name(option, list_options(kind))}")
    try:
        options = kind.model_validate({"name": name, **values})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        keys = [str(key) for key in first["loc"]]
        remedy = f"missing; {name} needs this option, add it"
        if first["type"] != "missing":
            remedy = _describe_remedy(first, keys, [_TYPES[first["type"]]] if first["type"] in _TYPES else [])
        raise UserError(f"{place(keys[0])}: {remedy}") from None
    content = options.model_dump(exclude={"name"})
    fields = kind.model_fields
    return content, [
        key for key, value in content.items() if not fields[key].is_required() and value == fields[key].default
    ]
