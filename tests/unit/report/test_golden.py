"""One committed table of every kind, written again from the committed records: the same Markdown to the byte."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from reprise.catalogue.displays import functions
from reprise.config.project import Project, load_project
from reprise.report.parts import tables
from reprise.report.parts.context import Context, every_tier
from reprise.report.render import find_function

ROOT = Path(__file__).parents[3]


@cache
def project() -> Project:
    return load_project(ROOT, {"tier": "paper"})


@cache
def contexts() -> dict[str, dict[str, Context]]:
    return every_tier(project())


def displays(kind: str, function: str) -> list[tuple[str, str, str]]:
    """(tier, paper, display) of everything that the function makes, those with results first."""
    found = [
        (tier, name, display_id)
        for tier in ("paper", "reduced")
        for name, paper in project().papers.items()
        for display_id, display in getattr(paper, kind).items()
        if display.function == function
    ]
    return sorted(found, key=lambda entry: not (ROOT / "results" / entry[0] / "runs" / entry[1]).is_dir())


@pytest.mark.parametrize("function", functions()["tables"])
def test_a_table_is_written_as_it_is_committed(function, tmp_path):
    there = displays("tables", function)
    if function.partition(".")[0] != "shared":
        assert there, "no paper names it"
    for tier, paper, display_id in there[:1]:
        context = contexts()[tier][paper]
        display = context.display(display_id)
        options = {**functions()["tables"][function].options, **display.options}
        table = find_function("tables", function)(context, display_id, options)
        tables.write(table, tmp_path / "table", display.title, display.caption)
        for kind in ("md", "html"):
            committed = ROOT / "results" / tier / "tables" / f"{paper}-{display_id}.{kind}"
            assert (tmp_path / f"table.{kind}").read_text(encoding="utf-8") == committed.read_text(encoding="utf-8")
