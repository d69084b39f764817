"""Whoever makes a mistake reads one line: the file, the key, the remedy. No traceback, nothing beside it."""

import os
import shutil
import time

import pytest
from project import PYTHON, ROOT, Project, Run, script

pytestmark = pytest.mark.pipeline


def get_line(run: Run) -> str:
    assert run.status == 2
    (line,) = run.messages
    assert line.startswith("reprise: error: ")
    return line


def test_a_mistake_in_the_configuration_is_one_line(clone):
    """All kinds are in tests/unit/config/test_config_mistakes.py; these show that the Snakefile passes the line on."""
    line = get_line(clone.snakemake("--dry-run", tier="quik"))
    assert "config/config.yaml (with --config tier=quik): key tier: 'quik'" in line
    assert "'quick', 'reduced' or 'paper'" in line
    clone.edit("config/papers/digits.yaml", "name: elman", "name: elmann")
    line = get_line(clone.snakemake("--dry-run"))
    assert "config/papers/digits.yaml: key families.small.model.name: 'elmann'" in line
    assert "'elman'?" in line


def test_conda_that_is_not_there_is_one_line(clone, tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "sh", "which"):  # Snakemake's plugin for SLURM asks `which` as it is loaded
        (programs / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    run = clone.snakemake("--dry-run", "--use-conda", PATH=str(programs))
    assert "--use-conda: no command 'conda'" in get_line(run)


@pytest.mark.skipif(shutil.which("sbatch") is not None, reason="this machine has SLURM")
def test_a_cluster_that_is_not_there_is_named_before_anything_is_submitted(clone):
    run = clone.snakemake("--profile", "profiles/slurm")
    assert run.status == 2
    assert "no command 'sbatch'" in run.messages[-1]


def test_inputs_dated_in_the_future_are_named_before_anything_trains(clone):
    """Snakemake would train, then delete what each job made of them."""
    module = clone.root / "src/reprise/evidence/arithmetic.py"
    os.utime(module, times=(time.time() + 3600,) * 2)
    run = clone.snakemake()
    assert run.status == 2
    (line,) = [line for line in run.messages if line.startswith("reprise: error: ")]
    assert "src/reprise/evidence/arithmetic.py" in line
    assert clone.records() == []
    assert not (clone.root / "data").exists()


@pytest.mark.skipif(shutil.which("make") is None, reason="no make on this machine")
def test_make_refuses_an_old_python(tmp_path):
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    # This Python, but for its version: were it not refused it would make an environment.
    old = script(
        tmp_path / "python-old",
        'case "$1" in\n'
        '  --version) echo "Python 3.10.14" ;;\n'
        f'  -c) shift; exec "{PYTHON}" -c "import sys; sys.version_info = (3, 10, 14, \'final\', 0); $@" ;;\n'
        f'  *) exec "{PYTHON}" "$@" ;;\n'
        "esac",
    )
    for target in ("run", "test"):
        process = Project(tmp_path, {"MAKEFLAGS": "", "MAKELEVEL": "0"}).run("make", target, f"PYTHON={old}")
        assert process.returncode == 2
        (line,) = [line for line in process.stderr.splitlines() if not line.startswith("make: ***")]
        assert line.startswith("reprise: error: ")
        assert "Python 3.10.14" in line
        assert "Python 3.11 or newer" in line
        assert process.stdout == ""
        assert not (tmp_path / ".venv").exists()
