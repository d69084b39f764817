"""Figures by DVC: stored in a folder, taken from there by a fresh clone, drawn again without training, damage found."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest
from project import PYTHON, ROOT, Project, flipped

from reprise.files import atomic_path

pytestmark = pytest.mark.pipeline

KEY = "palindromes-figure-2"
FIGURE = f"results/paper/figures/{KEY}"
STAGE = f"figure@{KEY}"


def call(folder: Path, *command: str, status: int = 0) -> str:
    """What a command in a clone says; it must end with `status`."""
    run = Project(folder, {"PYTHONPATH": "src"}).run(*command)
    assert run.returncode == status, f"{command}: {run.returncode}\n{run.stdout}{run.stderr}"
    return run.stdout + run.stderr


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
    return call(folder, "git", *identity, *arguments)


def name_store(clone: Path, store: Path) -> None:
    """As docs/dvc.md has it, for this clone alone."""
    call(clone, "dvc", "remote", "add", "--default", "--local", "--force", "store", str(store))
    call(clone, "dvc", "remote", "modify", "--local", "store", "verify", "true")


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """A clone of what is here, and what DVC says of it before it runs anything there."""
    if not (ROOT / ".git").exists():
        pytest.skip("this copy of the project is no git repository, and DVC needs one")
    clone = tmp_path_factory.mktemp("dvc") / "a clone"
    for name in call(ROOT, "git", "ls-files", "-z").split("\0"):
        if name and (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, clone / name)
    git(clone, "init", "--quiet")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "as it is here")
    git(clone, "gc", "--quiet")  # every test clones it: of thousands of small files, few
    return clone, json.loads(call(clone, "dvc", "status", "--json"))


@pytest.fixture(scope="module")
def stored(committed):
    """That clone, whose figure has been pushed, and the folder that it was pushed to."""
    clone, _ = committed
    store = clone.parent / "the store"
    name_store(clone, store)
    call(clone, "dvc", "repro", STAGE)
    call(clone, "dvc", "push", STAGE)
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--allow-empty", "--message", "drawn")
    return clone, store


@pytest.fixture
def fresh(stored, tmp_path):
    """A clone of that clone that knows the folder and has taken nothing from it yet."""
    clone = tmp_path / "fresh"
    git(tmp_path, "clone", "--quiet", str(stored[0]), str(clone))
    name_store(clone, stored[1])
    return clone


def test_the_committed_lock_is_that_of_what_is_committed(committed):
    """A fresh clone lacks what DVC keeps, and `collect` makes its own part of it; all else is what the lock says."""
    collected = {f"results/paper/{name}" for name in ("curves.csv.gz", "samples.jsonl", "metrics.json")}

    def is_old(entry: dict) -> bool:
        states = {**entry.get("changed outs", {}), **entry.get("changed deps", {})} or {"command": "changed"}
        return any(
            state != "not in cache" and not (state == "deleted" and path in collected) for path, state in states.items()
        )

    old = {stage: changed for stage, paths in committed[1].items() if (changed := list(filter(is_old, paths)))}
    assert not old, "outputs are older than what they are made from: run `dvc repro` (or `dvc commit`), commit dvc.lock"


def test_a_pulled_figure_is_the_one_that_was_drawn_and_nothing_is_drawn_again(stored, fresh):
    assert not (fresh / f"{FIGURE}.png").exists()
    call(fresh, "dvc", "pull", STAGE)
    for kind in ("png", "pdf"):
        assert (fresh / f"{FIGURE}.{kind}").read_bytes() == (stored[0] / f"{FIGURE}.{kind}").read_bytes()
    output = call(fresh, "dvc", "repro", STAGE)
    assert [line for line in output.splitlines() if line.startswith("Running stage")] == []
    assert git(fresh, "status", "--porcelain") == ""


def test_a_figure_is_drawn_again_from_records_alone(fresh):
    before = (fresh / f"{FIGURE}.svg").read_bytes()
    output = call(fresh, "dvc", "repro", "--force", "--single-item", STAGE)
    assert [line for line in output.splitlines() if line.startswith("Running stage")] == [f"Running stage '{STAGE}':"]
    assert (fresh / f"{FIGURE}.svg").read_bytes() == before
    assert not (fresh / "data").exists()
    assert not (fresh / "checkpoints").exists()


def test_what_kill_leaves_of_a_record_is_no_part_of_the_records(tmp_path):
    """Git does not show it, so a lock that it entered would be committed."""
    call(tmp_path, "dvc", "init", "--quiet", "--no-scm")
    shutil.copyfile(ROOT / ".dvcignore", tmp_path / ".dvcignore")
    record = tmp_path / "results/paper/runs/digits/count/0-0123456789ab.json"
    with atomic_path(record) as partial:
        assert call(tmp_path, "dvc", "check-ignore", str(partial)) == f"{partial}\n"
    call(tmp_path, "dvc", "check-ignore", str(record), status=1)


def test_metrics_and_plots_by_dvc(fresh):
    """Every figure once, though nothing was drawn or pulled here, and nothing for git to see."""
    call(fresh, "dvc", "repro", "--single-item", "collect")
    assert "failed" not in call(fresh, "dvc", "plots", "show")
    page = (fresh / "dvc_plots/index.html").read_text()
    drawn = sorted(path.name for path in (fresh / "results/paper/figures").iterdir())
    assert f"{KEY}.svg" in drawn
    assert sorted(re.findall(r'src="[^"]*?_figures_([^"]+)"', page)) == drawn
    assert git(fresh, "status", "--porcelain") == ""
    path = fresh / "results/paper/metrics.json"
    numbers = json.loads(path.read_text())
    numbers["palindromes"]["lstm-t10"]["train.best_accuracy"]["mean"] -= 0.125
    path.write_text(json.dumps(numbers))
    diff = json.loads(call(fresh, "dvc", "metrics", "diff", "--json"))
    (change,) = diff.get("diff", diff)["results/paper/metrics.json"].values()
    assert change["diff"] == pytest.approx(-0.125)


def damaged_object(folder: Path, figure: Path) -> Path:
    """One byte is changed of a figure's stored file, which stays read-only as DVC left it."""
    name = hashlib.md5(figure.read_bytes()).hexdigest()
    victim = folder / "files/md5" / name[:2] / name[2:]
    data = victim.read_bytes()
    victim.chmod(0o644)
    victim.write_bytes(flipped(data, 4 * len(data)))
    victim.chmod(0o444)
    return victim


