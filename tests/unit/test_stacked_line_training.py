"""Replicas of document 000 that train as stacks: the records of solo runs, resumed, out of memory, or wrong."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from line_epochs_helpers import config
from packed_helpers import corpus as make_corpus
from stacked_helpers import experiment, jobs_of, never, runner_of
from stacked_training_helpers import (
    checked_stack,
    halved_for_want_of_memory,
    held,
    in_pieces,
    leaves_the_records_of_solo_runs,
    records,
    refused,
    run_and_train,
    same_numbers,
    solo_of,
    too_far,
    trains_in_float64,
    unclipped,
    values,
)

from reprise.kernels.stacked_adam import StackedAdam
from reprise.kernels.stacked_lines import StackedLines
from reprise.kernels.stacked_symbols_back import StackedGradients
from reprise.training.loop import run_job
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


def solo(job, folder):
    return solo_of(job, folder, "packed")


def test_a_stack_leaves_the_records_of_solo_runs(corpus, tmp_path):
    jobs = jobs_of(unlike(corpus), tmp_path / "stack")
    leaves_the_records_of_solo_runs(jobs, solo, tmp_path / "stack", (6,))


def test_a_stack_of_large_batches_is_checked_in_room_that_holds_them(tmp_path):
    """Three batches are more predictions here than the lines of validation and test have."""
    path = make_corpus(tmp_path, count=400, folds=5)
    one = experiment("large", LINES, path, batch_size=64, max_epochs=1)
    jobs = jobs_of([one], tmp_path / "stack")
    checked_stack(jobs)
    assert jobs[0].output.exists()


def together(corpus):
    """Experiments that stop in the same epoch."""
    return [experiment("a", LINES, corpus, replicas=2), experiment("b", LINES, corpus, clip_norm=0.5)]


@pytest.mark.parametrize(("make", "to_the_bit"), [(together, True), (unlike, False)])
def test_a_stack_that_was_stopped_often_goes_on_to_the_same_numbers(make, to_the_bit, corpus, tmp_path):
    whole, jobs = jobs_of(make(corpus), tmp_path / "whole"), jobs_of(make(corpus), tmp_path / "pieces")
    runner_of([whole]).run(never)
    # A pass over validation or test lines that was interrupted begins again: some runs have to last longer.
    starts, states = in_pieces(jobs, lambda start: 2 + start * 2 % 5, most=90)
    places = {place_of(state) for state in states}
    assert {split for split, _ in places} == {"train", "valid", "test"}
    assert ("train", 2) in places
    same_numbers(jobs, whole, to_the_bit, starts)


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
        assert values(*records([job])) == pytest.approx(values(solo(job, tmp_path)), rel=1e-5)
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
    halved_for_want_of_memory(StackedLines, jobs_of(unlike(corpus)[:3], tmp_path), monkeypatch)


@pytest.mark.parametrize("wrong", ["gradient", "step", "clipping"])
def test_a_stack_that_computes_something_else_trains_nothing(wrong, corpus, tmp_path, monkeypatch):
    real_back, step = StackedGradients.through_softmax, StackedAdam.step

    def off(self, P, y, share):
        real_back(self, P, y, share * (1 + 1e-3))

    if wrong == "gradient":
        monkeypatch.setattr(StackedGradients, "through_softmax", off)
    else:
        monkeypatch.setattr(StackedAdam, "step", too_far(step) if wrong == "step" else unclipped(step))
    refused(jobs_of(unlike(corpus)[:2], tmp_path))


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
    one = replace(experiment("a", LINES, "data/corpora/c.npz", replicas=2, max_epochs=2), engine="stacked")
    for own, other in run_and_train(one, ("packed",), tmp_path, monkeypatch, corpus):
        held(own, other)


def test_float64_is_trained_in_float64(corpus, tmp_path):
    trains_in_float64(experiment("a", LINES, corpus, replicas=2), solo, tmp_path)
