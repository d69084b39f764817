"""Loads what the catalogue names as "module:name": models, protocols, checks."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from reprise.errors import UserError, known


def load(target: str, where: str) -> Any:
    """The class or function that "module:name" of this package stands for.

    `where` begins the `UserError` for a file or name that is not there ("file: key MODELS['elman']"). A package that is
    not installed is a `ModuleNotFoundError`, as ever.
    """
    module, _, name = target.partition(":")
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("reprise."):
            raise
        asked = "" if error.name == module else f", which {source_of(module)} imports"
        file = source_of(str(error.name))
        raise UserError(f"{where}: no file {file}{asked}; write it, or correct the name") from None
    if not hasattr(found, name):
        own = [n for n, value in vars(found).items() if getattr(value, "__module__", "") == module and n[0] != "_"]
        raise UserError(f"{where}: no '{name}' in {source_of(module)}; {known(name, own)}")
    return getattr(found, name)


def source_of(module: str) -> str:
    """The file of a module of this package, as the documents name it."""
    return f"src/{module.replace('.', '/')}.py"
