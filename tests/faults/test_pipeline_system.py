"""Disks that are full, folders that are closed, a /tmp without room: one line says what, and nothing is half there."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from project import PYTHON, contents

pytestmark = pytest.mark.faults

RESULTS = "results/quick"


@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("collect", f"{RESULTS}/metrics.csv"),
        ("verify", f"{RESULTS}/claims.json"),
        ("render digits-curves", f"{RESULTS}/figures/digits-curves.svg"),
        ("render words-perplexity", f"{RESULTS}/tables/words-perplexity"),
        ("render --report", "results/report.html"),
        ("prepare words/s-rnn-4", "data/"),
    ],
)
def test_a_full_disk_leaves_what_was_there_and_no_corpus(finished, command, target):
    """No file may grow over 512 bytes, as on a disk that is full."""
    shutil.rmtree(finished.root / "data")
    before = contents(finished.root / RESULTS)
    limited = 'ulimit -f 1 && exec "$@"'  # bash counts in 1,024 bytes, sh in 512
    reprise = ("sh", PYTHON, "-m", "reprise", *command.split(), "--tier", "quick")
    run = finished.run("sh", "-c", limited, *reprise, PYTHONPATH="src")
    assert run.returncode == 1, run.stderr
    (line,) = run.stderr.splitlines()
    assert line.startswith(f"reprise: error: {target}")
    assert "File too large" in line
    assert "make room" in line
    assert contents(finished.root / RESULTS) == before
    assert contents(finished.root / "data") == {}


def bound(*command: str) -> tuple[str, ...]:
    """The command held to the permissions of files, which root otherwise is not."""
    if os.geteuid() != 0:
        return command
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and there is no setpriv to take that away")
    return ("setpriv", "--inh-caps=-all", "--bounding-set=-all", *command)


@pytest.fixture
def closed(finished):
    """The finished project but for a table, its results read-only; they are opened again, so that they can go."""
    results = finished.root / RESULTS
    for path in (results / "tables").glob("words-*"):
        path.unlink()
    for path in (results, *results.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)
    yield finished
    for path in (results, *results.rglob("*")):
        path.chmod(0o755)


def test_results_that_are_read_only(closed):
    """Reading goes on: what would be written is named, and nothing is changed or removed."""
    before = contents(closed.root / RESULTS)
    for path in (closed.root / RESULTS).rglob("report.html"):
        path.chmod(0o644)  # Snakemake itself refuses to make a file again that is read-only
    run = closed.snakemake(within=bound())
    assert run.status == 1
    line = f"reprise: error: {RESULTS}/tables/words-perplexity.csv: Permission denied; make room or fix the access"
    assert line in run.log
    assert "Traceback" not in run.log
    assert contents(closed.root / RESULTS) == before


def test_resolved_configurations_that_cannot_be_written(finished):
    shutil.rmtree(finished.root / RESULTS / "config")
    finished.records("digits/count/*.json")[0].unlink()
    results = finished.root / RESULTS
    results.chmod(0o555)
    run = finished.snakemake(within=bound())
    results.chmod(0o755)
    assert run.status == 1
    # Snakemake makes the folders of a job's outputs itself, and names the one that it cannot make.
    assert f"Permission denied: '{RESULTS}/config'" in run.log
    assert "Traceback" not in run.log
    assert run.trained == []


def without_room(folder: Path) -> tuple[str, ...]:
    """A wrapper whose command sees a full file system of its own at the folder."""
    fill = f'cat /dev/zero > "{folder}/filler" 2> /dev/null || true'
    mounted = f'mount -t tmpfs -o size=64k tmpfs "{folder}" && {{ {fill}; }} && exec "$@"'
    wrapper = ("unshare", "--mount", "sh", "-c", mounted, "sh")
    command = (*wrapper, "sh", "-c", f'cat /proc/version > "{folder}/x"')
    trial = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No space left on device" not in trial.stderr:
        pytest.skip(f"no file system of one's own can be mounted here: {trial.stderr.strip()}")
    return wrapper


def test_no_room_for_temporary_files(finished, tmp_path):
    """A replica is trained, its engine compiled, a figure drawn without a byte in TMPDIR."""
    if shutil.which("unshare") is None:
        pytest.skip("no command unshare on this machine")
    temporary = tmp_path / "t"
    temporary.mkdir()
    (record,) = finished.records("words/s-rnn-4/1-*.json")
    engine = record.read_text(encoding="utf-8").partition('"engine": "')[2].partition('"')[0]
    record.unlink()
    shutil.rmtree(finished.root / RESULTS / "figures")
    compiled = finished.root / "build"
    targets = [str(record.relative_to(finished.root)), f"{RESULTS}/figures/digits-curves.svg"]
    places = {"TMPDIR": str(temporary), "REPRISE_BUILD": str(compiled)}
    run = finished.snakemake(targets=targets, within=without_room(temporary), **places)
    assert run.status == 0, run.log
    assert run.trained == ["words/s-rnn-4 1"]
    assert f'"engine": "{engine}"' in record.read_text(encoding="utf-8")
    assert bool(list(compiled.glob("*.so"))) == bool(list(Path(finished.variables["REPRISE_BUILD"]).glob("*.so")))
    assert len(list((finished.root / RESULTS / "figures").iterdir())) == 3
