"""What the jobs ask SLURM for: from estimates where there are any, and never more than a partition allows.

Every SLURM command is a stand-in, so SLURM need not be installed; `sbatch` writes down what it was asked for and
refuses, so that every attempt is seen.
"""

import os
import re

import pytest
from project import PYTHON, Project, script

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.processor import read_processor_name
from reprise.records.record import Outcome, make_record, write_record

pytestmark = pytest.mark.pipeline

pytest.importorskip("snakemake_executor_plugin_slurm")

PARTITIONS = """\
PartitionName=batch Default=YES MaxTime=08:00:00 MaxMemPerNode=5000
PartitionName=quick Default=NO MaxTime=00:30:00 MaxMemPerNode=UNLIMITED
"""
FREE = "PartitionName=batch Default=YES MaxTime=UNLIMITED MaxMemPerNode=UNLIMITED\n"
LSTM_TWICE = "{name: lstm}\n    tiers: {quick: {replicas: 2}"


@pytest.fixture
def known(clone):
    """Two experiments have a record: 100 minutes and 2000 MiB; 300 minutes and no peak of memory."""
    clone.edit("config/papers/digits.yaml", "{name: lstm}\n    tiers: {quick: {replicas: 1}", LSTM_TWICE)
    experiments = {e.id: e for e in resolve_tier(load_project(clone.root, {"tier": "quick"}))}
    run = {
        "engine": "fused",
        "device": f"cpu ({read_processor_name()})",
        "wall_seconds": 6000.0,
        "peak_memory_mib": 2000.0,
    }
    rnn, lstm = (experiments[f"digits/{name}-t5"] for name in ("rnn", "lstm"))
    write_record(clone.root / rnn.get_record_path(0), make_record(rnn, 0, Outcome(), 7, None, run))
    run = {"engine": "fused", "device": run["device"], "wall_seconds": 18000.0}
    write_record(clone.root / lstm.get_record_path(1), make_record(lstm, 1, Outcome(), 7, None, run))
    return clone


def requests(project: Project, states: str, *arguments: str) -> dict[str, list[tuple[int, int]]]:
    """Minutes and memory (MB) of each attempt, by rule and wildcards, of a cluster whose partitions are `states`."""
    folder = project.root.parent / "slurm"
    script(folder / "sbatch", f"echo \"$@\" >> '{folder}/asked'; exit 1")
    script(folder / "scontrol", f"echo '{states}'")
    script(folder / "sinfo", "echo PARTITION 'batch*' quick")
    for name in ("squeue", "sacct"):
        script(folder / name, "exit 0")
    command = (PYTHON, "-m", "snakemake", "--profile", "profiles/slurm", "--config", "tier=quick", *arguments)
    # Else Snakemake ends no sooner than after the forty seconds that it waits before it looks at jobs.
    command += ("--slurm-init-seconds-before-status-checks", "1")
    process = project.run(*command, "--", "all", PATH=f"{folder}:{os.environ['PATH']}")
    assert process.returncode == 1, process.stderr
    attempts_by_rule: dict[str, list[tuple[int, int]]] = {}
    for line in (folder / "asked").read_text(encoding="utf-8").splitlines():
        name, minutes, mem_mb = re.search(r"--comment rule_(\S+).* -t (\d+) --mem (\d+) ", line).groups()
        # Without the hash at the end of a replica's name.
        attempts_by_rule.setdefault(name.rpartition("_")[0], []).append((int(minutes), int(mem_mb)))
    return {name: sorted(attempts) for name, attempts in attempts_by_rule.items()}


RNN, LSTM, COUNT = (f"train_wildcards_digits_{name}" for name in ("rnn-t5_1", "lstm-t5_0", "count_0"))


def test_time_and_memory_come_from_the_estimate_and_are_doubled(known):
    by_rule = requests(known, FREE, "--retries", "1")
    assert by_rule[RNN] == [(300, 3400), (600, 6800)]
    # Of the other one only the time is known; a check takes seconds.
    assert by_rule[LSTM] == [(900, 500), (1800, 1000)]
    assert by_rule[COUNT] == [(10, 500), (20, 1000)]
    assert by_rule["prepare_wildcards"] == [(5, 500), (10, 1000)]


CHOSEN = ("--default-resources", "slurm_partition=quick", "--retries", "1")


@pytest.mark.parametrize(
    ("arguments", "rnn", "lstm"),
    [
        ((), [(300, 3400), *[(480, 5000)] * 3], [(480, 500), (480, 1000), (480, 2000), (480, 4000)]),
        (CHOSEN, [(30, 3400), (30, 6800)], [(30, 500), (30, 1000)]),
    ],
)
def test_without_named_partitions_slurm_is_asked_for_its_limits(known, arguments, rnn, lstm):
    """The profile as it is. SLURM would accept jobs that ask for more, and let them wait for ever."""
    by_rule = requests(known, PARTITIONS, *arguments)
    assert (by_rule[RNN], by_rule[LSTM]) == (rnn, lstm)


def test_replicas_that_train_together_have_memory_for_all(known):
    known.edit("config/config.yaml", "engine: auto", "engine: stacked")
    known.edit("config/papers/digits.yaml", "quick: {replicas: 2}", "quick: {replicas: 4}")
    by_rule = requests(known, FREE, "--retries", "0")
    # Three replicas are missing of the one network, and one of the other; on a CPU they take turns.
    assert by_rule["train_together_wildcards_digits"] == [(900, 500), (3 * 300, 3 * 3400)]
