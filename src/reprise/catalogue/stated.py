"""Reads what the file of a model, a protocol or a dataset states about itself, without importing it.

The configuration is checked where torch is not installed, and models import torch. So a file states its options as an
assignment in capitals, `OPTIONS = {"hidden_size": COUNT}`, in the class or at the top of the file, and this module
works out the value from the source. It may use literals, types, other assignments and classes of the file, and what
the file imports from this package. A class states what its bases state, unless it says otherwise.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import Any

from reprise.errors import UserError, known

_PACKAGE = Path(__file__).parent.parent
_PLAIN = ("reprise.options", "reprise.catalogue")
"""Modules without torch: these are imported."""
_TYPES = {kind.__name__: kind for kind in (bool, int, float, str)}
_REQUIRED = object()


@dataclass(frozen=True)
class ByOption:
    """A text for each value of an option."""

    option: str
    texts: Mapping[str, str]


Wording = str | ByOption
"""A text in which {name} stands for the value of an option, or one such text for each value of an option."""


def worded(wording: Wording, options: Mapping[str, Any]) -> str:
    """The text under these options. Raises KeyError for an option or a value of it that the registry leaves out."""
    text = wording if isinstance(wording, str) else wording.texts[options[wording.option]]
    return text.format_map(options)


@dataclass(frozen=True)
class Stated:
    """An attribute of an `Entry`: what its file states under `name`; if it says nothing, the `default`, if any.

    `none` is the value where the catalogue names no file.
    """

    name: str
    default: Any = _REQUIRED
    none: Any = None

    def __get__(self, entry: Entry | None, owner: type | None = None) -> Any:
        if entry is None:
            return self
        return stated(entry.target, self.name, self.default) if entry.target else self.none


@dataclass(frozen=True)
class Entry:
    """What the catalogue names: "module" or "module:Class"; "" where there is none."""

    target: str

    @property
    def file(self) -> str:
        return source_of(self.target.partition(":")[0])

    options = Stated("OPTIONS", none={})
    """Every option with its type; an experiment states all of them."""


@cache
def stated(target: str, name: str, default: Any = _REQUIRED) -> Any:
    """The value of `name` in "module", or in the class of "module:Class".

    Errors: `UserError` where there is no such file or class, where it states no `name` and no `default` is given, and
    where the value takes more than reading.
    """
    module, _, of = target.partition(":")
    file = source_of(module)
    try:
        scope = _read(module)
    except FileNotFoundError:
        raise UserError(f"{file}: no such file; write it, or correct its name") from None
    if of and not isinstance(scope.nodes.get(of), ast.ClassDef):
        raise UserError(f"{file}: no class '{of}'; {known(of, scope.nodes)}")
    try:
        found = getattr(getattr(scope, of) if of else scope, name, default)
    except (NameError, TypeError, SyntaxError) as error:
        raise UserError(
            f"{file}: {name} cannot be read without running the file ({error}); use literals and names of "
            "src/reprise/options.py"
        ) from None
    if found is _REQUIRED:
        raise UserError(f"{file}: {of or 'the file'} states no {name}; add it")
    return found


def load(target: str, where: str) -> Any:
    """The class or function that "module:name" of this package stands for.

    `where` begins the `UserError` for a file or name that is not there ("file: key MODELS['elman']"). A mistake in the
    file is one too, which its place begins. A package that is not installed is a `ModuleNotFoundError`, as ever.
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
    except Exception as error:
        raise UserError(f"{told_with_place(error)}; correct the file") from error
    if not hasattr(found, name):
        own = [n for n, value in vars(found).items() if getattr(value, "__module__", "") == module and n[0] != "_"]
        raise UserError(f"{where}: no '{name}' in {source_of(module)}; {known(name, own)}")
    return getattr(found, name)


def told_with_place(error: Exception) -> str:
    """An error that is no matter of input: where in this package it arose, its kind and what it says."""
    if isinstance(error, SyntaxError):
        file, line, message = Path(error.filename), error.lineno, error.msg
    else:
        ours = [frame for frame in extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(_PACKAGE)]
        file, line, message = Path(ours[-1].filename), ours[-1].lineno, str(error).partition("\n")[0]
    named = Path("src/reprise", file.relative_to(_PACKAGE)) if file.is_relative_to(_PACKAGE) else file
    return f"{named}, line {line}: {type(error).__name__}: {message}"


def source_of(module: str) -> str:
    """The file of a module of this package, as the documents name it."""
    return f"src/{module.replace('.', '/')}.py"


class _Scope:
    """The names of a file or a class; a value is worked out when it is asked for."""

    def __init__(self, body: list[ast.stmt], bases: tuple[_Scope, ...] = (), file: _Scope | None = None) -> None:
        self.bases, self.file = bases, file
        self.nodes: dict[str, ast.AST] = {}
        for node in body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.nodes[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self.nodes[name] = value
                case ast.ClassDef(name=name):
                    self.nodes[name] = node
                case ast.ImportFrom(names=aliases):
                    self.nodes |= {alias.asname or alias.name: node for alias in aliases}

    def __getattr__(self, name: str) -> Any:
        """The statement of the class or one of its bases, so that an expression may say `Base.OPTIONS`."""
        match self.nodes.get(name):
            case None:
                for base in self.bases:
                    if hasattr(base, name):
                        return getattr(base, name)
                raise AttributeError(name)
            case ast.ClassDef(bases=bases, body=body):
                found = [self[base.id] for base in bases if isinstance(base, ast.Name) and base.id in self.nodes]
                return _Scope(body, tuple(base for base in found if isinstance(base, _Scope)), self)
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("reprise"):
                original = next(alias.name for alias in names if (alias.asname or alias.name) == name)
                if module.startswith(_PLAIN):
                    return getattr(import_module(module), original)
                inner = f"{module}.{original}"
                return _read(inner) if _path(inner).is_file() else getattr(_read(module), original)
            case ast.ImportFrom():
                return None  # of another library, which states nothing
            case expression:
                return eval(compile(ast.Expression(expression), name, "eval"), {"__builtins__": _TYPES}, self)

    def __getitem__(self, name: str) -> Any:
        """The value of `name` in an expression, also from the file around the class."""
        for scope in (self, self.file):
            if scope is not None and hasattr(scope, name):
                return getattr(scope, name)
        raise KeyError(name)


@cache
def _read(module: str) -> _Scope:
    try:
        return _Scope(ast.parse(_path(module).read_text(encoding="utf-8")).body)
    except SyntaxError as error:
        raise UserError(
            f"{source_of(module)}, line {error.lineno}: SyntaxError: {error.msg}; correct the file"
        ) from None


def _path(module: str) -> Path:
    path = _PACKAGE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
