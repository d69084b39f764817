"""Stacks of log-linear RNNs as CUDA graphs, against the readable models. Skipped where no GPU is visible.

Beside `test_stacked_on_gpu.py`, which has what all stacks share.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from loglinear_helpers import config, make_corpus
from stacked_helpers import distance, experiment, jobs_of, never
from stacked_loglinear_helpers import (
    BATCH,
    STACKS,
    alone,
    batches_of,
    models_of,
    stack_of,
    streams_of,
    windows_of,
)

from reprise.training.loop import run_job
from reprise.training.record import read_record
from reprise.training.stack import StackRunner

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is visible")
GPU = torch.device("cuda", 0)
ROUNDS = 3
"""Every shape of a piece comes up so often: called, captured and replayed."""


@pytest.mark.parametrize("capture", [True, False])
@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize("name", STACKS)
def test_graphs_make_the_readable_models_steps(name, carried, capture):
    models, text = models_of(name), streams_of() if carried else windows_of(count=25)
    stack, losses = stack_of(models, text, carried, GPU, capture), []
    for run in [stack.train] * ROUNDS + [stack.evaluate] * ROUNDS:
        stack.enter(text)
        run(text, 0, len(text))
        losses.append(stack.batch_losses(0, len(text)))
    assert stack.programs.trouble == ""
    # Pieces of two shapes, each trained on and evaluated.
    assert stack.programs.captured == (4 if capture else 0)
    assert losses[-1] == losses[-2]
    for r, made in enumerate(models):
        exact, expected = alone(made.double(), text, r, carried, rounds=ROUNDS)
        assert sum((own[r] for own in losses[:ROUNDS]), []) == pytest.approx(expected, rel=1e-4)
        assert distance(stack.export(r), exact.export()) < 1e-3
        if carried:
            exact.reset(BATCH)
        evaluated = [exact.evaluate(x, y) for x, y in batches_of(text, r, carried)]
        assert losses[-1][r] == pytest.approx(evaluated, rel=1e-3)


@pytest.mark.parametrize("name", STACKS)
def test_the_same_stack_gives_the_same_bits(name):
    found = []
    for _ in range(2):
        text = windows_of()
        stack = stack_of(models_of(name), text, device=GPU)
        stack.train(text, 0, len(text))
        found.append([stack.export(r) for r in range(stack.R)])
    for one, other in zip(*found, strict=True):
        assert all(torch.equal(value, other[parameter]) for parameter, value in one.items())


@pytest.mark.parametrize("kind", ["ll-rnn", "rnn"])
def test_a_stack_leaves_the_records_of_solo_runs(kind, tmp_path):
    which = experiment("a", config(kind), make_corpus(tmp_path), replicas=2)
    jobs, said = jobs_of([which], tmp_path), []
    runner = StackRunner([jobs], True, lambda: 1e9, lambda e: None, said.append)
    runner.run(never)
    assert runner.failed == [], said
    for job in jobs:
        record = read_record(job.output, job.resolved)
        solo = run_job(replace(job, root=tmp_path / "solo", output=tmp_path / "solo" / job.output.name))
        for metric, other in zip(record["metrics"], solo["metrics"], strict=True):
            assert metric["value"] == pytest.approx(other["value"], rel=1e-4)
        assert "cpu" not in record["run"]["device"]
