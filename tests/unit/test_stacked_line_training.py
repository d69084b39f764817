"""Replicas of document 000 that train as stacks: the records of solo runs, resumed, out of memory, or wrong."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from line_epochs_helpers import config
from packed_helpers import corpus as make_corpus
from stacked_helpers import experiment, jobs_of, never, runner_of

from reprise import cli
from reprise.kernels.stacked_adam import StackedAdam
from reprise.kernels.stacked_lines import StackedLines
from reprise.kernels.stacked_symbols_back import StackedGradients
from reprise.training.loop import run_job
from reprise.training.record import read_record
from reprise.training.stack_member import saved_state
from reprise.training.stack_plan import grouped, stack_key
from reprise.training.stack_training import place_of

LINES = config(learning_rate=0.003)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("corpus"))


def unlike(corpus):
    """Experiments of one stack that stop at different epochs; the last one diverges."""
    return [
        experiment("two-folds", LINES, corpus, replicas=2),
        experiment("clipped", LINES, corpus, clip_norm=0.05, loss_reduction="mean-lines"),
        experiment("long", LINES, corpus, replicas=2, max_epochs=4, learning_rate=0.005),
        experiment("diverges", LINES, corpus, learning_rate=1e30),
    ]


def records(jobs):
    return [read_record(job.output, job.resolved) for job in jobs]


def values(record):
    return {(m["split"], m["metric"]): m["value"] for m in record["metrics"]}


def test_a_stack_leaves_the_records_of_solo_runs(corpus, tmp_path):
    jobs, said = jobs_of(unlike(corpus), tmp_path / "stack"), []
    runner = runner_of([jobs], said, checked=True)
    runner.run(never)
    assert (runner.failed, runner.unfinished) == ([], [])
    for own, job in zip(records(jobs), jobs, strict=True):
        solo = run_job(replace(job, root=tmp_path / "solo", output=tmp_path / "solo.json", engine="packed"))
        (tmp_path / "solo.json").unlink()
        for metric, other in zip(own["metrics"], solo["metrics"], strict=True):
            assert metric == other | {"value": pytest.approx(other["value"], rel=1e-5)}
        for curve, other in zip(own["curves"], solo["curves"], strict=True):
            assert curve == other | {"y": pytest.approx(other["y"], rel=1e-5)}
        for key in ("config_hash", "parameters", "status", "replica", "seed", "fold", "samples", "diverged"):
            assert own.get(key) == solo.get(key)
        assert own["run"]["engine"] == "stacked"
        assert own["run"]["stack_replicas"] == len(jobs)
    assert [record["status"] for record in records(jobs)] == ["finished"] * 5 + ["diverged"]
    assert any("4 of 6 have stopped: a stack of 2 goes on" in line for line in said)
    assert not list((tmp_path / "stack").rglob("*.stacked*"))


def together(corpus):
    """Experiments that stop in the same epoch."""
    return [experiment("a", LINES, corpus, replicas=2), experiment("b", LINES, corpus, clip_norm=0.5)]


@pytest.mark.parametrize(("make", "to_the_bit"), [(together, True), (unlike, False)])
def test_a_stack_that_was_stopped_often_goes_on_to_the_same_numbers(make, to_the_bit, corpus, tmp_path):
    whole, jobs = jobs_of(make(corpus), tmp_path / "whole"), jobs_of(make(corpus), tmp_path / "pieces")
    runner_of([whole]).run(never)
    stops, places = 0, set()
    while not all(job.output.exists() for job in jobs):
        assert stops < 90
        # A pass over validation or test lines that was interrupted begins again: some runs have to last longer.
        turns, limit = iter(range(100)), 1 + stops * 2 % 5
        runner_of([jobs]).run(lambda turns=turns, limit=limit: "SIGTERM" if next(turns) > limit else "")
        states = [saved_state(job, print)[1] for job in jobs if not job.output.exists()]
        places |= {place_of(state) for state in states if state}
        stops += 1
    assert {split for split, _ in places} == {"train", "valid", "test"}
    assert ("train", 2) in places
    for own, exact in zip(records(jobs), records(whole), strict=True):
        if to_the_bit:
            for key in ("metrics", "curves", "samples"):
                assert own[key] == exact[key]
            assert own["run"]["resumed"] == stops - 1
        assert values(own) == pytest.approx(values(exact), rel=1e-5)
        assert own["status"] == exact["status"]


def test_a_replica_that_diverges_later_is_tested_at_once_with_its_best_epoch(corpus, tmp_path, monkeypatch):
    real, epochs = StackedLines.batch_losses, []

    def astray(self, first, last):
        found = real(self, first, last)
        epochs.append(last)
        if len(epochs) == 2:
            found[1][2] = math.nan
        return found

    monkeypatch.setattr(StackedLines, "batch_losses", astray)
    jobs, said = jobs_of(unlike(corpus)[:2], tmp_path), []
    runner_of([jobs], said).run(never)
    monkeypatch.undo()
    own, found = records(jobs)[1], values(records(jobs)[1])
    assert (found["train", "epochs"], found["valid", "best_epoch"], found["train", "diverged_epoch"]) == (1, 1, 2)
    assert own["status"] == "finished"
    alone = jobs_of([experiment("one", LINES, corpus, replicas=2, max_epochs=1)], tmp_path)[1]
    other = values(run_job(replace(alone, engine="packed")))
    assert found["test", "cross_entropy"] == pytest.approx(other["test", "cross_entropy"], rel=1e-5)
    # The others go on as if nothing had been.
    for job in (jobs[0], jobs[2]):
        solo = run_job(replace(job, root=tmp_path / "solo", output=tmp_path / "solo.json", engine="packed"))
        (tmp_path / "solo.json").unlink()
        assert values(read_record(job.output, job.resolved)) == pytest.approx(values(solo), rel=1e-5)
    titles = [line.partition(":")[0] for line in said if "finished after" in line]
    assert titles[0] == jobs[1].title


def test_the_best_epoch_is_the_one_that_is_tested(corpus, tmp_path):
    # So large a rate that the last epoch is not the best one.
    jobs = jobs_of([experiment("wild", LINES, corpus, replicas=2, max_epochs=6, learning_rate=0.3)], tmp_path)
    runner_of([jobs]).run(never)
    assert any(values(record)["valid", "best_epoch"] < 6 for record in records(jobs))
    for record in records(jobs):
        valid = next(c["y"] for c in record["curves"] if (c["split"], c["axis"]) == ("valid", "epoch"))
        assert values(record)["valid", "cross_entropy"] == min(valid)
        assert valid.index(min(valid)) + 1 == values(record)["valid", "best_epoch"]


def test_out_of_memory_halves_the_stack_and_says_so(corpus, tmp_path, monkeypatch):
    real = StackedLines.__init__

    def small(self, models, *rest, **options):
        if len(models) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        real(self, models, *rest, **options)

    monkeypatch.setattr(StackedLines, "__init__", small)
    jobs, said = jobs_of(unlike(corpus)[:3], tmp_path), []
    runner_of([jobs], said).run(never)
    assert all(record["status"] == "finished" for record in records(jobs))
    assert any("two stacks of 3 and 2 instead" in line for line in said)


@pytest.mark.parametrize("wrong", ["gradient", "step", "clipping"])
def test_a_stack_that_computes_something_else_trains_nothing(wrong, corpus, tmp_path, monkeypatch):
    real_back, real_step = StackedGradients.through_softmax, StackedAdam.step

    def off(self, P, y, share):
        real_back(self, P, y, share * (1 + 1e-3))

    def too_far(self, there):
        before = self.values.clone()
        real_step(self, there)
        self.values.add_(self.values - before, alpha=1e-3)

    def unclipped(self, there):
        self.clips = None
        real_step(self, there)

    if wrong == "gradient":
        monkeypatch.setattr(StackedGradients, "through_softmax", off)
    else:
        monkeypatch.setattr(StackedAdam, "step", too_far if wrong == "step" else unclipped)
    jobs, said = jobs_of(unlike(corpus)[:2], tmp_path), []
    runner = runner_of([jobs], said, checked=True)
    runner.run(never)
    assert runner.failed == jobs
    assert "StackDisagrees" in said[-1]
    assert not any(job.output.exists() for job in jobs)


def test_stacks_hold_what_has_the_same_shape(corpus):
    def changed(name, **options):
        return experiment(name, LINES, corpus, **options)

    other = experiment("rnn", config("first-order"), corpus)
    alike = [
        changed("a"),
        changed("rate", learning_rate=0.1),
        changed("clip", clip_norm=1.0, loss_reduction="mean-lines"),
    ]
    apart = [
        changed("identity", activation="identity"),
        changed("e", recurrent_term=True),
        changed("m", second_order_size=8),
        changed("batch", batch_size=4),
        other,
    ]
    groups = grouped([*alike, *apart], lambda e: e)
    assert [len(group) for group in groups] == [3, 1, 1, 1, 1, 1]
    bigrams = replace(alike[0], corpus="other.npz")
    assert stack_key(bigrams) != stack_key(alike[0])


def test_run_leaves_the_records_that_train_would(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("corpora").mkdir()
    Path("corpora/c.npz").write_bytes(corpus.read_bytes())
    one = replace(experiment("a", LINES, "data/corpora/c.npz", replicas=2, max_epochs=2), engine="stacked")
    Path(one.config_path()).parent.mkdir(parents=True)
    Path(one.config_path()).write_text(one.to_json(), encoding="utf-8")
    assert cli.main(["run", "--tier", "quick", "--corpora", "corpora", "--output", "out", "--device", "cpu"]) == 0
    for replica in range(2):
        arguments = ["train", "p/a", "--replica", str(replica), "--config", one.config_path()]
        arguments += ["--corpus", "corpora/c.npz", "--engine", "packed", "--output", f"{replica}.json"]
        assert cli.main(arguments) == 0
        found, solo = (
            read_record(path, one) for path in (Path("out", one.record_path(replica)), Path(f"{replica}.json"))
        )
        assert found["run"]["stack_replicas"] == 2
        assert values(found) == pytest.approx(values(solo), rel=1e-5)
        assert found["samples"] == solo["samples"]


def test_float64_is_trained_in_float64(corpus, tmp_path):
    double = copy.deepcopy(LINES) | {"precision": "float64"}
    jobs = jobs_of([experiment("a", double, corpus, replicas=2)], tmp_path)
    runner_of([jobs], checked=True).run(never)
    for job in jobs:
        solo = run_job(replace(job, root=tmp_path / "solo", output=tmp_path / "solo.json", engine="packed"))
        (tmp_path / "solo.json").unlink()
        assert values(read_record(job.output, job.resolved)) == pytest.approx(values(solo), rel=1e-11)
