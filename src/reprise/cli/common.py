"""Load what several commands share: the clone, the chosen experiments, their records; and print tables."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean, mean, stdev
from typing import TYPE_CHECKING, Any

from reprise.config.project import CONFIG, Project, load_project
from reprise.config.resolve import resolve_tier
from reprise.errors import UserError, make_printable, suggest_name
from reprise.evidence.numbers import list_numbers
from reprise.files import entry_exists
from reprise.records.resolved import TIERS, Resolved
from reprise.units import INFINITE

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_WIDTH = 200
"""Characters of a line without a terminal."""


def load_tier(tier: str | None) -> tuple[Project, list[Resolved]]:
    """Load the clone of the current folder and the experiments of a tier."""
    project = load_project(".", {"tier": tier} if tier else None)
    return project, resolve_tier(project)


def find_experiment(tier: str | None, name: str) -> tuple[Project, Resolved]:
    """Load the clone of the current folder and the experiment or variant called "<paper>/<experiment>" of a tier."""
    project, experiments = load_tier(tier)
    by_id = {e.id: e for e in experiments}
    if name in by_id:
        return project, by_id[name]
    raise make_tier_error(project.config.tier, "experiment", name, by_id)


def select_experiments(project: Project, experiments: Sequence[Resolved], names: Sequence[str]) -> list[Resolved]:
    """List the tier's experiments that names of papers and experiments stand for; all of them without names.

    Raises:
        UserError: A name is not in the tier.
    """
    known_names = {name for e in experiments for name in (e.id, e.paper)}
    for name in names:
        if name not in known_names:
            raise make_tier_error(project.config.tier, "paper or experiment", name, known_names)
    return [e for e in experiments if not names or {e.id, e.paper} & set(names)]


def make_tier_error(tier: str, kind: str, name: str, names: Iterable[str]) -> UserError:
    """Make the error for a name that is not among the `names` of a tier; it says in which other tier the name is."""
    others = [t for t in TIERS if t != tier and any(name in (e.id, e.paper) for e in load_tier(t)[1])]
    if others:
        return UserError(f"'{name}' is not in the tier {tier}; write {' or '.join(f'--tier {t}' for t in others)}")
    return UserError(f"no {kind} '{name}' in the tier {tier}; {suggest_name(name, names)}")


def require_paper(project: Project, name: str) -> None:
    """Raise `UserError` for a paper that config/config.yaml does not list."""
    if name not in project.papers:
        raise UserError(f"no paper '{name}' in {CONFIG}; {suggest_name(name, project.papers)}")


def make_console() -> Console:
    """Make a console for the current stdout; only a terminal gets colours and the width of its screen.

    Control characters in what it prints, such as words of files, do not reach the terminal.
    """
    from rich.console import Console

    class PrintableConsole(Console):
        def render_str(self, text: str, **keywords: Any) -> Text:  # which every text passes, those in tables too
            return super().render_str(make_printable(text), **keywords)

    return PrintableConsole(highlight=False, markup=False, width=None if sys.stdout.isatty() else _WIDTH)


def make_table(
    columns: Iterable[str], rows: Iterable[Iterable[str]], title: str | None = None, id_columns: int = 1
) -> Table:
    """Make a table without lines, for `make_console()`; the first `id_columns` hold identifiers and never break."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    texts = [tuple(row) for row in rows]
    for position, column in enumerate(columns):
        if position < id_columns:
            width = max((len(row[position]) for row in texts), default=0)
            table.add_column(column, no_wrap=True, min_width=max(width, len(column)))
        else:
            table.add_column(column, overflow="fold")
    for row in texts:
        table.add_row(*row)
    return table


def list_existing_records(experiment: Resolved, root: Path) -> list[str]:
    """List the records that exist of an experiment's replicas, relative to `root`; none is read."""
    return [path for path in experiment.list_record_paths() if entry_exists(root / path)]


def describe_other_tiers(root: Path, tier: str, name: str = "") -> str:
    """Name the other tiers that have run records, of a paper or an experiment if one is named; "" without any."""
    others = [t for t in TIERS if t != tier and any((root / "results" / t / "runs" / name).glob("**/*.json"))]
    return f"other tiers with runs: {', '.join(f'--tier {t}' for t in others)}" if others else ""


def index_numbers(record: Mapping[str, Any]) -> dict[tuple[str, str], tuple[float, str]]:
    """Return (value, unit) by metric and split of a record, with those that follow from it: perplexities, BLEU."""
    return {(row["metric"], row["split"]): (row["value"], row["unit"]) for row in list_numbers(record)}


LOG_SUFFIX = " (log)"
"""Stands after the SD of a logarithm."""


def summarise_values(values: Sequence[float], log: bool = False) -> tuple[float, float | None]:
    """Return mean and SD over replicas; None for the SD of one, or where one is infinite.

    Args:
        values: A number a replica.
        log: Whether both are of logarithms: a geometric mean, and the SD of the logarithm.
    """
    has_sd = len(values) > 1 and all(map(math.isfinite, values))
    centre = geometric_mean(values) if log else mean(values)
    return centre, stdev(map(math.log, values) if log else values) if has_sd else None


def format_number(value: float) -> str:
    """Write a number in six significant digits; a whole number in full, and an infinite one as "infinite"."""
    if math.isinf(value):
        return INFINITE
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.6g}"
