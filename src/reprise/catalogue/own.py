"""Models, preparations and displays of one's own: the configuration names them by import path, "module:name".

Modules are looked for in the project folder, from which every command runs, before what is installed.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import Any

import reprise
from reprise.errors import UserError, is_memory_error, suggest_name
from reprise.files import compute_sha256

_PACKAGE = Path(reprise.__file__).parent


def is_own(name: str) -> bool:
    """Tell an import path from a name of the catalogue."""
    return ":" in name


def suggest_target(name: str, names: Iterable[str]) -> str:
    """Return the remedy for an unknown model, preparation or display: the colon of an import path, or a name."""
    module, _, attribute = name.rpartition(".")
    if (file := _find_file(module)) and file.is_file():
        return f"did you mean '{module}:{attribute}'?"
    return suggest_name(name, names)


def _find_file(module: str) -> Path | None:
    """Return where a module of the project folder would stand; None for what is no module's name."""
    parts = module.split(".")
    return Path(*parts).with_suffix(".py") if all(part.isidentifier() for part in parts) else None


def find_module_file(module: str) -> Path | None:
    """Return the file of a module of the project folder, of a package its `__init__.py`; None where there is none.

    Nothing is imported: where pages are made its libraries need not be installed.
    """
    file = _find_file(module)
    files = [file, file.with_suffix("") / "__init__.py"] if file else []
    return next((one for one in files if one.is_file()), None)


def load_own(path: str) -> Any:
    """Import the class or function that "module:name" stands for.

    Raises:
        UserError: There is no such file or name, or the name is of something else. Or the file fails, or imports a
            package that is missing.
    """
    module, _, name = path.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        content = import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            file = _find_file(module) or module
            raise UserError(f"{path}: no file {file} in {folder}; write it, or correct the import path") from None
        raise UserError(f"{path}: it imports {error.name}, which is not installed; install it") from error
    except (Exception, SystemExit) as error:  # exit(0) would end the command as if all were well
        raise UserError(f"{_describe_with_place(error)}; correct the file") from error
    if not hasattr(content, name):
        own = [key for key, value in vars(content).items() if getattr(value, "__module__", "") == module]
        raise UserError(f"{path}: no '{name}' in {content.__file__}; {suggest_name(name, own)}")
    value = getattr(content, name)
    if not callable(value):
        raise UserError(f"{path}: is neither a class nor a function; name one")
    return value


@contextmanager
def report_own(path: str) -> Iterator[None]:
    """Report in one line what the function "module:name" gets wrong; our own errors keep their traceback.

    Raises:
        UserError: The user's file raised an error.
    """
    try:
        yield
    except (Exception, SystemExit) as error:  # exit(0) would end the command as if all were well
        place = None if isinstance(error, (UserError, OSError)) else find_own_place(error, path.partition(":")[0])
        if place is None or is_memory_error(error):
            raise
        message = str(error).partition("\n")[0]
        raise UserError(f"{place}: {type(error).__name__}: {message}; correct {path}") from error


def find_own_place(error: BaseException, module: str) -> str | None:
    """Return file and line of a user's module that are to blame for an error; None where they are not."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or Path(file).is_relative_to(_PACKAGE):
        return None
    # What torch or numpy raise was raised by whoever called them.
    frames = [
        f for f in extract_tb(error.__traceback__) if f.filename == file or Path(f.filename).is_relative_to(_PACKAGE)
    ]
    if frames and frames[-1].filename == file:
        return f"{file}, line {frames[-1].lineno}"
    if isinstance(error, AttributeError) and type(error.obj).__module__ == module:
        return file
    return None


def require_kind(value: Any, kind: type, path: str) -> None:
    """Raise `UserError` unless the function "module:name" has returned what it should."""
    if not isinstance(value, kind):
        raise UserError(f"{path}: returns {type(value).__name__}, not {kind.__name__}; correct its `return`")


def _describe_with_place(error: BaseException) -> str:
    """Say where in a file an error arose, its kind and its message: "file, line n: kind: message"."""
    if isinstance(error, SyntaxError) and error.filename:
        file, line, message = Path(error.filename), error.lineno, error.msg
    else:
        frames = extract_tb(error.__traceback__)
        own = [frame for frame in frames if _is_own_file(Path(frame.filename))] or frames
        file, line, message = Path(own[-1].filename), own[-1].lineno, str(error).partition("\n")[0]
    return f"{file}, line {line}: {type(error).__name__}: {message}"


def _is_own_file(file: Path) -> bool:
    """Tell files of the project folder from those of libraries."""
    return file.is_relative_to(Path.cwd()) and "site-packages" not in file.parts


def list_arguments(path: str, function: Callable[..., Any], *passed: str) -> dict[str, inspect.Parameter]:
    """Look up the arguments of a constructor or function that are options: all but those that Reprise has `passed`.

    Raises:
        UserError: where Python cannot tell them, or the type of one is not known when the file runs.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # some of what is written in C
        raise UserError(f"{path}: has no arguments that can be read; name a class or function of your own") from None
    # A function may be imported from another file, and a constructor inherited: its types are known there.
    constructor_or_function = inspect.unwrap(function.__init__ if inspect.isclass(function) else function)
    names = getattr(constructor_or_function, "__globals__", vars(sys.modules[path.partition(":")[0]]))
    options = {name: value for name, value in parameters.items() if name not in passed}
    return {name: value.replace(annotation=_evaluate_type(path, names, value)) for name, value in options.items()}


def _evaluate_type(path: str, names: dict[str, Any], argument: inspect.Parameter) -> Any:
    """Return the type of an argument, which is a text after `from __future__ import annotations`."""
    if not isinstance(argument.annotation, str):
        return argument.annotation
    try:
        return eval(argument.annotation, names)
    except Exception:
        raise UserError(
            f"{path}: the type of its argument '{argument.name}', {argument.annotation}, is not known when the file "
            "runs; import it there, or correct it"
        ) from None


def compute_source_digest(path: str) -> dict[str, str]:
    """Compute the SHA-256 of the file that "module:name" is in, by the file's path from the project folder."""
    load_own(path)
    file = Path(str(sys.modules[path.partition(":")[0]].__file__))
    name = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else Path(file.name)
    return {str(name): compute_sha256(file)}
