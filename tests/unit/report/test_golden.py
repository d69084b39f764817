"""One committed table and figure of every kind, drawn again from the committed records: the same bytes."""

import pytest
from report_case import ROOT, contexts, project

from reprise.catalogue.displays import functions
from reprise.config.displays import entries
from reprise.report.render import write_display


def drawn_again(kind: str, function: str, folder) -> list[tuple[str, str]]:
    """The texts of the first display that the function makes, of a paper with results: written now, and committed."""
    every = entries(project().papers).values()
    there = [entry for entry in every if (entry.kind, entry.display.function) == (kind, function)]
    if function.partition(".")[0] != "shared":
        assert there, "no paper names it"
    found = [(tier, entry) for tier in ("paper", "reduced") for entry in there]
    found.sort(key=lambda one: not (ROOT / "results" / one[0] / "runs" / one[1].paper).is_dir())
    compared = []
    for tier, entry in found[:1]:
        for path in write_display(contexts()[tier][entry.paper], entry, folder):
            committed = ROOT / "results" / tier / kind / path.name
            if path.suffix in (".md", ".html", ".svg"):
                compared.append((path.read_text(encoding="utf-8"), committed.read_text(encoding="utf-8")))
    return compared


@pytest.mark.parametrize("function", functions()["tables"])
def test_a_table_is_written_as_it_is_committed(function, tmp_path):
    for written, committed in drawn_again("tables", function, tmp_path):
        assert written == committed


@pytest.mark.slow
@pytest.mark.parametrize("function", functions()["figures"])
def test_a_figure_is_drawn_as_it_is_committed(function, tmp_path):
    for written, committed in drawn_again("figures", function, tmp_path):
        assert written == committed
