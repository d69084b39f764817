"""Draws figures and writes tables: the functions that the papers' files name, found and called."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from reprise.catalogue.own import is_own, load_own
from reprise.config.displays import Entry, entries
from reprise.config.project import Project
from reprise.errors import UserError, known
from reprise.report.parts import tables
from reprise.report.parts.context import Context

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reprise.report.parts.tables import Table

_LOG = logging.getLogger(__name__)


def find_function(kind: str, name: str) -> Callable[..., Any]:
    """Find the function called "<folder>.<function>" in a paper's file, in reprise/report/papers/<folder>/<kind>.py.

    `UserError` where there is none.
    """
    if is_own(name):
        return _with_arguments(load_own(name))
    drawn: Callable[..., Any] = resolve_name(f"reprise.report.papers.{name.replace('.', f'.{kind}:', 1)}")
    return drawn


def _with_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function of one's own its options as arguments."""
    return lambda context, id, options: function(context, id, **options)


def render(project: Project, contexts: Mapping[str, Context], names: Collection[str] = ()) -> list[Path]:
    """Write the files of the figures and tables called `names` (all, without names) under results/<tier>/.

    Raises `UserError` for an unknown name, before anything is written.
    """
    displays = entries(project.papers, project.root)
    if unknown := [name for name in names if name not in displays]:
        raise UserError(f"no figure or table '{unknown[0]}'; {known(unknown[0], displays)}")
    chosen = [displays[name] for name in names or displays]
    folder = project.root / "results" / project.config.tier
    for paper in {entry.paper for entry in chosen}:
        _ = contexts[paper].runs  # read, so that a damaged record is refused
    return [path for entry in chosen for path in write_display(contexts[entry.paper], entry, folder)]


def write_display(context: Context, entry: Entry, folder: Path) -> list[Path]:
    """Draw a figure, or write a table, to figures/ or tables/ in `folder`.

    Returns:
        Its files; none of a figure of which nothing has run, whose earlier files go.
    """
    stem = folder / entry.kind / entry.name
    if entry.kind == "tables":
        display = entry.display
        return tables.write(make_table(context, entry), stem, display.title, display.caption, context.paper.symbols)
    # Here, since seaborn takes longer to import than a table to write.
    from reprise.report.parts import style

    if absence := find_absence(context, entry):
        _LOG.info("%s: %s, so there is nothing to draw", entry.name, absence)
        for kind in style.FORMATS:
            stem.with_name(f"{stem.name}.{kind}").unlink(missing_ok=True)
        return []
    return style.save(draw(context, entry), stem)


def find_absence(context: Context, entry: Entry) -> str:
    """Say why a figure or table of experiments has nothing to show: "not trained yet"; "" where it has."""
    status = context.total(context.cited_by(entry.id)) if context.of_experiments(entry.id) else None
    return status.absence if status and not status.run else ""


def make_table(context: Context, entry: Entry) -> Table:
    """Make a table; once, though both its files and the page show it."""
    key = "table", entry.id
    if key not in context.known:
        context.known[key] = find_function("tables", entry.display.function)(context, entry.id, entry.options())
    return context.known[key]


def draw(context: Context, entry: Entry) -> Figure:
    """Draw a figure of which a replica has run."""
    from reprise.report.parts import style

    with style.applied():
        return find_function(entry.kind, entry.display.function)(context, entry.id, entry.options())
