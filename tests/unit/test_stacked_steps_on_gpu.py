"""Stacks of palindromes and books where they belong: as CUDA graphs. Skipped where no GPU is visible."""

from __future__ import annotations

from dataclasses import replace

import pytest
import stacked_books_helpers as books
import stacked_palindromes_helpers as palindromes
import torch
import windows_helpers
from stacked_gpu_helpers import GPU, needs_gpu, trained_on_the_gpu
from stacked_helpers import experiment, jobs_of

from reprise.records.record import read_record
from reprise.training.loop import run_job

pytestmark = needs_gpu


@pytest.mark.parametrize("capture", [True, False])
@pytest.mark.parametrize("kind", palindromes.KINDS)
def test_graphs_on_palindromes_make_the_readable_models_steps(kind, capture):
    models = palindromes.models_of(kind)
    stack = palindromes.stack_of(models, 12, device=GPU, capture=capture)
    stack.feed(palindromes.left_halves((0, 1, 2), 12, 40))
    stack.train(40, 0)
    assert stack.programs.trouble == ""
    assert stack.programs.captured == int(capture)
    for r, (losses, right) in enumerate(stack.results(40)):
        exact, expected, known = palindromes.alone(models[r].double(), r, 12, 40)
        assert losses == pytest.approx(expected, rel=1e-4)
        assert right == known
        for name, value in exact.state_dict().items():
            torch.testing.assert_close(stack.export(r)[name], value.float(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("capture", [True, False])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_graphs_on_a_book_make_the_readable_models_steps(activation, capture):
    models = books.models_of(activation)
    stack = books.stack_of(models, device=GPU, capture=capture)
    books.train(stack, 0, 15)
    books.train(stack, 15, 40)
    assert stack.programs.trouble == ""
    assert stack.programs.captured == int(capture)
    for r, (losses,) in enumerate(stack.results(40)):
        exact, expected, after = books.alone(models[r].double(), r, 40)
        assert losses == pytest.approx(expected, rel=1e-4)
        for name, value in exact.state_dict().items():
            torch.testing.assert_close(stack.export(r)[name], value.float(), rtol=1e-3, atol=1e-4)
        for own, other in zip(stack.state(r)["carried"], (part for pair in after for part in pair), strict=True):
            torch.testing.assert_close(own, other.float(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("which", ["palindromes", "book"])
def test_stacks_that_count_steps_leave_the_records_of_solo_runs(which, tmp_path):
    if which == "book":
        path = windows_helpers.make_corpus(tmp_path)
        experiments = [experiment("a", windows_helpers.config(steps=9, sample_every=4), path, replicas=2)]
    else:
        how = {"replicas": 2, "steps": 40}
        experiments = [experiment(name, palindromes.config(name), None, **how) for name in ("elman", "lstm")]
    jobs = jobs_of(experiments, tmp_path)
    groups = [[job for job in jobs if job.resolved is one] for one in experiments]
    runner, said = trained_on_the_gpu(groups, streams=2)
    assert runner.failed == [], said
    for job in jobs:
        record = read_record(job.output, job.resolved)
        solo = run_job(replace(job, root=tmp_path / "solo", output=tmp_path / "solo" / job.output.name))
        (tmp_path / "solo" / job.output.name).unlink()
        for curve, other in zip(record["curves"], solo["curves"], strict=True):
            assert curve["y"] == pytest.approx(other["y"], rel=1e-4, abs=1e-5)
        assert [metric["metric"] for metric in record["metrics"]] == [metric["metric"] for metric in solo["metrics"]]
        assert "cpu" not in record["run"]["device"]
