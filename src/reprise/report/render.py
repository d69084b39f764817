"""Draws figures and writes tables: the functions that the papers' files name, found and called."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprise.catalogue.loading import load
from reprise.catalogue.own import is_own, load_own
from reprise.config.displays import Entry, entries
from reprise.config.project import Project
from reprise.errors import UserError, known
from reprise.report.parts import tables
from reprise.report.parts.context import Context

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reprise.report.parts.tables import Table


def find_function(kind: str, name: str) -> Callable[..., Any]:
    """The function called "<folder>.<function>" in a paper's file: that of reprise/report/papers/<folder>/<kind>.py.

    `UserError` where there is none.
    """
    if is_own(name):
        return _with_arguments(load_own(name))
    where = f"src/reprise/report/papers: {name}"
    drawn: Callable[..., Any] = load(f"reprise.report.papers.{name.replace('.', f'.{kind}:', 1)}", where)
    return drawn


def _with_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one's own takes its options as arguments."""
    return lambda context, id, options: function(context, id, **options)


def render(project: Project, contexts: Mapping[str, Context], names: Collection[str] = ()) -> list[Path]:
    """Writes the files of the figures and tables called `names` (all, without names) under results/<tier>/.

    Raises `UserError` for an unknown name, before anything is written.
    """
    there = entries(project.papers, project.root)
    if unknown := [name for name in names if name not in there]:
        raise UserError(f"no figure or table '{unknown[0]}'; {known(unknown[0], there)}")
    chosen = [there[name] for name in names or there]
    folder = project.root / "results" / project.config.tier
    for paper in {entry.paper for entry in chosen}:
        _ = contexts[paper].runs  # read, so that a damaged record is refused
    return [path for entry in chosen for path in write_display(contexts[entry.paper], entry, folder)]


def write_display(context: Context, entry: Entry, folder: Path) -> list[Path]:
    """Draws a figure, or writes a table, to figures/ or tables/ in `folder`; returns its files."""
    stem = folder / entry.kind / entry.name
    if entry.kind == "tables":
        return tables.write(make_table(context, entry), stem, entry.display.title, entry.display.caption)
    # Here, since seaborn takes longer to import than a table to write.
    from reprise.report.parts import style

    return style.save(draw(context, entry), stem)


def make_table(context: Context, entry: Entry) -> Table:
    """Make a table; once, though both its files and the page show it."""
    key = "table", entry.id
    if key not in context.known:
        context.known[key] = find_function("tables", entry.display.function)(context, entry.id, entry.options())
    return context.known[key]


def draw(context: Context, entry: Entry) -> Figure:
    """A figure; where none of its replicas has run, a frame that says so."""
    from reprise.report.parts import style

    function, names = find_function(entry.kind, entry.display.function), context.cited_by(entry.id)
    with style.applied():
        if not context.total(names).run:
            return style.absent(context, entry.id, names)
        return function(context, entry.id, entry.options())
