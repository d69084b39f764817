"""The whole pipeline killed, orphaned, started twice: in the end the same bytes as if nothing had happened."""

from __future__ import annotations

import csv
import gzip
import os
import random
import signal
import time
from pathlib import Path

import pytest
from pipelines import alive, half_way, started, unlock
from project import PYTHON, SECONDS, Project, Run, new_project, read_record, result_bytes

from reprise.config.resolved import read_resolved

SEED, KILLS = 4, 3


def evidence(project: Project) -> dict[str, bytes]:
    """All results as bytes, but for what says how long something took."""
    results = project.root / "results" / "quick"
    found = {str(path.relative_to(results)): result_bytes(path) for path in project.records()}
    for name in ("samples.jsonl", "metrics.json", "claims.json"):
        found[name] = (results / name).read_bytes()
    for folder in ("tables", "figures"):
        found |= {str(path.relative_to(results)): path.read_bytes() for path in (results / folder).iterdir()}
    for name, read in (("metrics.csv", open), ("curves.csv.gz", gzip.open)):
        with read(results / name, "rt", encoding="utf-8", newline="") as file:
            rows = [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]
        assert rows
        found[name] = repr(rows).encode()
    return found


@pytest.fixture
def separate(tmp_path_factory: pytest.TempPathFactory, pipeline_variables: dict[str, str]) -> dict[str, str]:
    """Environment of a project with a temporary folder of its own, by which its processes are known."""
    return {**pipeline_variables, "TMPDIR": str(tmp_path_factory.mktemp("k")), "REPRISE_SAVE_SECONDS": "0"}


def test_killed_at_random_points(first_run: tuple[Project, Run], tmp_path: Path, separate: dict[str, str]) -> None:
    """Three power cuts, in a folder whose name has blanks, accents and a sign outside of Latin letters."""
    project = new_project(tmp_path / "ein Klon, für später ☃", separate)
    draw = random.Random(SEED)
    for _ in range(KILLS):
        with started(project, "all") as run:
            # So many jobs further on, then within the next ones.
            goal = draw.randint(0, 3)
            run.wait_until(lambda run=run, goal=goal: run.steps >= goal)
            time.sleep(draw.uniform(0.0, 1.5))
            assert not run.over, run.said
            project.kill_everything()
        assert not (project.root / "results/quick/report.html").exists()
        unlock(project)
    with started(project, "all") as run:
        assert run.process.wait() == 0, run.said
    assert evidence(project) == evidence(first_run[0])
    assert "Nothing to be done" in project.snakemake("--dry-run").log


def test_killed_as_a_corpus_was_put_there(tmp_path: Path, separate: dict[str, str]) -> None:
    """It is whole, but Snakemake never heard so: what waits for it is trained all the same."""
    slow = tmp_path / "bin" / "python"
    slow.parent.mkdir()
    slow.write_text(
        f'#!/bin/sh\n"{PYTHON}" "$@" || exit 1\ncase "$*" in *" prepare "*) sleep {SECONDS};; esac\n', encoding="utf-8"
    )
    slow.chmod(0o755)
    path = f"{slow.parent}{os.pathsep}{os.environ['PATH']}"
    project = new_project(tmp_path / "clone", {**separate, "PATH": path})
    before = project.plan()
    assert before.jobs["prepare"] == 1
    corpus = read_resolved(project.root / "results/quick/config/words/s-rnn-4.json").corpus
    assert corpus
    with started(project, "all") as run:
        run.wait_until((project.root / corpus).exists)
        project.kill_everything()
    assert any((project.root / ".snakemake/incomplete").iterdir())
    unlock(project)
    after = project.plan()
    assert [name for name in before.trained if name.startswith("words/")]
    assert set(before.trained) - set(after.trained) <= {
        f"{p.parent.parent.name}/{p.parent.name} {p.name[0]}" for p in project.records()
    }
    assert "prepare" not in after.jobs
    assert after.jobs.keys() >= {"collect", "claims", "page"}


@pytest.fixture
def training(first_run: tuple[Project, Run], tmp_path: Path, separate: dict[str, str]) -> tuple[Project, str]:
    """A project that is finished but for one replica, whose training takes some seconds, and its record's name."""
    project = Project(first_run[0].copy(tmp_path / "clone").root, separate)
    project.edit(
        "config/papers/digits.yaml",
        "    model: {name: lstm}\n",
        '    model: {name: lstm}\n    training: {steps: {value: 3000, from: "ours: long"}}\n',
    )
    resolved = project.reprise("resolve", "--tier", "quick")
    assert resolved.returncode == 0, resolved.stderr
    return project, read_resolved(project.root / "results/quick/config/digits/lstm-t5.json").record_path(0)


def test_two_pipelines_at_once(training: tuple[Project, str]) -> None:
    """The second one does nothing and says why; the first one does not notice."""
    project, record = training
    with started(project, record) as first:
        pid = half_way(first, "digits/lstm-t5")
        before = {path: path.read_bytes() for path in (project.root / "results").rglob("*") if path.is_file()}
        second = project.snakemake()
        assert second.status == 1
        assert "Directory cannot be locked" in second.log
        after = {path: path.read_bytes() for path in (project.root / "results").rglob("*") if path.is_file()}
        assert after == before
        os.kill(pid, signal.SIGCONT)
        assert first.process.wait() == 0, first.said
    assert read_record(project.root / record)["run"]["resumed"] == 0


def test_an_orphan_of_a_killed_pipeline(training: tuple[Project, str]) -> None:
    """kill -9 of Snakemake alone: its training runs on, and the next run names it and leaves it alone."""
    project, record = training
    with started(project, record) as first:
        pid = half_way(first, "digits/lstm-t5")
        first.process.kill()
        first.process.wait()
        assert pid in project.processes()
        assert "Directory cannot be locked" in project.snakemake().log
        unlock(project)
        second = project.snakemake()
        assert second.status == 1
        assert (
            f"digits/lstm-t5 replica 0 is being trained by process {pid}; wait for it, stop it, or pass" in second.log
        )
        assert "Traceback" not in second.log
        os.kill(pid, signal.SIGCONT)
        os.kill(pid, signal.SIGTERM)
        limit = time.monotonic() + 60
        while alive(pid):
            assert time.monotonic() < limit
            time.sleep(0.01)
        assert not (project.root / record).exists()
    with started(project, record) as third:
        assert third.process.wait() == 0, third.said
    assert read_record(project.root / record)["run"]["resumed"] == 1
