"""Whoever makes a mistake reads one line: the file, the key, the remedy. No traceback, nothing beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from project import PYTHON, ROOT, Project

pytestmark = pytest.mark.pipeline

DIGITS, CONFIG = "config/papers/digits.yaml", "config/config.yaml"

# Name: the file, what is written in it in place of what, and what the line has to say: key and remedy.
MISTAKES = {
    "unknown key": (
        (DIGITS, "    title: RNN, T = 5\n", "    title: RNN, T = 5\n    colour: red\n"),
        ("key experiments.rnn-t5.colour:", "unknown key; remove it"),
    ),
    "duplicate key": (
        (DIGITS, "    title: RNN, T = 5\n", "    title: RNN, T = 5\n    title: RNN\n"),
        ("key experiments.rnn-t5.title stands twice", "keep one of the two"),
    ),
    "wrong type": (
        (DIGITS, "steps: {value: 30,", "steps: {value: 30.5,"),
        ("key families.small.training.steps:", "30.5 is not an int of at least 1; write one"),
    ),
    "exponent without a point": (
        (DIGITS, "value: 0.01,", "value: 1e-3,"),
        ("key families.small.training.learning_rate.value:", "'1e-3' as a string; write 1.0e-3"),
    ),
    "missing model": (
        (DIGITS, "name: elman", "name: elmann"),
        ("key families.small.model.name: no model 'elmann'", "did you mean 'elman'?"),
    ),
    "missing dataset": (
        (DIGITS, "dataset: palindromes", "dataset: palindromic"),
        ("key families.small.data.dataset: no dataset 'palindromic'", "did you mean 'palindromes'?"),
    ),
    "missing protocol": (
        (DIGITS, "protocol: final-digit", "protocol: last-digit"),
        ("key families.small.training.protocol: no protocol 'last-digit'", "did you mean 'final-digit'?"),
    ),
    "missing check": (
        (DIGITS, "name: lstm-parameter-count", "name: lstm-parameters"),
        ("key experiments.count.check.name: no check 'lstm-parameters'", "did you mean 'lstm-parameter-count'?"),
    ),
    "unknown family": (
        (DIGITS, "like: small", "like: smal"),
        ("key experiments.rnn-t5.like: no family 'smal'", "did you mean 'small'?"),
    ),
    "bad origin": (
        (DIGITS, 'value: 30, from: "ours: short"', "value: 30, from: a guess"),
        ("key families.small.training.steps.from: 'a guess' is no origin", "begin with 'paper …'"),
    ),
    "unknown assumption": (
        (DIGITS, "from: assumption weight-law", "from: assumption weight-lore"),
        ("model.weight_law.from: no assumption 'weight-lore'", "did you mean 'weight-law'?"),
    ),
    "option left out": (
        (DIGITS, "      clip_norm: {value: 10.0, from: paper §1}\n", ""),
        ("key families.small.training: protocol final-digit needs the option 'clip_norm'", "add it"),
    ),
    "missing paper": (
        (CONFIG, "  - words", "  - wordy"),
        ("key papers: no file config/papers/wordy.yaml", "write it, or name one of digits, words"),
    ),
    "bad syntax": (
        (CONFIG, "papers:\n", "papers: [\n"),
        ("not valid YAML", "correct the line"),
    ),
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


def test_a_table_without_its_function_is_one_line_before_anything_trains(clone: Project) -> None:
    clone.edit(DIGITS, "function: palindromes.convergence", "function: palindromes.convergense")
    done = clone.reprise("resolve", "--tier", "quick")
    assert done.returncode == 2
    line = one_line(done.stderr.splitlines())
    assert f"{DIGITS}: key tables.convergence.function: no function 'palindromes.convergense'" in line
    assert "did you mean 'palindromes.convergence'" in line


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
            timeout=60,
            check=False,
        )
        assert done.returncode == 2
        lines = [line for line in done.stderr.splitlines() if not line.startswith("make: ***")]
        assert "Python 3.10.14 is too old; name Python 3.11 or newer" in one_line(lines)
        assert done.stdout == ""
        assert not (tmp_path / ".venv").exists()
