"""`make` in a stranger's environment: a moved clone, a home that cannot be written, variables for other programs."""

import shutil
import subprocess
from pathlib import Path

import pytest
from project import ROOT, Project

pytestmark = [
    pytest.mark.pipeline,
    pytest.mark.skipif(shutil.which("make") is None, reason="no make on this machine"),
]


def make(folder: Path, *arguments: str, **variables: str) -> str:
    process = Project(folder, {"MAKEFLAGS": "", "MAKELEVEL": "0"}).run("make", *arguments, **variables)
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.fixture
def made(tmp_path):
    """A clone whose environment was made in it; nothing of the environment is read by these tests."""
    clone = tmp_path / "clone"
    (clone / ".venv").mkdir(parents=True)
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, clone)
    (clone / ".venv/ready").write_text(f"{(clone / '.venv').resolve()}\n")
    return clone


def test_the_environment_of_a_moved_clone_is_made_again(made, tmp_path):
    assert "-m venv" not in make(made, "--dry-run", "env")
    linked = tmp_path / "linked"
    shutil.copytree(made, linked, ignore=shutil.ignore_patterns(".venv"))
    (linked / ".venv").symlink_to(made / ".venv")
    (made / ".venv/ready").touch()
    assert "-m venv" not in make(linked, "--dry-run", "env")
    moved = made.rename(tmp_path / "a new name")
    assert "-m venv --clear .venv" in make(moved, "--dry-run", "env")


def test_programs_get_an_environment_that_they_can_work_in(made, tmp_path):
    words = "$${XDG_CACHE_HOME} $${PYTHONDONTWRITEBYTECODE-unset} $${PYTHONOPTIMIZE-unset}"
    show = ("--silent", f"--eval=show: ; @echo {words}", "show")
    foreign = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONOPTIMIZE": "2", "XDG_CACHE_HOME": ""}
    assert make(made, *show, HOME=str(tmp_path), **foreign) == f"{tmp_path}/.cache unset unset\n"
    assert make(made, *show, HOME="/proc/nobody", **foreign) == f"{made}/build/cache unset unset\n"


def test_every_clone_has_the_same_bytes(tmp_path):
    """Git for Windows and some shared settings turn line feeds into CR LF."""
    crlf = ROOT / "config/reference/uva_palindrome_curves.csv"
    files = {
        "a.json": b'{\n "a": 1\n}\n',
        "b.csv": b"a\r\n",
        "c.csv.gz": b"\x1f\x8b\n\r\n",
        str(crlf.relative_to(ROOT)): b"x\r\n",
    }
    first, second = tmp_path / "first", tmp_path / "second"
    for name, content in files.items():
        (first / name).parent.mkdir(parents=True, exist_ok=True)
        (first / name).write_bytes(content)
    shutil.copy(ROOT / ".gitattributes", first)
    author = ("-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "x")):
        subprocess.run(["git", *author, *command], cwd=first, check=True, capture_output=True)
    subprocess.run(["git", "clone", "-q", "-c", "core.autocrlf=true", str(first), str(second)], check=True)
    files["b.csv"] = b"a\n"
    assert {name: (second / name).read_bytes() for name in files} == files
