"""Draws figures and writes tables: the functions that the papers' files name, found and called."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from reprise.config.project import PAPERS, Project
from reprise.config.schema import Display, Paper
from reprise.errors import UserError, known
from reprise.report import style, tables
from reprise.report.context import Context

KINDS = ("figures", "tables")


@dataclass(frozen=True)
class Entry:
    """One figure or table of one paper; `name` is what its files are called: <paper>-<figure or table>."""

    kind: str
    paper: str
    id: str
    display: Display

    @property
    def name(self) -> str:
        return f"{self.paper}-{self.id}"


def entries(papers: Mapping[str, Paper], root: Path = Path()) -> dict[str, Entry]:
    """Every figure and table by name, in the order of the files. Two of one name are a `UserError`."""
    found: dict[str, Entry] = {}
    for paper_id, paper in papers.items():
        for kind in KINDS:
            for display_id, display in getattr(paper, kind).items():
                entry = Entry(kind, paper_id, display_id, display)
                if entry.name in found:
                    file = root / PAPERS / f"{paper_id}.yaml"
                    raise UserError(f"{file}: key {kind}.{display_id}: '{entry.name}' is taken; choose another name")
                found[entry.name] = entry
    return found


def function_of(entry: Entry, file: Path | str) -> Callable[..., Any]:
    """What draws or writes the entry of a paper's `file`; `UserError` where there is no such function."""
    where = f"{file}: key {entry.kind}.{entry.id}.function"
    return find_function(entry.kind, entry.display.function, where)


def find_function(kind: str, name: str, where: str) -> Callable[..., Any]:
    """The function that "module.function" stands for in reprise.report.figures or .tables.

    `where` begins the `UserError` for a name that stands for nothing ("file: key figures.figure-1.function").
    """
    there = functions(kind)
    if name not in there:
        raise UserError(f"{where}: no function '{name}' in reprise.report.{kind}; {known(name, there)}")
    return there[name]


def functions(kind: str) -> dict[str, Callable[..., Any]]:
    """Every public function of the modules in reprise.report.figures or .tables, as "module.function"."""
    package = import_module(f"reprise.report.{kind}")
    found = {}
    for module in pkgutil.iter_modules(package.__path__, prefix=f"{package.__name__}."):
        for name, function in vars(import_module(module.name)).items():
            if inspect.isfunction(function) and function.__module__ == module.name and not name.startswith("_"):
                found[f"{module.name.rpartition('.')[2]}.{name}"] = function
    return found


def render(project: Project, contexts: Mapping[str, Context], names: Iterable[str] = ()) -> list[Path]:
    """Writes the files of the figures and tables called `names` (all, without names) under results/<tier>/.

    Raises `UserError` for an unknown name, before anything is written.
    """
    there = entries(project.papers, project.root)
    chosen = []
    for name in names or there:
        if name not in there:
            raise UserError(f"no figure or table '{name}'; {known(name, there)}")
        entry = there[name]
        chosen.append((entry, function_of(entry, contexts[entry.paper].file)))
    folder = project.root / "results" / project.config.tier
    written = []
    for entry, function in chosen:
        context, stem = contexts[entry.paper], folder / entry.kind / entry.name
        if entry.kind == "figures":
            with style.applied():
                drawn = function(context, entry.id, entry.display.options)
            written += style.save(drawn, stem)
        else:
            written += tables.write(function(context, entry.id, entry.display.options), stem)
    return written
