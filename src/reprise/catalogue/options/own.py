"""The options of something of one's own: the annotated arguments of its constructor or function."""

from collections.abc import Callable
from inspect import Parameter
from typing import Any, Literal

from pydantic import create_model

from reprise.catalogue.options.base import Options
from reprise.catalogue.own import list_arguments
from reprise.errors import UserError


def make_own_options(path: str, function: Callable[..., Any], *passed: str) -> type[Options]:
    """Make the class of options from a signature.

    Args:
        path: the import path, which becomes the name.
        function: a class, or a function, whose arguments are annotated.
        *passed: arguments that are no options: Reprise passes them itself.

    Raises:
        UserError: for an argument without a type.
    """
    fields: dict[str, Any] = {}
    for name, argument in list_arguments(function, *passed).items():
        if argument.kind in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL) or argument.annotation is Parameter.empty:
            raise UserError(f"{path}: its argument '{name}' has no type; write one, e.g. '{name}: int'")
        fields[name] = argument.annotation, ... if argument.default is Parameter.empty else argument.default
    return create_model("Own", __base__=Options, name=(Literal[path], ...), **fields)
