"""What a model, a protocol or a dataset may be told, stated without importing torch.

A registry line gives each option's type: `int`, `float`, `bool`, or a tuple of the allowed words. Every option has to
be stated in the configuration: a default in the code would be a silent hyperparameter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from reprise.errors import UserError, known

OptionType = type | tuple[str, ...]
Options = Mapping[str, OptionType]


def check_options(
    values: Mapping[str, Any], options: Options, where: str | Callable[..., str], owner: str
) -> dict[str, Any]:
    """`values` in the options' types, or a `UserError` that begins with `where` ("file: key 'a.b'").

    A function `where` says so itself, of all options or of the one that it is given: not all need stand at one place.
    `owner` names what is being configured, e.g. "model elman". Integers are accepted where a float is asked for.
    """

    def place(*name: str) -> str:
        return ".".join((where, *name)) if isinstance(where, str) else where(*name)

    for name in values:
        if name not in options:
            raise UserError(f"{place(name)}: {owner} has no such option; {known(name, options)}")
    for name in options:
        if name not in values:
            raise UserError(f"{place()}: {owner} needs the option '{name}'; add it with its origin")
    return {name: check_option(values[name], kind, place(name)) for name, kind in options.items()}


def check_option(value: Any, kind: OptionType, where: str) -> Any:
    """`value` in the type of an option, or a `UserError` that begins with `where` ("file: key 'a.b'")."""
    if isinstance(kind, tuple):
        if value not in kind:
            raise UserError(f"{where}: {value!r} is not known; write one of {', '.join(kind)}")
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not kind or (kind is float and not math.isfinite(value)):
        raise UserError(f"{where}: {value!r} is not a{'n' if kind is int else ''} {kind.__name__}; write one")
    return value
