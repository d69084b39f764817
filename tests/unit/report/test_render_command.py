"""`reprise render` on the command line writes what is named, and nothing else."""

from pathlib import Path

from report_case import make_project

from reprise.cli import main


def test_the_command_writes_what_is_named(tmp_path, monkeypatch, capsys):
    make_project(tmp_path, metrics=[], curves=[])
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.rglob("*"))

    def written() -> set[str]:
        return {path.name for path in {*tmp_path.rglob("*")} - before if path.is_file()}

    assert main(["render", "--tier", "paper", "palindromes-figure-1", "palindromes-convergence"]) == 0
    expected = {f"palindromes-convergence.{kind}" for kind in ("csv", "md", "html")}  # no record to draw a figure of
    assert written() == expected
    assert main(["render", "--tier", "paper", "--report"]) == 0
    assert written() == expected | {"report.html"}
    assert "not trained yet" in Path("results/paper/tables/palindromes-convergence.md").read_text()
    assert capsys.readouterr().out.splitlines()[-1] == "results/report.html"
