"""Whoever makes a mistake reads one line: the file, the key, the remedy. No traceback, nothing beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from project import PYTHON, ROOT, Project

pytestmark = pytest.mark.pipeline

# The file, what is written in it in place of what, and what the line has to say: key and remedy. All kinds of mistakes
# are in tests/unit/config/test_config_mistakes.py; these show that the Snakefile passes the line on.
MISTAKES = {
    "missing model": (
        ("config/papers/digits.yaml", "name: elman", "name: elmann"),
        ("key families.small.model.name: no model 'elmann'", "did you mean 'elman'?"),
    ),
    "exponent without a point": (
        ("config/papers/digits.yaml", "value: 0.01,", "value: 1e-3,"),
        ("key families.small.training.learning_rate.value:", "'1e-3' as a string; write 1.0e-3"),
    ),
    "bad syntax": (("config/config.yaml", "papers:\n", "papers: [\n"), ("not valid YAML", "correct the line")),
}


def one_line(run_messages: list[str]) -> str:
    assert len(run_messages) == 1, run_messages
    assert run_messages[0].startswith("reprise: error: ")
    return run_messages[0]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_configuration_is_one_line(clone: Project, mistake: str) -> None:
    (file, old, new), parts = MISTAKES[mistake]
    clone.edit(file, old, new)
    run = clone.snakemake("--dry-run")
    assert run.status not in {0, None}
    line = one_line(run.messages)
    assert file in line
    for part in parts:
        assert part in line
    assert "Traceback" not in run.log


def test_an_unknown_tier_is_one_line(clone: Project) -> None:
    run = clone.snakemake("--dry-run", tier="quik")
    assert run.status == 2
    line = one_line(run.messages)
    assert "config/config.yaml (with --config tier=quik): key tier: 'quik' is not known" in line
    assert "write one of 'quick', 'reduced' or 'paper'" in line


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
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    for target in ("run", "test"):
        done = subprocess.run(
            ["make", target, f"PYTHON={old}"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        lines = [line for line in done.stderr.splitlines() if not line.startswith("make: ***")]
        assert "Python 3.10.14 is too old; name Python 3.11 or newer" in one_line(lines)
        assert done.stdout == ""
        assert not (tmp_path / ".venv").exists()
