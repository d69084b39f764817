"""Loads what the catalogue names, and reports mistakes in these files as one line."""

from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import Any

from reprise.errors import UserError, known

_PACKAGE = Path(__file__).parent.parent


def load(target: str, where: str) -> Any:
    """Import the class or function that "module:name" stands for.

    Args:
        target: "module:name".
        where: beginning of the error for a file or name that does not exist, e.g. "file: key MODELS['elman']".

    Raises:
        UserError: for a missing file or name, and for a mistake in the file, which its place then begins.
        ModuleNotFoundError: for a package that is not installed.
    """
    module, _, name = target.partition(":")
    try:
        content = import_module(module)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("reprise."):
            raise
        importer = "" if error.name == module else f", which {source_of(module)} imports"
        file = source_of(str(error.name))
        raise UserError(f"{where}: no file {file}{importer}; write it, or correct the name") from None
    except Exception as error:
        raise UserError(f"{describe_with_place(error)}; correct the file") from error
    if not hasattr(content, name):
        own = [n for n, value in vars(content).items() if getattr(value, "__module__", "") == module and n[0] != "_"]
        raise UserError(f"{where}: no '{name}' in {source_of(module)}; {known(name, own)}")
    return getattr(content, name)


def describe_with_place(error: Exception) -> str:
    """Say where in this package an error arose, its kind and its message: "file, line n: kind: message"."""
    if isinstance(error, SyntaxError):
        file, line, message = Path(error.filename), error.lineno, error.msg
    else:
        frames = extract_tb(error.__traceback__)
        ours = [frame for frame in frames if _is_ours(Path(frame.filename))] or frames
        file, line, message = Path(ours[-1].filename), ours[-1].lineno, str(error).partition("\n")[0]
    named = Path("src/reprise", file.relative_to(_PACKAGE)) if file.is_relative_to(_PACKAGE) else file
    return f"{named}, line {line}: {type(error).__name__}: {message}"


def _is_ours(file: Path) -> bool:
    """Tell files of this package and of the project folder from those of libraries."""
    return file.is_relative_to(_PACKAGE) or (file.is_relative_to(Path.cwd()) and "site-packages" not in file.parts)


def source_of(module: str) -> str:
    """Return the file of a module of this package, as the documents name it."""
    return f"src/{module.replace('.', '/')}.py"
