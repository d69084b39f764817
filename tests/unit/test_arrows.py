"""Imports go down alone: the order of the packages stands in `reprise.ORDER`."""

import ast
from pathlib import Path

import pytest

import reprise

SOURCE = Path(reprise.__file__).parent
LEVEL = {package: level for level, packages in enumerate(reprise.ORDER) for package in packages}
FILES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.stem in LEVEL)


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def upward(path: Path) -> set[str]:
    """The packages above its own, or beside it, that a file imports, also within functions and for annotations."""
    packages = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        packages |= {name.split(".")[1] for name in names if name.startswith("reprise.")}
    own = package_of(path)
    return {other for other in packages - {own} if other in LEVEL and LEVEL[other] <= LEVEL[own]}


def test_every_package_has_its_place_in_the_order():
    assert {package_of(path) for path in SOURCE.rglob("*.py")} - {"__init__", "__main__"} == set(LEVEL)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_imports_only_what_is_below_it(path):
    assert upward(path) == set()
