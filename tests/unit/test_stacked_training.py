"""Replicas that train as stacks: the records of solo runs, resumed, cut short, out of memory, or computing wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from stacked_helpers import SENTENCES, WINDOWS, experiment, jobs_of, make_corpus, never, runner_of

from reprise.errors import Interrupted, UserError
from reprise.kernels.stacked_output import StackedOutput
from reprise.kernels.stacked_subsequences import StackedSubsequences
from reprise.training.locks import replica_lock
from reprise.training.loop import run_job
from reprise.training.record import read_record
from reprise.training.stack_alone import train_alone


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("corpus"))


def sentences(corpus):
    """Experiments of one stack that stop at different epochs; the last one diverges."""
    return [
        experiment("k3", SENTENCES, corpus, replicas=2, max_epochs=3),
        experiment("k40", SENTENCES, corpus, matrices=40),
        experiment("mod", SENTENCES, corpus, mapping="f_mod", loss_reduction="mean"),
        experiment("rnnlm", SENTENCES, corpus, schedule="rnnlm", halving_ratio=1.05, h_0=1.0),
        experiment("short", SENTENCES, corpus, max_epochs=1, dropout=0.0),
        experiment("diverges", SENTENCES, corpus, learning_rate=1e30),
    ]


def windows(corpus):
    return [
        experiment("gru-3", WINDOWS, corpus),
        experiment("gru-9", WINDOWS, corpus, matrices=9, mapping="f_mod", loss_reduction="mean-steps"),
        experiment("gru-short", WINDOWS, corpus, replicas=2, matrices=2, max_epochs=1, clip_norm=0.05),
    ]


def records(jobs):
    return [read_record(job.output, job.resolved) for job in jobs]


def curves(record):
    return [(c["split"], c["metric"], c["x"], pytest.approx(c["y"], rel=1e-5)) for c in record["curves"]]


@pytest.mark.parametrize(("make", "engine"), [(sentences, "auto"), (windows, "grouped")])
def test_a_stack_leaves_the_records_of_solo_runs(make, engine, corpus, tmp_path):
    jobs, said = jobs_of(make(corpus), tmp_path / "stack"), []
    runner = runner_of([jobs], said, checked=True)
    runner.run(never)
    assert (runner.failed, runner.unfinished) == ([], [])
    for own, job in zip(records(jobs), jobs, strict=True):
        record = run_job(replace(job, root=tmp_path / "solo", output=tmp_path / "solo.json", engine=engine))
        (tmp_path / "solo.json").unlink()
        assert [(c["split"], c["metric"], c["x"], c["y"]) for c in own["curves"]] == curves(record)
        for metric, other in zip(own["metrics"], record["metrics"], strict=True):
            assert metric == other | {"value": pytest.approx(other["value"], rel=1e-5)}
        for key in ("config_hash", "parameters", "status", "replica", "seed"):
            assert own[key] == record[key]
        assert own["run"]["engine"] == "stacked"
        assert own["run"]["stack_replicas"] == len(jobs)
    # Those that have stopped do not hold up the others for good.
    assert any("have stopped: a stack of" in line for line in said)
    assert not list((tmp_path / "stack").rglob("*.stacked*"))


@pytest.mark.parametrize("make", [sentences, windows])
def test_a_stack_that_was_stopped_goes_on_to_the_same_numbers(make, corpus, tmp_path):
    whole = jobs_of(make(corpus), tmp_path / "whole")
    runner_of([whole]).run(never)
    jobs, stops, said = jobs_of(make(corpus), tmp_path / "pieces"), 0, []
    while not all(job.output.exists() for job in jobs):
        turns = iter(range(100))
        # Soon after the start, in the middle of an epoch and of an evaluation.
        limit = (3, 2, 5, 8, 100)[min(stops, 4)]
        runner = runner_of([jobs], said)
        runner.run(lambda turns=turns, limit=limit: "SIGTERM" if next(turns) > limit else "")
        stops += 1
    assert stops > 3
    assert any("stopped by SIGTERM" in line for line in said)
    for own, exact in zip(records(jobs), records(whole), strict=True):
        assert [(c["split"], c["metric"], c["x"], c["y"]) for c in own["curves"]] == curves(exact)
        assert own["status"] == exact["status"]
    assert max(record["run"]["resumed"] for record in records(jobs)) == stops - 1


def test_replicas_at_other_places_in_the_text_wait_for_their_own_stack(corpus, tmp_path):
    jobs, said = jobs_of(sentences(corpus)[:2], tmp_path), []
    turns = iter(range(9))
    runner_of([jobs[:1]]).run(lambda: "SIGTERM" if next(turns) > 2 else "")
    runner_of([jobs], said).run(never)
    assert all(job.output.exists() for job in jobs)
    assert [line.partition(": a stack of ")[2][:1] for line in said if "to set up" in line] == ["1", "2"]


def test_out_of_memory_halves_the_stack_and_says_so(corpus, tmp_path, monkeypatch):
    real = StackedSubsequences.__init__

    def small(self, models, *rest, **options):
        if len(models) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        real(self, models, *rest, **options)

    monkeypatch.setattr(StackedSubsequences, "__init__", small)
    jobs, said = jobs_of(sentences(corpus)[:4], tmp_path), []
    runner_of([jobs], said).run(never)
    assert all(record["status"] == "finished" for record in records(jobs))
    assert sum("out of memory" in line for line in said) == 2
    assert any("two stacks of 3 and 2 instead" in line for line in said)


def test_a_single_replica_without_room_is_left_out(corpus, tmp_path, monkeypatch):
    def full(*_, **__):
        raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr(StackedSubsequences, "__init__", full)
    jobs = jobs_of(sentences(corpus)[1:2], tmp_path)
    runner = runner_of([jobs])
    runner.run(never)
    assert runner.failed == jobs


@pytest.mark.parametrize("wrong", ["step", "derivative"])
def test_a_stack_that_computes_something_else_trains_nothing(wrong, corpus, tmp_path, monkeypatch):
    real = getattr(StackedOutput, wrong)

    def off(self, T, *rest):
        real(self, T, *rest)
        tensor = self.W[: self.H] if wrong == "step" else rest[1]
        tensor.mul_(1 + 1e-3)

    monkeypatch.setattr(StackedOutput, wrong, off)
    jobs, said = jobs_of(sentences(corpus)[:2], tmp_path), []
    runner = runner_of([jobs], said, checked=True)
    runner.run(never)
    assert runner.failed == jobs
    assert "StackDisagrees" in said[-1]
    assert not any(job.output.exists() for job in jobs)


def test_other_stacks_go_on_after_one_has_failed(corpus, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(StackedSubsequences, "train", broken)
    groups = [jobs_of(sentences(corpus)[:1], tmp_path), jobs_of(windows(corpus)[2:], tmp_path)]
    said = []
    runner = runner_of(groups, said, streams=2)
    runner.run(never)
    assert runner.failed == groups[0]
    assert any("Traceback" in line for line in said)
    assert groups[1][0].output.exists()


def test_what_another_process_trains_is_left_to_it(corpus, tmp_path):
    jobs, said = jobs_of(sentences(corpus)[:2], tmp_path), []
    with replica_lock(jobs[1].state_path.with_suffix(".lock"), "it"):
        runner_of([jobs], said).run(never)
    assert [job.output.exists() for job in jobs] == [True, False, True]
    assert any("p/k3 replica 1 is being trained by process" in line for line in said)


def test_what_does_not_fit_waits_for_what_does(corpus, tmp_path, monkeypatch):
    from reprise.training import stack_running

    monkeypatch.setattr(stack_running, "_PROBE_SECONDS", 0.0)
    long = jobs_of([experiment("long", SENTENCES, corpus, max_epochs=2, hidden_size=9)], tmp_path)
    short = jobs_of(sentences(corpus)[4:5], tmp_path)
    said = []
    runner = runner_of([long, short], said, left=lambda: 600.0)
    runner.usual = lambda resolved: 1e9 if resolved.experiment == "long" else 1.0
    runner.run(never)
    assert all(job.output.exists() for job in long + short)
    titles = [line.partition(":")[0] for line in said if "finished after" in line]
    assert titles == [short[0].title, long[0].title]
    assert sum("put off" in line for line in said) == 1


def test_the_end_of_the_time_saves_what_is_not_done(corpus, tmp_path):
    left = iter([100.0] * 6)
    jobs = jobs_of(sentences(corpus)[:2], tmp_path)
    runner = runner_of([jobs], left=lambda: next(left, 0.0))
    runner.run(never)
    assert runner.unfinished == jobs
    assert len(list(tmp_path.rglob("*.stacked"))) == len(jobs)


def test_one_replica_alone(corpus, tmp_path, capsys):
    (job,) = jobs_of(sentences(corpus)[4:5], tmp_path, "stacked")
    with replica_lock(job.state_path.with_suffix(".lock"), "it"), pytest.raises(Interrupted, match="being trained"):
        train_alone(job)
    train_alone(job)
    assert read_record(job.output, job.resolved)["run"]["stack_replicas"] == 1
    assert "finished after 1 epochs" in capsys.readouterr().err
    with pytest.raises(UserError, match="no stack"):
        train_alone(replace(job, resolved=replace(job.resolved, config={"check": "x", "tolerance": 0.0})))


def test_tf32_is_for_a_gpu(corpus, tmp_path):
    which = experiment("tf32", SENTENCES, corpus)
    job = jobs_of([replace(which, config=which.config | {"precision": "tf32"})], tmp_path)[0]
    with pytest.raises(UserError, match="precision"):
        train_alone(job)
    with pytest.raises(UserError, match="precision: 'tf32'"):
        run_job(job)
