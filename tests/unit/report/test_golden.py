"""One committed table and figure of every kind, drawn again from the committed records: the same bytes."""

import pytest
from report_case import ROOT, contexts, project

from reprise.catalogue.displays import FUNCTIONS
from reprise.config.displays import entries
from reprise.report.render import write_display


def held_to_what_is_committed(kind: str, function: str, folder) -> None:
    """The texts of the first display that the function makes, of a paper with results."""
    every = entries(project().papers).values()
    there = [entry for entry in every if (entry.kind, entry.display.function) == (kind, function)]
    assert there or function == "shared.curves", "no paper names it"
    found = [(tier, entry) for tier in ("paper", "reduced") for entry in there]
    found.sort(key=lambda one: not (ROOT / "results" / one[0] / "runs" / one[1].paper).is_dir())
    for tier, entry in found[:1]:
        for path in write_display(contexts()[tier][entry.paper], entry, folder):
            if path.suffix in (".md", ".html", ".svg"):
                committed = ROOT / "results" / tier / kind / path.name
                assert path.read_text(encoding="utf-8") == committed.read_text(encoding="utf-8")


@pytest.mark.parametrize("function", FUNCTIONS["tables"])
def test_a_table_is_written_as_it_is_committed(function, tmp_path):
    held_to_what_is_committed("tables", function, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS["figures"])
def test_a_figure_is_drawn_as_it_is_committed(function, tmp_path):
    held_to_what_is_committed("figures", function, tmp_path)
