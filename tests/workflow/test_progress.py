"""`make run` shows one line, keeps Snakemake's output in a file, and shows what failed with its exit status."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from project import ROOT, wait_until

SAID = "Job stats:\ntotal 4\n\nJob 1: training digits/rnn-t5, replica 0\n1 of 4 steps (25%) done\n"
FAILS = "echo 'Error in rule train:'; echo"


def start(folder: Path, script: str, **pipes: int) -> subprocess.Popen[str]:
    program = [sys.executable, str(ROOT / "workflow/scripts/progress.py"), str(folder / "logs/quick.log")]
    return subprocess.Popen([*program, "sh", "-c", script], text=True, start_new_session=True, **pipes)


@pytest.mark.parametrize(
    ("script", "status", "kept", "shown", "hidden"),
    [
        ("echo warning >&2", 0, f"{SAID}warning\n", "", "warning"),
        (f"{FAILS} 'reprise: error: a.yaml: key b: no such key'; exit 3", 3, "Error in rule", "key b", "Error in rule"),
        (f"{FAILS} 'a disk is full'; exit 3", 3, "a disk is full", "a disk is full", "Job stats"),
    ],
)
def test_the_output_goes_to_the_file_and_a_failure_shows_its_error(script, status, kept, shown, hidden, tmp_path):
    pipe = subprocess.PIPE
    out, err = (run := start(tmp_path, f"printf '%s' '{SAID}'; {script}", stdout=pipe, stderr=pipe)).communicate()
    assert (run.returncode, out) == (status, "")
    log = tmp_path / "logs/quick.log"
    assert kept in log.read_text()
    assert shown in err
    assert hidden not in err
    assert (str(log) in err) == bool(status)


def test_a_signal_goes_to_the_command_and_its_status_comes_back(tmp_path):
    log = tmp_path / "logs/quick.log"
    run = start(tmp_path, "trap 'exit 75' TERM; echo up; sleep 30 & wait", stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: log.exists() and "up" in log.read_text(), process=run)
        run.terminate()
        assert run.wait(20) == 75
    finally:
        os.killpg(run.pid, signal.SIGKILL)
