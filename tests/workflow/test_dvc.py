"""Figures by DVC: stored in a folder, taken from there by a fresh clone, drawn again without training, damage found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from project import ROOT

KEY = "palindromes-figure-2"
FIGURE = f"results/paper/figures/{KEY}"
STAGE = f"figure@{KEY}"


def call(folder: Path, *command: str, status: int = 0) -> str:
    """What a command in a clone says; it must end with `status`."""
    bin_folder = str(Path(sys.executable).parent)
    variables = {**os.environ, "PATH": os.pathsep.join([bin_folder, os.environ.get("PATH", "")])}
    run = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == status, f"{command}: {run.returncode}\n{run.stdout}{run.stderr}"
    return run.stdout + run.stderr


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
    return call(folder, "git", *who, *arguments)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A clone of what is here whose figure has been pushed, and the folder that it was pushed to."""
    if not (ROOT / ".git").exists():
        pytest.skip("this copy of the project is no git repository, and DVC needs one")
    folder = tmp_path_factory.mktemp("dvc")
    clone, store = folder / "a clone", folder / "the store"
    for name in call(ROOT, "git", "ls-files", "-z").split("\0"):
        if name and (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, clone / name)
    git(clone, "init", "--quiet")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "as it is here")
    call(clone, "dvc", "remote", "add", "--default", "--local", "store", str(store))
    call(clone, "dvc", "repro", STAGE)
    call(clone, "dvc", "push", STAGE)
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--allow-empty", "--message", "drawn")
    return clone, store


@pytest.fixture
def fresh(stored: tuple[Path, Path], tmp_path: Path) -> Path:
    """A clone of that clone that knows the folder and has taken nothing from it yet."""
    clone = tmp_path / "fresh"
    git(tmp_path, "clone", "--quiet", str(stored[0]), str(clone))
    call(clone, "dvc", "remote", "add", "--default", "--local", "store", str(stored[1]))
    return clone


def test_a_pulled_figure_is_the_one_that_was_drawn_and_nothing_is_drawn_again(
    stored: tuple[Path, Path], fresh: Path
) -> None:
    assert not (fresh / f"{FIGURE}.png").exists()
    call(fresh, "dvc", "pull", STAGE)
    for kind in ("png", "pdf"):
        assert (fresh / f"{FIGURE}.{kind}").read_bytes() == (stored[0] / f"{FIGURE}.{kind}").read_bytes()
    said = call(fresh, "dvc", "repro", STAGE)
    assert "Running stage" not in said
    assert git(fresh, "status", "--porcelain") == ""


def test_a_figure_is_drawn_again_from_records_alone(fresh: Path) -> None:
    before = (fresh / f"{FIGURE}.svg").read_bytes()
    said = call(fresh, "dvc", "repro", "--force", "--single-item", STAGE)
    assert [line for line in said.splitlines() if line.startswith("Running stage")] == [f"Running stage '{STAGE}':"]
    assert (fresh / f"{FIGURE}.svg").read_bytes() == before
    assert not (fresh / "data").exists()
    assert not (fresh / "checkpoints").exists()


def test_metrics_and_plots_by_dvc(fresh: Path) -> None:
    path = fresh / "results/paper/metrics.json"
    numbers = json.loads(path.read_text())
    found = numbers["palindromes"]["lstm-t10"]["train.best_accuracy"]
    found["mean"] -= 0.125
    path.write_text(json.dumps(numbers))
    diff = json.loads(call(fresh, "dvc", "metrics", "diff", "--json"))
    changed = diff["diff"]["results/paper/metrics.json"] if "diff" in diff else diff["results/paper/metrics.json"]
    (change,) = changed.values()
    assert change["diff"] == pytest.approx(-0.125)
    call(fresh, "dvc", "pull", STAGE)
    call(fresh, "dvc", "plots", "show", "--out", "plots", f"{FIGURE}.svg")
    assert f"{KEY}.svg" in (fresh / "plots/index.html").read_text()


@pytest.mark.parametrize("where", ["cache", "store"])
def test_damaged_objects_are_found_though_dvc_trusts_them(fresh: Path, tmp_path: Path, where: str) -> None:
    call(fresh, "dvc", "pull", STAGE)
    store = tmp_path / "copy"
    shutil.copytree(fresh / ".dvc/cache", store)
    folder = Path(".dvc/cache") if where == "cache" else store
    reprise = (sys.executable, "-m", "reprise", "cache", *([] if where == "cache" else [str(store)]))
    assert "2 objects, 0 damaged" in call(fresh, *reprise)
    victim = max((fresh / folder).glob("files/md5/??/*"))
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.chmod(0o644)
    victim.write_bytes(data)
    victim.chmod(0o444)
    said = call(fresh, *reprise, status=1)
    assert f"{victim.parent.name}/{victim.name}: damaged" in said
    assert f"{FIGURE}.p" in said  # the output's name
    assert "2 objects, 1 damaged" in said


def test_a_lock_cut_short_is_one_clear_line(fresh: Path) -> None:
    call(fresh, "dvc", "pull", STAGE)
    (fresh / "dvc.lock").write_text("schema: '2.0'\n")
    said = call(fresh, sys.executable, "-m", "reprise", "cache", status=2)
    assert said.splitlines() == [
        "reprise: error: dvc.lock: damaged (no stages with outputs); `git checkout dvc.lock` brings it back"
    ]
    (fresh / "dvc.lock").unlink()
    assert "dvc.lock: no such file" in call(fresh, sys.executable, "-m", "reprise", "cache", status=2)


def test_a_folder_without_objects_is_one_clear_line(tmp_path: Path) -> None:
    said = call(tmp_path, sys.executable, "-m", "reprise", "cache", "nowhere", status=2)
    assert said.startswith("reprise: error: nowhere: no DVC objects there")
