"""The pipeline on a real SLURM of one node: `snakemake --profile profiles/slurm all`.

Skipped, with the reason, where SLURM cannot be started. The tests share two runs.
"""

import pytest
from cluster import obstacle
from project import read_record
from runs import BOTH, MINUTES, MOST_MINUTES, REQUEUED, TIMED_OUT, disturbed_run, run_as_shipped

# A whole pipeline, every job of which starts Python twice: minutes, on a machine with other work many.
pytestmark = [pytest.mark.slurm, pytest.mark.timeout(2400)]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    if obstacle():
        pytest.skip(obstacle())
    return tmp_path_factory.mktemp("s")


@pytest.fixture(scope="module")
def run(place):
    return disturbed_run(place / "d")


@pytest.fixture(scope="module")
def shipped(place):
    return run_as_shipped(place / "s")


def test_it_comes_to_its_end(run):
    assert run.status == 0, run.log
    results = run.project.root / "results/quick"
    assert (results.parent / "report.html").is_file()
    assert len(run.project.records()) == 4
    assert "Nothing to be done" in run.project.snakemake().log


@pytest.mark.parametrize(
    ("experiment", "ends", "resumed"),
    [
        (REQUEUED, [("COMPLETED", "1")], 1),
        (TIMED_OUT, [("TIMEOUT", "0"), ("COMPLETED", "0")], 1),
        (BOTH, [("TIMEOUT", "1"), ("COMPLETED", "0")], 2),
    ],
)
def test_a_job_goes_on_from_its_checkpoint(run, experiment, ends, resumed):
    """After its time limit it has more time, as far as the partition allows it, and twice the memory."""
    first, *restarted = run.jobs_of(experiment)
    assert [(job["JobState"], job["Restarts"]) for job in (first, *restarted)] == ends, run.log
    (early,) = [job for job in run.submitted if job["JobId"] == first["JobId"]]
    assert (early["TimeLimit"], early["MinMemoryNode"]) == (f"00:{MINUTES}:00", "500M")
    assert MINUTES < MOST_MINUTES < 2 * MINUTES
    assert {(job["TimeLimit"], job["MinMemoryNode"]) for job in restarted} <= {(f"00:{MOST_MINUTES}:00", "1000M")}
    (record,) = map(read_record, run.project.records(f"{experiment}/*.json"))
    assert (record["status"], record["run"]["resumed"]) == ("finished", resumed)


def test_a_gpu_is_asked_for_where_it_can_be_used(run):
    """By the job that trains an experiment; the jobs of its replicas move their records."""
    for job in run.jobs:
        needs_gpu = job["Comment"].startswith("rule_train_together_")
        assert job["Partition"] == ("accelerated" if needs_gpu else "short"), job["Comment"]
        assert job.get("TresPerJob") == ("gres:gpu:1" if needs_gpu else None), job["Comment"]
    comments = [job["Comment"].removeprefix("rule_") for job in run.jobs]
    together = {c.partition("wildcards_")[2] for c in comments if c.startswith("train_together_")}
    assert together == {"digits_rnn-t5", "digits_lstm-t5", "words_s-rnn-4"}
    replicas = {c.partition("wildcards_")[2][:-13] for c in comments if c.startswith("train_wildcards_")}
    assert replicas == {"digits_count_0", *(f"{name}_0" for name in together)}
    # Figures and tables are no jobs.
    rules = {comment.partition("_wildcards_")[0] for comment in comments}
    assert rules == {"collect", "claims", "page", "train", "train_together"}


def test_nothing_outlives_its_job_but_the_logs_of_those_that_failed(run):
    """The process left behind that spares trainings their start would be another job's, or nobody's."""
    assert run.survivors == []
    failed = {run.jobs_of(experiment)[0]["JobId"] for experiment in (TIMED_OUT, BOTH)}
    assert {path.stem for path in (run.project.root / "logs/slurm").rglob("*.log")} == failed


def test_the_default_partition_gets_what_it_allows(shipped):
    """With `partitions: {}`. The training would ask for a day, and wait for ever; its file appears after its job."""
    assert shipped.status == 0, shipped.log
    (job,) = shipped.jobs
    assert (job["JobState"], job["Partition"], job["TimeLimit"]) == ("COMPLETED", "short", "01:00:00"), shipped.log
