"""A fresh clone holds what git has, all of it of any age: nothing of it is trained again."""

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from project import Project, Run
from test_pipeline import DRAWN

pytestmark = pytest.mark.pipeline

DAY = 86400.0


@pytest.fixture
def fresh(first_run: tuple[Project, Run], tmp_path: Path) -> Project:
    """The finished project as `git clone` brings it, were its tier one whose results git has."""
    project, _ = first_run
    git = tmp_path / "git"
    git.mkdir()
    shutil.copy(project.root / ".gitignore", git)
    subprocess.run(["git", "init", "--quiet"], cwd=git, check=True)
    names = [str(p.relative_to(project.root)) for p in sorted(project.root.rglob("*")) if p.is_file()]
    # Of the tier `quick` git has nothing, being made in minutes; of the others their records and tables.
    asked = {name.replace("results/quick/", "results/paper/"): name for name in names}
    ignored = subprocess.run(
        ["git", "check-ignore", "--stdin"], cwd=git, input="\n".join(asked), capture_output=True, text=True, check=False
    )
    assert ignored.returncode == 0, ignored.stderr
    for name in asked.keys() - set(ignored.stdout.splitlines()):
        target = tmp_path / "fresh" / asked[name]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(project.root / asked[name], target)
    return Project(tmp_path / "fresh", project.variables)


def test_git_has_records_and_tables_but_no_data(fresh: Project) -> None:
    assert len(fresh.records()) == 6
    results = fresh.root / "results/quick"
    made = ("metrics.csv", "curves.csv.gz", "samples.jsonl", "metrics.json", "claims.json")
    for name in (*made, "figures/digits-curves.svg", "tables/words-perplexity.md"):
        assert (results / name).is_file()
    absent = ("data", "checkpoints", "logs", "benchmarks", "build", ".snakemake", "results/quick/config")
    assert [name for name in absent if (fresh.root / name).exists()] == []
    assert not (results / "figures/digits-curves.png").exists()


AGES: dict[str, Callable[[bool, random.Random], float]] = {
    "records older": lambda record, draw: -DAY if record else 0.0,
    "at random": lambda record, draw: draw.uniform(-DAY, 0.0),
}


@pytest.mark.parametrize("ages", AGES)
def test_no_age_of_files_trains(fresh: Project, ages: str) -> None:
    draw, now = random.Random(ages), (fresh.root / "Snakefile").stat().st_mtime
    records = set(fresh.records())
    for path in sorted(p for p in fresh.root.rglob("*") if p.is_file()):
        then = now + AGES[ages](path in records, draw)
        os.utime(path, (then, then))
    plan = fresh.plan()
    assert plan.trained == []
    assert plan.jobs.keys() <= {"collect", "claims", *DRAWN}
    assert "displays_digits" in plan.jobs  # git has no PNG and no PDF


def test_a_corpus_made_just_now_trains_nothing_and_one_that_is_missing_is_made_for_its_record(fresh: Project) -> None:
    fresh.records("words/s-rnn-4/1-*.json")[0].unlink()
    plan = fresh.plan()
    assert plan.trained == ["words/s-rnn-4 1"]
    assert plan.jobs["prepare"] == 1
    made = fresh.reprise("prepare", "words/s-rnn-4", "--tier", "quick")
    assert made.returncode == 0, made.stderr
    plan = fresh.plan()
    assert plan.trained == ["words/s-rnn-4 1"]
    assert "prepare" not in plan.jobs


def test_what_it_makes_again_comes_out_the_same(fresh: Project, first_run: tuple[Project, Run]) -> None:
    original, _ = first_run
    before = {path: path.read_bytes() for path in fresh.records()}
    run = fresh.snakemake("--forcerun", "collect", "claims")
    assert run.status == 0, run.log
    assert run.jobs == {"collect": 1, "claims": 1, **DRAWN}
    assert {path: path.read_bytes() for path in fresh.records()} == before
    same = ["metrics.csv", "curves.csv.gz", "metrics.json", "claims.json"]
    same += [f"figures/digits-curves.{k}" for k in ("svg", "png")]
    same += [f"tables/{n}.{k}" for n in ("digits-convergence", "words-perplexity") for k in ("csv", "md", "html")]
    for name in same:
        path = Path("results/quick") / name
        assert (fresh.root / path).read_bytes() == (original.root / path).read_bytes(), name
    assert not (fresh.root / "data").exists()