def check(fresh: Path, *folder: str, damaged: Path | None = None) -> None:
    """`python -m reprise cache` names the damaged object and the figure that it is, or finds nothing."""
    output = call(fresh, PYTHON, "-m", "reprise", "cache", *folder, status=int(damaged is not None))
    assert f" objects, {int(damaged is not None)} damaged" in output
    if damaged:
        assert f"{damaged.parent.name}/{damaged.name} ({FIGURE}.png)" in output


def test_damage_in_the_cache_is_unsaid_until_asked_for_and_is_mended(stored, fresh):
    good, figure = stored[0] / f"{FIGURE}.png", fresh / f"{FIGURE}.png"
    call(fresh, "dvc", "pull", STAGE)
    check(fresh)
    victim = damaged_object(fresh / ".dvc/cache", good)
    figure.unlink()
    call(fresh, "dvc", "checkout", STAGE)
    assert figure.read_bytes() != good.read_bytes(), "DVC looks by itself now: docs/dvc.md says otherwise"
    check(fresh, damaged=victim)
    for remedy in ("pull", "repro"):
        victim.unlink()
        figure.unlink()
        call(fresh, "dvc", remedy, STAGE)
        assert figure.read_bytes() == good.read_bytes()
        check(fresh)
    assert git(fresh, "status", "--porcelain") == ""


def test_damage_in_the_store_is_refused_and_mended(stored, fresh, tmp_path):
    good, figure = stored[0] / f"{FIGURE}.png", fresh / f"{FIGURE}.png"
    sound, store = tmp_path / "sound", tmp_path / "its store"
    shutil.copytree(stored[0], sound)
    shutil.copytree(stored[1], store)
    name_store(sound, store)
    name_store(fresh, store)
    victim = damaged_object(store, good)
    assert "Checkout failed" in call(fresh, "dvc", "pull", STAGE, status=1)
    assert not figure.exists()
    check(fresh, str(store), damaged=victim)
    victim.unlink()
    call(sound, "dvc", "push", STAGE)
    check(fresh, str(store))
    call(fresh, "dvc", "pull", STAGE)
    assert figure.read_bytes() == good.read_bytes()


def test_trained_models_are_pushed_and_pulled_one_by_one_by_small_files_that_git_keeps(stored, fresh, tmp_path):
    """As docs/weights.md has it. A second clone adds its own without dropping the first's."""
    weights, names = "results/paper/weights", [f"p/e/{n}-0123456789ab.safetensors" for n in range(2)]
    add = ("dvc", "add", "--glob", f"{weights}/**/*.safetensors")
    other = tmp_path / "other"
    for clone, name in ((fresh, names[0]), (other, names[1])):
        if clone == other:
            git(tmp_path, "clone", "--quiet", str(fresh), str(other))
            name_store(other, stored[1])
        (clone / weights / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / weights / name).write_bytes(name.encode())
        call(clone, *add)
        git(clone, "add", weights)
        assert git(clone, "diff", "--cached", "--name-only").splitlines() == [f"{weights}/{name}.dvc"]
        git(clone, "commit", "--quiet", "--message", "a model")
        call(clone, "dvc", "push", "--recursive", weights)
    call(other, "dvc", "pull", "--recursive", weights)
    # No stage makes them: drawing a figure leaves them alone.
    call(other, "dvc", "repro", "--single-item", "collect")
    assert all((other / weights / name).read_bytes() == name.encode() for name in names)
    assert git(other, "status", "--porcelain", "--", weights) == ""
