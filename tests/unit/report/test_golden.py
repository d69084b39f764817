"""The committed tables and figures, made again from the committed records: the same numbers, words and curves."""

import re

import pandas as pd
import pytest
from report_case import ROOT, contexts, project

from reprise.catalogue.displays import FUNCTIONS
from reprise.config.displays import list_entries
from reprise.report.render import write_display

POINTS = 0.5  # of a figure some 500 points wide: what another version of matplotlib may move a line by
COMMITTED = [path for tier in ("paper", "reduced") for path in sorted((ROOT / "results" / tier).glob("*s/*.*"))]
TABLES = [path for path in COMMITTED if path.suffix == ".csv"]
FIGURES = [path for path in COMMITTED if path.suffix == ".svg"]


def make_again(committed, folder):
    """The files of the display that is committed as this file, by their suffix."""
    tier, kind = committed.parts[-3:-1]
    entry = next(
        one for one in list_entries(project().papers).values() if (one.kind, one.name) == (kind, committed.stem)
    )
    return {path.suffix: path for path in write_display(contexts()[tier][entry.paper], entry, folder)}


def drawn(path):
    """The texts of a figure, and the coordinates of each line inside its axes."""
    svg = path.read_text(encoding="utf-8")
    lines = re.findall(r'<path d="([^"]*)" clip-path', svg)
    numbers = [[float(number) for number in re.findall(r"-?[\d.]+", line)] for line in lines]
    return re.findall(r"<!-- (.*?) -->", svg), numbers


@pytest.mark.parametrize("committed", TABLES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_a_table_has_the_numbers_and_words_that_are_committed(committed, tmp_path):
    made = make_again(committed, tmp_path)
    pd.testing.assert_frame_equal(pd.read_csv(made[".csv"]), pd.read_csv(committed), rtol=1e-9)
    assert made[".md"].read_text(encoding="utf-8") == committed.with_suffix(".md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("committed", FIGURES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_a_figure_has_the_texts_and_lines_that_are_committed(committed, tmp_path):
    made = make_again(committed, tmp_path)
    (texts, lines), (committed_texts, committed_lines) = drawn(made[".svg"]), drawn(committed)
    assert texts == committed_texts
    assert [len(line) for line in lines] == [len(line) for line in committed_lines]
    for line, expected in zip(lines, committed_lines, strict=True):
        assert line == pytest.approx(expected, abs=POINTS)


@pytest.mark.parametrize("kind", ["figures", "tables"])
def test_every_function_of_the_catalogue_makes_a_display_of_a_paper(kind):
    named = {entry.display.function for entry in list_entries(project().papers).values() if entry.kind == kind}
    # A new paper's first figure: `reprise new` names it, and its own test draws it.
    assert set(FUNCTIONS[kind]) - named <= {"shared.curves"}
