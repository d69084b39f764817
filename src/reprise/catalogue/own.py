"""Models, preparations and displays of one's own: the configuration names them by import path, "module:name".

Modules are looked for in the project folder, from which every command runs, before what is installed.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from reprise.errors import UserError, known


def is_own(name: str) -> bool:
    """Tell an import path from a name of the catalogue."""
    return ":" in name


def load_own(path: str) -> Any:
    """Import what "module:name" stands for.

    Raises:
        UserError: where there is no such file or name, or where a package is missing that the file imports.
    """
    module, _, name = path.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        content = import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            file = Path(*module.split(".")).with_suffix(".py")
            raise UserError(f"{path}: no file {file} in {folder}; write it, or correct the import path") from None
        raise UserError(f"{path}: it imports {error.name}, which is not installed; install it") from error
    if not hasattr(content, name):
        own = [key for key, value in vars(content).items() if getattr(value, "__module__", "") == module]
        raise UserError(f"{path}: no '{name}' in {content.__file__}; {known(name, own)}")
    return getattr(content, name)


def arguments_of(function: Callable[..., Any], *passed: str) -> dict[str, inspect.Parameter]:
    """Look up the arguments of a constructor or function that are options: all but those that Reprise has `passed`."""
    parameters = inspect.signature(function, eval_str=True).parameters
    return {name: value for name, value in parameters.items() if name not in passed}


def digest_of(path: str) -> dict[str, str]:
    """Compute the SHA-256 of the file that "module:name" is in, by the file's path from the project folder."""
    load_own(path)
    file = Path(str(sys.modules[path.partition(":")[0]].__file__))
    shown = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else Path(file.name)
    return {str(shown): hashlib.sha256(file.read_bytes()).hexdigest()}
