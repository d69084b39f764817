"""A paper that is added to a clone as docs/adding.md says: the tests of before a commit pass with it."""

import subprocess
import sys
from pathlib import Path

import pytest
from config_helpers import add_example
from project import ROOT, Project

from reprise.config.project import load_project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

TESTS = ("config", "catalogue", "report", "training/test_rntn_training.py", "training/test_language_model.py")
OF_RESULTS = ("test_golden.py", "test_page.py", "test_quotations.py")
"""Tests of other papers' results, with or without this one."""


def copy_files(folder):
    """Copy what Git has of this clone, as it lies there, and what is new in it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())


def name_stages(folder):
    """Add the lines of dvc.yaml for the tables of the example; its figure gets one once it has records."""
    path, paper = folder / "dvc.yaml", load_project(folder).papers["sizes"]
    text = path.read_text(encoding="utf-8")
    lines = "".join(f"      sizes-{name}: {{paper: sizes, code: shared, cites: sizes}}\n" for name in paper.tables)
    path.write_text(text.replace("  table:\n    foreach:\n", f"  table:\n    foreach:\n{lines}"), encoding="utf-8")


def test_the_tests_of_before_a_commit_pass_with_a_sixth_paper(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("only in a clone Git says which files it has")
    copy_files(tmp_path)
    add_example(tmp_path)
    name_stages(tmp_path)
    clone = Project(tmp_path, {"PYTHONPATH": str(tmp_path / "src")})
    paper = load_project(tmp_path).papers["sizes"]
    names = [f"sizes-{name}" for name in paper.tables]
    for tier in ("paper", "reduced"):
        for command in (("collect",), ("verify",), ("render", *names)):
            process = clone.reprise(*command, "--tier", tier)
            assert process.returncode == 0, process.stderr
    assert clone.reprise("render", "--readme").returncode == 0
    left_out = [f"--ignore-glob=*/{name}" for name in OF_RESULTS]
    tests = [str(Path("tests/unit", name)) for name in TESTS]
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *left_out, *tests],
        cwd=tmp_path,
        env=clone.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout[-5000:]
