"""A training under the profile as it is shipped, `partitions: {}`, on a cluster whose default partition allows little.

Its record appears later than its job ends, as on a shared file system; and a job of somebody else is still there in the
end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cluster import BUSY_SECONDS, SECONDS, cluster, jobs, slurm
from disturbed import started, wait_until
from project import COMPILED, new_project

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier

ASKED = 1440
"""Minutes that config/config.yaml gives a training here; the default partition allows sixty."""
LATE_SECONDS = 10.0
"""Twice what Snakemake waits for a file by itself."""


@dataclass(frozen=True)
class Trained:
    """How Snakemake ended and what it said, its job, and what of SLURM's ran on when the cluster had been stopped."""

    status: int
    log: str
    job: dict[str, str]
    left: list[str]


def run_as_shipped(folder: Path) -> Trained:
    variables = {"TMPDIR": str(folder), "REPRISE_BUILD": str(COMPILED), "REPRISE_WARM_IDLE": "5"}
    project = new_project(folder / "clone", variables)
    project.edit("config/config.yaml", "train: {mem_mb: 500, runtime: 5}", f"train: {{mem_mb: 500, runtime: {ASKED}}}")
    project.edit("workflow/rules/train.smk", "--output {output} >", "--output {output}.late >")
    experiments = {e.id: e for e in resolve_tier(load_project(project.root, {"tier": "quick"}))}
    target = experiments["digits/rnn-t5"].record_path(0)
    record = project.root / target
    late = record.with_name(f"{record.name}.late")
    with cluster(), (folder / "log").open("w", encoding="utf-8") as log:
        with started(project, log, target) as process:
            wait_until(late.exists, process)
            time.sleep(LATE_SECONDS)
            late.rename(record)
            status = process.wait(BUSY_SECONDS)
        (job,) = jobs()
        slurm("sbatch", "--time=5", "--chdir=/", "--output=/dev/null", "--wrap=sleep 600")
        _wait(lambda: jobs()[-1]["JobState"] == "RUNNING")
    _wait(lambda: not _step_daemons(), fail=False)
    return Trained(status, (folder / "log").read_text(encoding="utf-8"), job, _step_daemons())


def _wait(condition: Callable[[], bool], fail: bool = True) -> None:
    limit = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > limit:
            assert not fail, "it never happened"
            return
        time.sleep(0.1)


def _step_daemons() -> list[str]:
    """Each job's own daemon, which outlives slurmd."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_text(encoding="utf-8").startswith("slurmstepd"):
                found.append((entry / "cmdline").read_text(encoding="utf-8").replace("\0", " "))
        except OSError:
            continue
    return found
