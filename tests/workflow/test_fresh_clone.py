"""A fresh clone holds what git has, all of it of any age: nothing of it is trained again."""

import os
import random
import shutil
import subprocess

import pytest
from project import Project, contents
from test_pipeline import DRAWN

from reprise.evidence.collect import UNCOMMITTED

pytestmark = pytest.mark.pipeline

DAY = 86400.0


@pytest.fixture
def fresh(first_run, tmp_path):
    """The finished project as `git clone` brings it, were its tier one whose results git has."""
    project, _ = first_run
    git = tmp_path / "git"
    git.mkdir()
    shutil.copy(project.root / ".gitignore", git)
    subprocess.run(["git", "init", "--quiet"], cwd=git, check=True)
    # Of the tier `quick` git has nothing, being made in minutes; of the others their records and tables.
    names = {name.replace("results/quick/", "results/paper/"): name for name in contents(project.root)}
    ignored = subprocess.run(
        ["git", "check-ignore", "--stdin"], cwd=git, input="\n".join(names), capture_output=True, text=True, check=False
    )
    assert ignored.returncode == 0, ignored.stderr
    for name in names.keys() - set(ignored.stdout.splitlines()):
        target = tmp_path / "fresh" / names[name]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(project.root / names[name], target)
    return Project(tmp_path / "fresh", project.variables)


def test_git_has_records_and_tables_but_no_data(fresh):
    assert len(fresh.records()) == 6
    results = fresh.root / "results/quick"
    for name in ("metrics.csv", "claims.json", "figures/digits-curves.svg", "tables/words-perplexity.md"):
        assert (results / name).is_file()
    for name in (*UNCOMMITTED, "figures/digits-curves.png", "tables/words-perplexity.html"):
        assert not (results / name).exists()
    absent = ("data", "checkpoints", "logs", "build", ".snakemake", "results/quick/config")
    assert [name for name in absent if (fresh.root / name).exists()] == []


@pytest.mark.parametrize("older", ["records", "any at random"])
def test_no_age_of_files_trains(fresh, older):
    draw, now, records = random.Random(older), (fresh.root / "Snakefile").stat().st_mtime, set(fresh.records())
    for path in sorted(p for p in fresh.root.rglob("*") if p.is_file()):
        then = now - DAY * (path in records if older == "records" else draw.random())
        os.utime(path, (then, then))
    plan = fresh.plan()
    assert plan.trained == []
    assert plan.jobs.keys() <= {"collect", "claims", *DRAWN}
    assert {"collect", "displays_digits"} <= plan.jobs.keys()  # Git has neither curves nor PNG


def test_a_corpus_made_just_now_trains_nothing_and_one_that_is_missing_is_made_for_its_record(fresh):
    fresh.records("words/s-rnn-4/1-*.json")[0].unlink()
    plan = fresh.plan()
    assert plan.trained == ["words/s-rnn-4 1"]
    assert plan.jobs["prepare"] == 1
    made = fresh.reprise("prepare", "words/s-rnn-4", "--tier", "quick")
    assert made.returncode == 0, made.stderr
    plan = fresh.plan()
    assert plan.trained == ["words/s-rnn-4 1"]
    assert "prepare" not in plan.jobs


def test_what_it_makes_again_comes_out_the_same(fresh, first_run):
    run = fresh.snakemake("--forcerun", "collect", "claims")
    assert run.status == 0, run.log
    assert run.jobs == {"collect": 1, "claims": 1, **DRAWN}
    # Resolved configurations are written for training runs, and nothing trained here.
    expected = {
        name: text
        for name, text in contents(first_run[0].root / "results/quick").items()
        if not str(name).startswith("config/")
    }
    assert contents(fresh.root / "results/quick") == expected
    assert not (fresh.root / "data").exists()


def test_commands_work_with_what_a_clone_has(fresh):
    """Drawing reads the run records; a check compares what the clone has."""
    for command in (("verify", "--check"), ("render", "digits-curves"), ("render", "--report")):
        process = fresh.reprise(*command, "--tier", "quick")
        assert process.returncode == 0, process.stderr
    assert not any((fresh.root / "results/quick" / name).exists() for name in UNCOMMITTED)
