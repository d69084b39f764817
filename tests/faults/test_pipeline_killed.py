"""The whole pipeline killed, orphaned, started twice: in the end the same bytes as if nothing had happened."""

import csv
import gzip
import os
import platform
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pipelines import Started, half_way, started, unlock
from project import PYTHON, SECONDS, Project, Run, new_project, read_record, result_bytes
from replica import alive, wait_until

from reprise.records.resolved import read_resolved

pytestmark = pytest.mark.faults

SEED = 4


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


def lengthen(project: Project) -> str:
    """Makes the training of one replica last some seconds; the name of its record."""
    project.edit(
        "config/papers/digits.yaml",
        "    model: {name: lstm}\n",
        '    model: {name: lstm}\n    training: {steps: {value: 3000, from: "ours: long"}}\n',
    )
    resolved = project.reprise("resolve", "--tier", "quick")
    assert resolved.returncode == 0, resolved.stderr
    return read_resolved(project.root / "results/quick/config/digits/lstm-t5.json").record_path(0)


def power_cut(project: Project, ready: Callable[[Started], object], seconds: float) -> Started:
    """Everything is killed so many seconds after `ready` of the pipeline has returned; it had some way to go then."""
    with started(project, "all") as run:
        ready(run)
        time.sleep(seconds)
        assert not run.over, run.said
        project.kill_everything()
    assert not (project.root / "results/report.html").exists()
    unlock(project)
    return run


def test_killed_at_random_points(first_run: tuple[Project, Run], tmp_path: Path, separate: dict[str, str]) -> None:
    """Power cuts in training, between any jobs, while results are collected or judged and while they are drawn.

    The folder's name has blanks, accents and a sign outside of Latin letters; engines are compiled in it.
    """
    undisturbed = Project(first_run[0].copy(tmp_path / "plain").root, separate)
    (short,) = undisturbed.records("digits/lstm-t5/*.json")
    short.unlink()
    record = lengthen(undisturbed)
    with started(undisturbed, "all") as run:
        assert run.process.wait() == 0, run.said

    here = {name: value for name, value in separate.items() if name != "REPRISE_BUILD"}
    project = new_project(tmp_path / "ein Klon, für später ☃", here)
    assert lengthen(project) == record
    draw = random.Random(SEED)
    cut = power_cut(project, lambda run: half_way(run, "digits/lstm-t5"), draw.uniform(0.0, 1.5))
    assert cut.is_at("training digits/lstm-t5"), cut.said
    # So many jobs further on, but not beyond those that are met next.
    goal, late = draw.randint(1, 3), ("collecting", "judging")
    cut = power_cut(
        project,
        lambda run: run.wait_until(lambda: run.steps >= goal or run.is_at(*late)),
        draw.uniform(0.0, 0.3),
    )
    assert cut.steps >= 1 or cut.is_at(*late), cut.said
    for jobs in (late, (draw.choice(["drawing", "writing results/"]),)):
        cut = power_cut(
            project, lambda run, jobs=jobs: run.wait_until(lambda: run.is_at(*jobs)), draw.uniform(0.0, 0.3)
        )
        assert cut.is_at(*jobs), cut.said
    with started(project, "all") as run:
        assert run.process.wait() == 0, run.said
    assert evidence(project) == evidence(undisturbed)
    assert read_record(project.root / record)["run"]["resumed"] >= 1
    compiled, elsewhere = project.root / "build/kernels", Path(separate["REPRISE_BUILD"])
    assert bool(list(compiled.glob("*.so"))) == bool(list(elsewhere.glob("*.so")))
    engines = [
        [read_record(path)["run"]["engine"] for path in each.records("words/s-rnn-4/*.json")]
        for each in (project, undisturbed)
    ]
    assert engines[0] == engines[1]


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
    return project, lengthen(project)


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
        holder = f"digits/lstm-t5 replica 0 is being trained by process {pid} on {platform.node()}; wait for it"
        assert holder in second.log
        assert "Traceback" not in second.log
        os.kill(pid, signal.SIGCONT)
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not alive(pid))
        assert not (project.root / record).exists()
    with started(project, record) as third:
        assert third.process.wait() == 0, third.said
    assert read_record(project.root / record)["run"]["resumed"] == 1
