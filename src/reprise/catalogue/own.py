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
from traceback import extract_tb
from typing import Any

from reprise.errors import UserError, suggest_name


def is_own(name: str) -> bool:
    """Tell an import path from a name of the catalogue."""
    return ":" in name


def load_own(path: str) -> Any:
    """Import what "module:name" stands for.

    Raises:
        UserError: where there is no such file or name, a package is missing that the file imports, or the file fails.
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
    except Exception as error:
        raise UserError(f"{_describe_with_place(error)}; correct the file") from error
    if not hasattr(content, name):
        own = [key for key, value in vars(content).items() if getattr(value, "__module__", "") == module]
        raise UserError(f"{path}: no '{name}' in {content.__file__}; {suggest_name(name, own)}")
    return getattr(content, name)


def _describe_with_place(error: Exception) -> str:
    """Say where in a file an error arose, its kind and its message: "file, line n: kind: message"."""
    if isinstance(error, SyntaxError):
        file, line, message = Path(error.filename), error.lineno, error.msg
    else:
        frames = extract_tb(error.__traceback__)
        own = [frame for frame in frames if _is_own_file(Path(frame.filename))] or frames
        file, line, message = Path(own[-1].filename), own[-1].lineno, str(error).partition("\n")[0]
    return f"{file}, line {line}: {type(error).__name__}: {message}"


def _is_own_file(file: Path) -> bool:
    """Tell files of the project folder from those of libraries."""
    return file.is_relative_to(Path.cwd()) and "site-packages" not in file.parts


def list_arguments(function: Callable[..., Any], *passed: str) -> dict[str, inspect.Parameter]:
    """Look up the arguments of a constructor or function that are options: all but those that Reprise has `passed`."""
    parameters = inspect.signature(function, eval_str=True).parameters
    return {name: value for name, value in parameters.items() if name not in passed}


def compute_source_digest(path: str) -> dict[str, str]:
    """Compute the SHA-256 of the file that "module:name" is in, by the file's path from the project folder."""
    load_own(path)
    file = Path(str(sys.modules[path.partition(":")[0]].__file__))
    name = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else Path(file.name)
    return {str(name): hashlib.sha256(file.read_bytes()).hexdigest()}
