"""Draws figures and writes tables: the functions that the papers' files name, found and called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from reprise.config.displays import entries
from reprise.config.project import Project
from reprise.errors import UserError, known, report_packages
from reprise.registered import load
from reprise.report.parts import tables
from reprise.report.parts.context import Context


def find_function(kind: str, name: str) -> Callable[..., Any]:
    """The function called "<folder>.<function>" in a paper's file: that of reprise/report/papers/<folder>/<kind>.py.

    Errors: `UserError` where there is none, or a package that it needs is not installed.
    """
    where = f"src/reprise/report/papers: {name}"
    with report_packages("render"):
        drawn: Callable[..., Any] = load(f"reprise.report.papers.{name.replace('.', f'.{kind}:', 1)}", where)
    return drawn


def render(project: Project, contexts: Mapping[str, Context], names: Iterable[str] = ()) -> list[Path]:
    """Writes the files of the figures and tables called `names` (all, without names) under results/<tier>/.

    Raises `UserError` for an unknown name, before anything is written.
    """
    there = entries(project.papers, project.root)
    chosen = []
    for name in names or there:
        if name not in there:
            raise UserError(f"no figure or table '{name}'; {known(name, there)}")
        chosen.append((there[name], there[name].options()))
    folder = project.root / "results" / project.config.tier
    written = []
    for entry, options in chosen:
        context, stem = contexts[entry.paper], folder / entry.kind / entry.name
        function = find_function(entry.kind, entry.display.function)
        if entry.kind == "figures":
            # Here, since seaborn takes longer to import than a table to write.
            from reprise.report.parts import style

            with style.applied():
                drawn = function(context, entry.id, options)
            written += style.save(drawn, stem)
        else:
            table, display = function(context, entry.id, options), entry.display
            written += tables.write(table, stem, display.title, display.caption)
    return written
