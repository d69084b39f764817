"""Replicas that train as stacks: the records of solo runs, resumed, cut short, out of memory, or computing wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from stacked_helpers import SENTENCES, WINDOWS, experiment, jobs_of, make_corpus, never, runner_of
from stacked_training_helpers import (
    KEYS,
    checked_stack,
    halved_for_want_of_memory,
    held,
    in_pieces,
    records,
    refused,
    solo_of,
    stopped_after,
)

from reprise.errors import Interrupted, UserError
from reprise.kernels.stacked_output import StackedOutput
from reprise.kernels.stacked_subsequences import StackedSubsequences
from reprise.records.record import read_record
from reprise.training.locks import replica_lock
from reprise.training.loop import run_job
from reprise.training.stack import StackRunner
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


@pytest.mark.parametrize(("make", "engine"), [(sentences, "auto"), (windows, "grouped")])
def test_a_stack_leaves_the_records_of_solo_runs(make, engine, corpus, tmp_path):
    jobs = jobs_of(make(corpus), tmp_path / "stack")
    said = checked_stack(jobs)
    for own, job in zip(records(jobs), jobs, strict=True):
        # A solo run also tells in which subsequence it diverged.
        held(own, solo_of(job, tmp_path, engine), keys=tuple(key for key in KEYS if key != "diverged"))
        assert own["run"]["engine"] == "stacked"
        assert own["run"]["stack_replicas"] == len(jobs)
    # Those that have stopped do not hold up the others for good.
    assert any("have stopped: a stack of" in line for line in said)
    assert not list((tmp_path / "stack").rglob("*.stacked*"))


@pytest.mark.parametrize("make", [sentences, windows])
def test_a_stack_that_was_stopped_goes_on_to_the_same_numbers(make, corpus, tmp_path):
    whole = jobs_of(make(corpus), tmp_path / "whole")
    runner_of([whole]).run(never)
    jobs, said = jobs_of(make(corpus), tmp_path / "pieces"), []
    # Soon after the start, in the middle of an epoch and of an evaluation.
    starts, _ = in_pieces(jobs, lambda start: (4, 3, 6, 9, 101)[min(start, 4)], most=9, said=said)
    assert starts > 3
    assert any("stopped by SIGTERM" in line for line in said)
    for own, exact in zip(records(jobs), records(whole), strict=True):
        held(own, exact)
    assert max(record["run"]["resumed"] for record in records(jobs)) == starts - 1


def test_a_stack_that_cannot_be_saved_does_not_cost_the_others_theirs(corpus, tmp_path, monkeypatch):
    first, second = (jobs_of([made], tmp_path) for made in sentences(corpus)[1:3])
    said, save = [], StackRunner._save

    def full(runner, running):
        if running.epochs.active[0].job is first[0]:
            raise OSError("No space left on device")
        save(runner, running)

    monkeypatch.setattr(StackRunner, "_save", full)
    runner = runner_of([first, second], said, streams=2)
    runner.run(stopped_after(5))
    assert sum("not saved (OSError: No space left on device)" in line for line in said) == 1
    assert sum("1 saved" in line for line in said) == 1
    assert runner.unfinished == [*first, *second]
    assert [path.parent.name for path in tmp_path.rglob("*.stacked")] == ["mod"]


def test_replicas_at_other_places_in_the_text_wait_for_their_own_stack(corpus, tmp_path):
    jobs, said = jobs_of(sentences(corpus)[:2], tmp_path), []
    runner_of([jobs[:1]]).run(stopped_after(3))
    runner_of([jobs], said).run(never)
    assert all(job.output.exists() for job in jobs)
    assert [line.partition(": a stack of ")[2][:1] for line in said if "to set up" in line] == ["1", "2"]


def test_out_of_memory_halves_the_stack_and_says_so(corpus, tmp_path, monkeypatch):
    jobs = jobs_of(sentences(corpus)[:4], tmp_path)
    said = halved_for_want_of_memory(StackedSubsequences, jobs, monkeypatch)
    assert sum("out of memory" in line for line in said) == 2


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
    refused(jobs_of(sentences(corpus)[:2], tmp_path))


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
