"""What the tests of stacks on a GPU share: stacks that leave the records of solo runs, and the same bits twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from engine_helpers import same_bits
from stacked_helpers import never

from reprise.records.record import read_record
from reprise.training.loop import Job, run_job
from reprise.training.stack import StackRunner

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is visible")
GPU = torch.device("cuda", 0)


def trained_on_the_gpu(groups: list[list[Job]], streams: int = 1) -> tuple[StackRunner, list[str]]:
    """The runner after all it could train, and what it said."""
    said: list[str] = []
    runner = StackRunner(groups, True, lambda: 1e9, lambda e: None, said.append, streams=streams)
    runner.run(never)
    return runner, said


def stacks_leave_the_records_of_solo_runs(groups: list[list[Job]], folder: Path, streams: int = 1) -> None:
    """Every replica has the metrics of the same one trained by itself."""
    runner, said = trained_on_the_gpu(groups, streams)
    assert runner.failed == [], said
    for job in sum(groups, []):
        record = read_record(job.output, job.resolved)
        solo = run_job(replace(job, root=folder / "solo", output=folder / "solo" / job.output.name))
        for metric, other in zip(record["metrics"], solo["metrics"], strict=True):
            assert metric["value"] == pytest.approx(other["value"], rel=1e-4)
        assert "cpu" not in record["run"]["device"]


def the_same_bits_twice(trained: Callable[[], Any]) -> None:
    """Two stacks that are made and trained by `trained` have the same parameters."""
    found = []
    for _ in range(2):
        stack = trained()
        found.append([stack.export(r) for r in range(stack.R)])
    for one, other in zip(*found, strict=True):
        assert same_bits(one, other)
