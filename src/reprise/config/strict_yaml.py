"""YAML without its traps: what a reader sees is what the program gets.

PyYAML keeps the last of two equal keys. It reads `1e-3` as a string, `010` as 8 and `no` as False. Here each of these
is an error that names the file, the line, the key and what to write instead.
"""

import contextlib
import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from reprise.errors import UserError, shorten
from reprise.files import describe_dead_link, find_dead_link

_RESOLVER = yaml.resolver.Resolver()
_MAX_DEPTH, _MAX_VALUES = 50, 50_000
"""Levels and values that a file may have, aliases (&, *) written out: several times what any file here has."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
"""Characters that neither XML nor a terminal shows, and that a text can hold by an escape: "\\0"."""
_EXPONENT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")
_OTHER_BASE = re.compile(r"[-+]?0\d+|[-+]?\d+(:[0-5]?\d)+(\.\d*)?")
_WORDY_BOOLEANS = {"yes", "no", "on", "off", "y", "n"}
_CAUSES = {
    "mapping values are not allowed": "a value with a colon needs quotes, or the line begins with too many blanks",
    "but got ':'": "a value with a colon needs quotes, or a bracket that opens before is not closed",
    "'\\t'": "indent with blanks",
    "expected ',' or": "a comma is missing, or a bracket that opens in this line or before it is not closed",
    "cannot start any token": "a value that begins with this character needs quotes",
}


def load_yaml(path: Path | str) -> Any:
    """Read a YAML file.

    Args:
        path: The file, UTF-8.

    Returns:
        Its content; what an alias stands for is a copy each time. None of an empty file.

    Raises:
        UserError: The file is missing, or has bad syntax, a duplicate key or a tag. Or YAML would read a number in it
            as something else. Or it has more levels or values than a configuration needs. The message names file, line,
            key and remedy.
    """
    path = Path(path)
    if link := find_dead_link(path):
        raise UserError(f"{path}: {describe_dead_link(link)}")
    if path.exists() and not path.is_file():  # a folder, or a pipe that would be waited for
        raise UserError(f"{path}: is not a regular file; move it away, and write a text in UTF-8 in its place")
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run from the root of the clone, or name the right file") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}:{line}: is no text in UTF-8; save the file as UTF-8") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error}); it must be a readable UTF-8 text") from None
    if control := _CONTROL.search(text):
        line = text.count("\n", 0, control.start()) + 1
        raise UserError(f"{path}:{line}: the control character {ascii(control[0])}; remove it")
    if yaml.__with_libyaml__:  # ten times as fast; what it refuses is left to PyYAML's own parser and its words
        with contextlib.suppress(yaml.YAMLError):
            return _Builder(path, yaml.parse(text, Loader=yaml.CSafeLoader)).build_document()
    try:
        return _Builder(path, yaml.parse(text, Loader=yaml.SafeLoader)).build_document()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        cause = next((f" ({cause})" for words, cause in _CAUSES.items() if words in str(error.problem)), "")
        raise UserError(f"{path}:{line}: not valid YAML: {error.problem}; correct the line{cause}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {' '.join(str(error).split())}; correct the file") from None


class _Builder:
    """Builds values from a parser's events, which come without recursion: all bounds are kept before they matter."""

    def __init__(self, path: Path, events: Iterator[yaml.Event]) -> None:
        self.path, self.events = path, events
        self.size, self.depth = 0, 0
        self.anchors: dict[str, tuple[Any, int]] = {}  # a value and how many values it holds

    def build_document(self) -> Any:
        """Build the only document of the file."""
        next(self.events)  # the stream begins
        if isinstance(next(self.events), yaml.StreamEndEvent):
            return None
        value = self._build_value(next(self.events), "")
        next(self.events)  # the document ends
        if not isinstance(event := next(self.events), yaml.StreamEndEvent):
            raise self._make_error(event, "", "a second document begins; keep one")
        return value

    def _make_error(self, event: yaml.Event, key: str, problem: str) -> UserError:
        return UserError(f"{self.path}:{event.start_mark.line + 1}: key {key or '(top)'}: {problem}")

    def _build_value(self, event: yaml.Event, key: str) -> Any:
        size, anchor = self.size, event.anchor
        if isinstance(event, yaml.AliasEvent):
            if anchor not in self.anchors:
                raise self._make_error(event, key, f"*{shorten(anchor)} stands for nothing before it; write &{anchor}")
            value, count = self.anchors[anchor]
            self._count_values(count, event, key)
            return copy.deepcopy(value)
        self._count_values(1, event, key)
        if event.tag is not None:
            raise self._make_error(event, key, f"the tag {shorten(event.tag)} is not read; remove it")
        if isinstance(event, yaml.ScalarEvent):
            value = self._build_scalar(event, key)
        else:
            self.depth += 1
            if self.depth > _MAX_DEPTH:
                raise self._make_error(event, "", f"nested deeper than {_MAX_DEPTH} levels; write it with fewer")
            value = self._build_list(key) if isinstance(event, yaml.SequenceStartEvent) else self._build_mapping(key)
            self.depth -= 1
        if anchor:
            self.anchors[anchor] = value, self.size - size
        return value

    def _count_values(self, values: int, event: yaml.Event, key: str) -> None:
        self.size += values
        if self.size > _MAX_VALUES:
            raise self._make_error(
                event, key, f"more than {_MAX_VALUES:,} values, with aliases (&, *) written out; write fewer"
            )

    def _build_list(self, key: str) -> list[Any]:
        values: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            values.append(self._build_value(event, f"{key}[{len(values)}]"))
        return values

    def _build_mapping(self, key: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent) or event.tag is not None or event.value in ("", "<<"):
                raise self._make_error(event, key, "write plain words as keys, and no merge key <<")
            self._refuse_control(event, key)
            inner = f"{key}.{event.value}" if key else event.value
            if event.value in values:
                line = event.start_mark.line + 1
                raise UserError(f"{self.path}:{line}: key {inner} stands twice; keep one of the two")
            values[event.value] = self._build_value(next(self.events), inner)
        return values

    def _refuse_control(self, event: yaml.ScalarEvent, key: str) -> None:
        if control := _CONTROL.search(event.value):
            raise self._make_error(event, key, f"the control character {ascii(control[0])}; remove it")

    def _build_scalar(self, event: yaml.ScalarEvent, key: str) -> Any:
        text, quoted = event.value, shorten(event.value)
        self._refuse_control(event, key)
        if event.style:  # in quotes, or a block
            return text
        tag = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)).removeprefix("tag:yaml.org,2002:")
        if tag not in {"str", "int", "float", "bool", "null"}:
            raise self._make_error(event, key, f"YAML reads {quoted} as a {tag}; put it in quotes")
        if tag == "str" and _EXPONENT.fullmatch(text):
            raise self._make_error(event, key, f"YAML reads {quoted} as a string; write {_add_point(text)}")
        if tag in {"int", "float"} and _OTHER_BASE.fullmatch(text):
            raise self._make_error(
                event, key, f"YAML reads {quoted} in another base; write the decimal number, or quote it"
            )
        if tag == "bool" and text.lower() in _WORDY_BOOLEANS:
            raise self._make_error(event, key, f"YAML reads {quoted} as a boolean; write true or false, or quote it")
        try:
            return yaml.constructor.SafeConstructor().construct_object(
                yaml.ScalarNode(f"tag:yaml.org,2002:{tag}", text)
            )
        except ValueError:  # a number of thousands of digits, or of none: 0x_
            raise self._make_error(event, key, "not a number that can be read; write another, or quote it") from None


def _add_point(number: str) -> str:
    """Write "1e-8" as YAML reads it for a number, 1.0e-8: with a point before the e, and a sign after it."""
    mantissa, exponent = re.split("[eE]", number)
    mantissa = re.sub(r"^([-+]?)\.", r"\g<1>0.", mantissa if "." in mantissa else f"{mantissa}.0")
    return f"{mantissa}e{exponent if exponent[0] in '+-' else f'+{exponent}'}"
