"""All missing replicas of an experiment train as one job, and each still has a record of its own."""

import os
import subprocess
import sys

import pytest
from project import new_project, read_record

from reprise.training.devices import claim_gpu

pytestmark = pytest.mark.pipeline

WORDS, FOLDER = "words/s-rnn-4", "build/together"


@pytest.fixture(scope="module")
def together(tmp_path_factory, pipeline_variables):
    """The small project, its pipeline run once with the replicas of an experiment together wherever they can be."""
    project = new_project(tmp_path_factory.mktemp("together") / "clone", pipeline_variables)
    project.edit("config/config.yaml", "engine: auto", "engine: stacked")
    run = project.snakemake()
    assert run.status == 0, run.log
    # Three experiments learn; each of their replicas takes its record from where their job left it.
    assert run.jobs["train_together"] == 3
    return project


def test_a_job_leaves_a_record_a_replica(together):
    records = [read_record(path) for path in together.records(f"{WORDS}/*.json")]
    assert [record["replica"] for record in records] == [0, 1]
    assert {(r["status"], r["run"]["engine"]) for r in records} == {("finished", "stacked")}
    remaining = [path for path in (together.root / FOLDER).rglob("*") if path.suffix in {".json", ".done"}]
    assert remaining == []


def test_what_is_missing_is_trained_and_what_a_killed_pipeline_left_is_taken(together, tmp_path):
    project = together.copy(tmp_path / "copy")
    assert project.plan().jobs == {}
    removed, moved = (project.records(f"{name}/*.json")[-1] for name in (WORDS, "digits/rnn-t5"))
    before, content = read_record(removed), moved.read_bytes()
    removed.unlink()
    target = project.root / FOLDER / moved.relative_to(project.root)
    target.parent.mkdir(parents=True, exist_ok=True)
    moved.rename(target)
    run = project.snakemake()
    assert run.status == 0, run.log
    assert run.trained == ["digits/rnn-t5 1", f"{WORDS} 1"]
    assert moved.read_bytes() == content
    assert not target.exists()
    # Alone its sums are rounded in another order.
    values = [[metric["value"] for metric in record["metrics"]] for record in (read_record(removed), before)]
    assert values[0] == pytest.approx(values[1], rel=1e-5)


@pytest.mark.parametrize("option", [("--force",), ("--forcerun", "train"), ("--forceall",)])
def test_a_replica_of_a_job_of_many_is_not_trained_again_by_force(together, tmp_path, option):
    """That job trains what is missing, so the record has to be removed."""
    project = together.copy(tmp_path / "copy")
    (record, *_) = project.records(f"{WORDS}/*.json")
    content, name = record.read_bytes(), str(record.relative_to(project.root))
    run = project.snakemake(*option, targets=[f"./{name}" if option == ("--force",) else name])
    assert (run.status, f"{name}: all replicas" in run.log, record.read_bytes()) == (1, True, content)
    assert project.snakemake("--force", "--dry-run").status == 0


def test_each_process_claims_a_gpu_of_its_own(monkeypatch, tmp_path):
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
