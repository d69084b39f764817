"""The equation of a model, as its file has it: read from the docstring, without importing torch."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path

from reprise.catalogue.models import MODELS

_PACKAGE = Path(__file__).resolve().parents[1]


@cache
def equation(model: str) -> str:
    """The indented lines of the docstrings of the model's class and file that hold a `=`; "" where there are none.

    The class speaks first: a file may hold several models.
    """
    if model not in MODELS:
        return ""
    module, _, name = MODELS[model].target.partition(":")
    path = _PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    if not path.is_file():
        return ""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    for node in (*classes, tree):
        found = _equations(ast.get_docstring(node, clean=False) or "")
        if found:
            return found
    return ""


def _equations(docstring: str) -> str:
    lines = inspect.cleandoc(docstring).splitlines()
    chosen = [line.strip() for line in lines if " = " in line and (line.startswith("    ") or _is_formula(line))]
    return "\n".join(chosen)


def _is_formula(line: str) -> bool:
    """A line of prose has words before its equals sign; a formula has one name, or a probability as P(x | y)."""
    left = line.partition(" = ")[0].strip()
    return re.fullmatch(r"\S+|\w+\(.* \| .*\)", left) is not None
