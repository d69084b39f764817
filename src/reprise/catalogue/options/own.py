"""The options of something of one's own: the annotated arguments of its constructor or function."""

from collections.abc import Callable
from inspect import Parameter
from typing import Any, Literal

from pydantic import PydanticUserError, create_model

from reprise.catalogue.options.base import Finite, Integer, Options
from reprise.catalogue.own import list_arguments
from reprise.errors import UserError

_BOUNDED = {int: Integer, float: Finite}
"""Types of arguments, and the bounded ones that stand for them: JSON has no infinity, and arrays have 2^31 places."""


def make_own_options(path: str, function: Callable[..., Any], *passed: str) -> type[Options]:
    """Make the class of options from a signature.

    Args:
        path: the import path, which becomes the name.
        function: a class, or a function, whose arguments are annotated.
        *passed: arguments that are no options: Reprise passes them itself.

    Raises:
        UserError: for an argument without a type, or with one that no value of a YAML file has.
    """
    fields: dict[str, Any] = {}
    for name, argument in list_arguments(path, function, *passed).items():
        if argument.kind in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL) or argument.annotation is Parameter.empty:
            raise UserError(f"{path}: its argument '{name}' has no type; write one, e.g. '{name}: int'")
        if name == "name" or name.startswith("_"):
            raise UserError(f"{path}: its argument '{name}' cannot be an option; give it another name")
        kind = _BOUNDED.get(argument.annotation, argument.annotation)
        fields[name] = kind, ... if argument.default is Parameter.empty else argument.default
    try:
        return create_model("Own", __base__=Options, name=(Literal[path], ...), **fields)
    except (PydanticUserError, NameError) as error:
        line = str(error).partition("\n")[0]
        raise UserError(f"{path}: its arguments cannot be options ({line}); write bool, int, float or str") from None
