"""`reprise render` on the command line: what it writes, and what it refuses."""

import pytest
from report_case import make_project

from reprise.cli import main

TIER = "paper"


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """The project's own configuration, with nothing collected yet."""
    make_project(tmp_path, metrics=[], curves=[])
    monkeypatch.chdir(tmp_path)
    return tmp_path / "results" / TIER


def files(folder) -> set[str]:
    return {p.name for p in folder.rglob("*") if p.is_file()} - {"metrics.csv", "curves.csv.gz"}


def test_the_command_writes_what_is_named(clone, capsys):
    assert main(["render", "--tier", TIER, "palindromes-figure-1", "palindromes-convergence"]) == 0
    expected = {f"palindromes-figure-1.{kind}" for kind in ("svg", "png", "pdf")}
    expected |= {f"palindromes-convergence.{kind}" for kind in ("csv", "md", "html")}
    assert files(clone) == expected
    assert main(["render", "--tier", TIER, "--report"]) == 0
    assert files(clone.parent) == expected | {"report.html"}
    assert "not trained yet" in (clone / "tables/palindromes-convergence.md").read_text()
    assert capsys.readouterr().out.splitlines()[-1] == "results/report.html"


def test_the_command_refuses_an_unknown_name_and_writes_nothing(clone, capsys):
    assert main(["render", "--tier", TIER, "palindromes-convergence", "palindromes-figure-9"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("reprise: error: no figure or table 'palindromes-figure-9'; ")
    assert files(clone) == set()


@pytest.mark.parametrize("more", [["palindromes-convergence"], ["--report"]])
def test_readme_and_what_is_drawn_are_two_calls(clone, capsys, more):
    """What was named beside --readme was left undrawn without a word."""
    assert main(["render", "--tier", TIER, "--readme", *more]) == 2
    assert capsys.readouterr().err.startswith("reprise: error: --readme: writes README's results alone; ")
    assert files(clone) == set()
