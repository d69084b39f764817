"""Experiments of equal shape train as one job, and each replica still has a record of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from project import Project, new_project, read_record

from reprise.training.devices import claim_gpu

WORDS = "words/s-rnn-4"


@pytest.fixture(scope="module")
def stacked(tmp_path_factory: pytest.TempPathFactory, pipeline_variables: dict[str, str]) -> Project:
    """The small project, its pipeline run once with stacks wherever they can be."""
    project = new_project(tmp_path_factory.mktemp("stacked") / "clone", pipeline_variables)
    project.edit("config/config.yaml", "engine: auto", "engine: stacked")
    # Another one of the same shape.
    words = (project.root / "config/papers/words.yaml").read_text(encoding="utf-8")
    start, end = words.index("  s-rnn-4:"), words.index("tables:")
    twin = words[start:end].replace("s-rnn-4:", "s-rnn-4-mean:").replace("value: sum", "value: mean")
    (project.root / "config/papers/words.yaml").write_text(words[:end].rstrip() + "\n" + twin + words[end:])
    run = project.snakemake()
    assert run.status == 0, run.log
    # Networks of one unit and length, of the other, and the language models; each replica takes its record from there.
    assert (run.jobs["train_stack"], run.jobs["train"]) == (3, 8)
    return project


def test_a_stack_leaves_a_record_a_replica(stacked: Project) -> None:
    for name in (WORDS, f"{WORDS}-mean"):
        records = [read_record(path) for path in stacked.records(f"{name}/*.json")]
        assert [record["replica"] for record in records] == [0, 1]
        assert {(r["status"], r["run"]["engine"]) for r in records} == {("finished", "stacked")}
    left = [path for path in (stacked.root / "build/stacks").rglob("*") if path.suffix in {".json", ".done"}]
    assert left == []


def test_a_finished_stack_has_nothing_to_do(stacked: Project, tmp_path: Path) -> None:
    assert "Nothing to be done" in stacked.copy(tmp_path / "copy").snakemake().log


def test_a_removed_record_is_trained_again_in_a_stack_of_its_own(stacked: Project, tmp_path: Path) -> None:
    project = stacked.copy(tmp_path / "copy")
    (path,) = project.records(f"{WORDS}/1-*.json")
    before = read_record(path)
    path.unlink()
    run = project.snakemake()
    assert run.status == 0, run.log
    assert run.trained == [f"{WORDS} 1"]
    assert run.jobs["train_stack"] == 1
    # Alone in its stack the sums are rounded in another order.
    values = [[metric["value"] for metric in record["metrics"]] for record in (read_record(path), before)]
    assert values[0] == pytest.approx(values[1], rel=1e-5)


def test_what_a_killed_pipeline_left_in_a_stack_is_not_trained_again(stacked: Project, tmp_path: Path) -> None:
    project = stacked.copy(tmp_path / "copy")
    (path,) = project.records(f"{WORDS}/0-*.json")
    there = project.root / "build/stacks" / path.relative_to(project.root)
    there.parent.mkdir(parents=True, exist_ok=True)
    path.rename(there)
    written = there.read_bytes()
    run = project.snakemake()
    assert run.status == 0, run.log
    assert path.read_bytes() == written
    assert not there.exists()


def test_each_process_claims_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code = f"""
import tempfile; tempfile.tempdir = {str(tmp_path)!r}
from reprise.training.devices import claim_gpu
print(claim_gpu(2), flush=True); input()
"""
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout.readline().strip() == "4"
        assert claim_gpu(2) == "7"
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "7"
    finally:
        other.communicate("\n", timeout=30)
