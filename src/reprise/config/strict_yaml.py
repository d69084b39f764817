"""YAML without its traps: what a reader sees is what the program gets.

PyYAML keeps the last of two equal keys, reads `1e-3` as a string, `010` as 8 and `no` as False, each without a word.
Here each of them is an error that names the file, the line, the key and what to write instead.
"""

import contextlib
import re
from pathlib import Path
from typing import Any

import yaml

from reprise.errors import UserError

_EXPONENT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")
_OTHER_BASE = re.compile(r"[-+]?0\d+|[-+]?\d+(:[0-5]?\d)+(\.\d*)?")
_WORDY_BOOLEANS = {"yes", "no", "on", "off", "y", "n"}
_CAUSES = {
    "mapping values are not allowed": "a value with a colon needs quotes",
    "but got ':'": "a value with a colon needs quotes",
    "'\\t'": "indent with blanks",
    "cannot start any token": "a value that begins with this character needs quotes",
}


def load_yaml(path: Path | str) -> Any:
    """The content of a YAML file.

    Errors: `UserError` (file, line, key, remedy) for a missing file, bad syntax, a duplicate key, a number that YAML
    would read as something else, a tag that would build a Python object, or aliases within themselves.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run from the root of the clone, or name the right file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error}); it must be a readable UTF-8 text") from None
    try:
        return _build(_compose(text), path, "")
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        cause = next((f" ({cause})" for words, cause in _CAUSES.items() if words in str(error.problem)), "")
        raise UserError(f"{path}:{line}: not valid YAML: {error.problem}; correct the line{cause}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {' '.join(str(error).split())}; correct the file") from None
    except RecursionError:
        raise UserError(f"{path}: nested too deeply, or within itself (&, *); write it with fewer levels") from None


def _compose(text: str) -> yaml.Node | None:
    """By libyaml where PyYAML has it, ten times as fast; what that refuses is left to PyYAML's parser and its words."""
    if yaml.__with_libyaml__:
        with contextlib.suppress(yaml.YAMLError):
            return yaml.compose(text, Loader=yaml.CSafeLoader)
    return yaml.compose(text, Loader=yaml.SafeLoader)


def _build(node: yaml.Node | None, path: Path, key: str) -> Any:
    """The value at `key`; None of an empty file."""
    if node is None:
        return None
    where = f"{path}:{node.start_mark.line + 1}: key {key or '(top)'}"
    if isinstance(node, yaml.SequenceNode):
        return [_build(item, path, f"{key}[{i}]") for i, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for name_node, value in node.value:
            name, line = name_node.value, name_node.start_mark.line + 1
            if not isinstance(name, str) or name == "<<":
                raise UserError(f"{path}:{line}: key {key or '(top)'}: write plain words as keys, and no merge key <<")
            inner = f"{key}.{name}" if key else name
            if name in result:
                raise UserError(f"{path}:{line}: key {inner} stands twice; keep one of the two")
            result[name] = _build(value, path, inner)
        return result
    tag, text, plain = node.tag.removeprefix("tag:yaml.org,2002:"), node.value, not node.style
    if tag not in {"str", "int", "float", "bool", "null"}:
        raise UserError(f"{where}: YAML reads '{text}' as a {tag}; put it in quotes")
    if plain and tag == "str" and _EXPONENT.fullmatch(text):
        raise UserError(f"{where}: YAML reads '{text}' as a string; write {_with_point(text)}")
    if plain and tag in {"int", "float"} and _OTHER_BASE.fullmatch(text):
        raise UserError(f"{where}: YAML reads '{text}' in another base; write the decimal number, or quote it")
    if plain and tag == "bool" and text.lower() in _WORDY_BOOLEANS:
        raise UserError(f"{where}: YAML reads '{text}' as a boolean; write true or false, or quote it")
    try:
        return yaml.constructor.SafeConstructor().construct_object(node)
    except ValueError:  # a number of thousands of digits, or of none: 0x_
        raise UserError(f"{where}: not a number that can be read; write another, or quote it") from None


def _with_point(number: str) -> str:
    """ "1e-8" as YAML reads it for a number, 1.0e-8: with a point before the e, and a sign after it."""
    mantissa, exponent = re.split("[eE]", number)
    mantissa = re.sub(r"^([-+]?)\.", r"\g<1>0.", mantissa if "." in mantissa else f"{mantissa}.0")
    return f"{mantissa}e{exponent if exponent[0] in '+-' else f'+{exponent}'}"
