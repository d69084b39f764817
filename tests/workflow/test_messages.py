"""Whoever makes a mistake reads one line: the file, the key, the remedy. No traceback, nothing beside it."""

import shutil
from pathlib import Path

import pytest
from project import PYTHON, ROOT, Project

pytestmark = pytest.mark.pipeline

DIGITS, CONFIG = "config/papers/digits.yaml", "config/config.yaml"
# What is written in a file in place of what, the tier, and what the line has to say: file, key and remedy. All kinds of
# mistakes are in tests/unit/config/test_config_mistakes.py; these show that the Snakefile passes the line on.
MISTAKES = {
    "missing model": (
        (DIGITS, "name: elman", "name: elmann"),
        "quick",
        (DIGITS, "key families.small.model.name: no model 'elmann'", "did you mean 'elman'?"),
    ),
    "bad syntax": ((CONFIG, "papers:\n", "papers: [\n"), "quick", (CONFIG, "not valid YAML", "correct the line")),
    "unknown tier": (
        (CONFIG, "tier:", "tier:"),
        "quik",
        (f"{CONFIG} (with --config tier=quik): key tier: 'quik'", "write one of 'quick', 'reduced' or 'paper'"),
    ),
}


def one_line(messages: list[str]) -> str:
    assert len(messages) == 1, messages
    assert messages[0].startswith("reprise: error: ")
    return messages[0]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_configuration_is_one_line(clone: Project, mistake: str) -> None:
    change, tier, parts = MISTAKES[mistake]
    clone.edit(*change)
    run = clone.snakemake("--dry-run", tier=tier)
    assert run.status == 2
    line = one_line(run.messages)
    assert [part for part in parts if part not in line] == []
    assert "Traceback" not in run.log


def test_conda_that_is_not_there_is_one_line(clone: Project, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "sh", "which"):  # Snakemake's plugin for SLURM asks `which` as it is loaded
        (programs / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    run = clone.snakemake("--dry-run", "--use-conda", PATH=str(programs))
    assert run.status == 2
    assert "--use-conda: no command 'conda' on this machine" in one_line(run.messages)


@pytest.mark.skipif(shutil.which("make") is None, reason="no make on this machine")
def test_make_refuses_an_old_python(tmp_path: Path) -> None:
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    old = tmp_path / "python-old"
    # This Python, but for its version: were it not refused it would make an environment.
    old.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        '  --version) echo "Python 3.10.14" ;;\n'
        f'  -c) shift; exec "{PYTHON}" -c "import sys; sys.version_info = (3, 10, 14, \'final\', 0); $@" ;;\n'
        f'  *) exec "{PYTHON}" "$@" ;;\n'
        "esac\n",
        encoding="utf-8",
    )
    old.chmod(0o755)
    for target in ("run", "test"):
        done = Project(tmp_path, {"MAKEFLAGS": "", "MAKELEVEL": "0"}).run("make", target, f"PYTHON={old}")
        assert done.returncode == 2
        lines = [line for line in done.stderr.splitlines() if not line.startswith("make: ***")]
        assert "Python 3.10.14 is too old; name Python 3.11 or newer" in one_line(lines)
        assert done.stdout == ""
        assert not (tmp_path / ".venv").exists()
