"""The committed papers' assumptions: each has an alternative, or tells why none is run; and where a reader sees it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from report_case import PAPER, make_context

from reprise.config.project import Project, load_project
from reprise.config.schema import Assumption
from reprise.report.papers.shared.tables import assumptions

ROOT = Path(__file__).parents[3]


@cache
def project() -> Project:
    return load_project(ROOT)


def entries() -> list[tuple[str, str, Assumption]]:
    return [(name, key, entry) for name, paper in project().papers.items() for key, entry in paper.assumptions.items()]


@pytest.mark.parametrize(
    ("paper", "key", "entry"), entries(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_each_has_an_alternative_or_tells_why_none_is_run(paper: str, key: str, entry: Assumption) -> None:
    assert bool(entry.alternatives) != bool(entry.unrun), f"{paper}: {key}"


def test_the_reason_stands_in_the_table(tmp_path: Path) -> None:
    epochs = PAPER.assumptions["epochs"]
    for entry, expected in (
        (epochs, "none is run"),
        (epochs.model_copy(update={"unrun": "Too dear."}), "none is run: Too dear."),
    ):
        paper = PAPER.model_copy(update={"assumptions": {**PAPER.assumptions, "epochs": entry}})
        folder = tmp_path / str(entry.unrun)
        folder.mkdir()
        read = assumptions(make_context(folder, paper=paper), "convergence", {"numbers": "perplexity test"}).reading()
        assert read["Alternative"].iloc[0] == expected
