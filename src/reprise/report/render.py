"""Draw figures and write tables by the functions that the papers' files name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from reprise.catalogue.own import is_own, load_own, report_own, require_kind
from reprise.config.displays import Entry, list_entries
from reprise.config.project import Project
from reprise.errors import UserError, suggest_name
from reprise.report.parts import tables
from reprise.report.parts.context import Context

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reprise.report.parts.tables import Table

_LOG = logging.getLogger(__name__)


def find_function(kind: str, name: str) -> Callable[..., Any]:
    """Find the function "<folder>.<function>" of a paper's file in reprise/report/papers/<folder>/<kind>.py.

    Raises:
        UserError: There is no such function of one's own.
    """
    if is_own(name):
        return _make_drawing_function(kind, name)
    function: Callable[..., Any] = resolve_name(f"reprise.report.papers.{name.replace('.', f'.{kind}:', 1)}")
    return function


def _make_drawing_function(kind: str, name: str) -> Callable[..., Any]:
    """Wrap a function of one's own: its options are passed as arguments, and it has to return a display."""
    function = load_own(name)

    def draw(context: Context, id: str, options: Mapping[str, Any]) -> Any:
        with report_own(name):
            display = function(context, id, **options)
            if isinstance(display, tables.Table):
                _ = display.formatted_rows  # made here, where an error of the columns' functions is reported
        require_kind(display, tables.Table if kind == "tables" else resolve_name("matplotlib.figure:Figure"), name)
        return display

    return draw


def render_displays(project: Project, contexts: Mapping[str, Context], names: Collection[str] = ()) -> list[Path]:
    """Write the figures and tables called `names` under results/<tier>/; all of them without names.

    Raises:
        UserError: A name is unknown; nothing is written then.
    """
    displays = list_entries(project.papers, project.root)
    if unknown := [name for name in names if name not in displays]:
        raise UserError(f"no figure or table '{unknown[0]}'; {suggest_name(unknown[0], displays)}")
    chosen_displays = [displays[name] for name in names or displays]
    folder = project.root / "results" / project.config.tier
    for paper in {entry.paper for entry in chosen_displays}:
        _ = contexts[paper].runs  # read, so that a damaged record is refused
    return [path for entry in chosen_displays for path in write_display(contexts[entry.paper], entry, folder)]


def write_display(context: Context, entry: Entry, folder: Path) -> list[Path]:
    """Draw a figure, or write a table, to figures/ or tables/ in `folder`.

    Returns:
        Its files; none for a figure of which nothing has run, whose earlier files are removed.
    """
    stem = folder / entry.kind / entry.name
    if entry.kind == "tables":
        display = entry.display
        return tables.write_table(
            make_table(context, entry), stem, display.title, display.caption, context.paper.symbols
        )
    # Here, since seaborn takes longer to import than a table to write.
    from reprise.report.parts import style

    if absence := find_absence(context, entry):
        _LOG.info("%s: %s, so there is nothing to draw", entry.name, absence)
        for suffix in style.FORMATS:
            stem.with_name(f"{stem.name}.{suffix}").unlink(missing_ok=True)
        return []
    return style.save_figure(draw_figure(context, entry), stem)


def find_absence(context: Context, entry: Entry) -> str:
    """Return why a figure or table of experiments has nothing to show: "not trained yet"; "" if it has."""
    status = context.sum_status(context.list_cited_experiments(entry.id)) if context.has_experiments(entry.id) else None
    return status.missing_reason if status and not status.recorded else ""


def make_table(context: Context, entry: Entry) -> Table:
    """Make a table; its files and the page share it."""
    key = "table", entry.id
    if key not in context.cache:
        context.cache[key] = find_function("tables", entry.display.function)(
            context, entry.id, entry.complete_options()
        )
    return context.cache[key]


def draw_figure(context: Context, entry: Entry) -> Figure:
    """Draw a figure of which a replica has run."""
    from reprise.report.parts import style

    function = entry.display.function
    with style.apply_style():
        figure = find_function(entry.kind, function)(context, entry.id, entry.complete_options())
        if not is_own(function):
            style.show_dollar_signs(figure)
        return figure
