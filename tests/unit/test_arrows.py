"""Imports go down alone: the order of the packages stands in `reprise.ORDER`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import reprise

SOURCE = Path(reprise.__file__).parent
LEVEL = {package: level for level, packages in enumerate(reprise.ORDER) for package in packages}
EXCEPTIONS: set[tuple[str, str]] = set()
"""Imports (file, module) that still go up, each to be removed."""


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules of this package that a file imports, also within functions and for annotations."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("reprise"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("reprise"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("reprise."):
            if node.value.replace(".", "").replace("_", "").replace(":", "").isalnum():  # a name to be loaded
                yield node.value


def package_of(module: str) -> str:
    return module.split(".")[1].split(":")[0]


FILES = sorted(SOURCE.rglob("*.py"))


def upward(path: Path) -> list[str]:
    """The imports of a file that go up, or sideways into another package of the same level."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    own = parts[0]
    found = []
    for module in imported(ast.parse(path.read_text(encoding="utf-8"))):
        other = package_of(module) if "." in module else own
        if other != own and other in LEVEL and LEVEL[other] <= LEVEL[own]:
            found.append(module)
    return found


def test_every_package_has_its_place():
    assert {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in FILES} == {*LEVEL, "__init__", "__main__"}
