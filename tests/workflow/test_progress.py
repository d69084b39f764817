"""`make run` shows one line, keeps Snakemake's output in a file, and shows what failed with its exit status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from project import ROOT

PROGRESS = ROOT / "workflow/scripts/progress.py"
SAID = "Job stats:\ntotal 4\n\nJob 1: training digits/rnn-t5, replica 0\n1 of 4 steps (25%) done\n"


def run(folder: Path, script: str, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRESS), str(folder / "logs/quick.log"), "sh", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)


def test_the_output_goes_to_the_file_alone(tmp_path: Path) -> None:
    done = run(tmp_path, f"printf '%s' '{SAID}'; echo warning >&2")
    assert (done.returncode, done.stdout) == (0, "")
    kept = (tmp_path / "logs/quick.log").read_text()
    assert kept == SAID + "warning\n"
    assert "warning" not in done.stderr


@pytest.mark.parametrize(
    ("last", "shown", "hidden"),
    [
        ("reprise: error: config/papers/a.yaml: key b: no such key", "key b", "Error in rule"),
        ("a disk is full", "a disk is full", "Job stats"),
    ],
)
def test_a_failure_shows_its_error_and_where_the_rest_is(last: str, shown: str, hidden: str, tmp_path: Path) -> None:
    done = run(tmp_path, f"printf '%s' '{SAID}'; echo 'Error in rule train:'; echo '{last}'; exit 3")
    assert done.returncode == 3
    assert shown in done.stderr
    assert hidden not in done.stderr
    assert str(tmp_path / "logs/quick.log") in done.stderr


def test_a_signal_goes_to_the_command_and_its_status_comes_back(tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(PROGRESS),
        str(tmp_path / "log"),
        "sh",
        "-c",
        "trap 'exit 75' TERM; echo up; sleep 30 & wait",
    ]
    started = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        limit = time.monotonic() + 30
        while not (tmp_path / "log").exists() or "up" not in (tmp_path / "log").read_text():
            assert time.monotonic() < limit
            time.sleep(0.01)
        started.terminate()
        assert started.wait(20) == 75
    finally:
        os.killpg(started.pid, signal.SIGKILL)
