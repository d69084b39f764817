"""Replicas on a book that train as stacks: the records of solo runs with their texts, resumed, halved, or wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from stacked_helpers import experiment, jobs_of, never, runner_of
from stacked_training_helpers import (
    halved_for_want_of_memory,
    held,
    in_pieces,
    leaves_the_records_of_solo_runs,
    records,
    refused,
    run_and_train,
    solo_of,
    too_far,
    trains_in_float64,
    unclipped,
)
from windows_helpers import config, make_corpus

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.kernels import stacked_books
from reprise.kernels.stacked_books import StackedBooks
from reprise.kernels.stacked_programs import Programs
from reprise.kernels.stacked_tensorflow_rmsprop import StackedTensorFlowRMSProp
from reprise.training import stack_books
from reprise.training.protocols.books_course import BookCourse
from reprise.training.stack_plan import grouped, stack_key
from reprise.training.stack_running import choose_precision

SHORT = config(batch_size=3, length=6, steps=21, sample_length=12, final_length=15, samples=2, sample_every=8)
# Losses are kept to six digits, and texts by what the last of them decide.
LEAST = 2e-6


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch):
    """Several pieces of work in each round, and rounds that end before a text is due."""
    monkeypatch.setattr(stack_books, "ROUND", 5)
    monkeypatch.setattr(stack_books, "_SPAN", 2)


def unlike(corpus):
    """Experiments of one stack that stop at different steps, write at different ones; the last one diverges."""
    return [
        experiment("two", SHORT, corpus, replicas=2),
        experiment("carried", SHORT, corpus, window_state="carried", mean_square_start="zero", log_every=3),
        experiment("long", SHORT, corpus, replicas=2, steps=34, sample_every=7, clip_norm=0.1, temperature=0.5),
        experiment("diverges", SHORT, corpus, learning_rate=1e30),
    ]


def solo(job, folder):
    return solo_of(job, folder, "layerwise")


def test_a_stack_leaves_the_records_of_solo_runs(corpus, tmp_path):
    jobs = jobs_of(unlike(corpus), tmp_path / "stack")
    said = leaves_the_records_of_solo_runs(jobs, solo, tmp_path / "stack", (2, 6), LEAST)
    assert {s["step"] for s in records(jobs)[0]["samples"] if s["kind"] == "start"} == {0, 8, 16}
    assert any("finished after 34 steps" in line for line in said)
    assert any("5 in training; loss" in line for line in said)


def together(corpus):
    """Experiments that stop at the same step."""
    return [experiment("a", SHORT, corpus, replicas=2), experiment("b", SHORT, corpus, window_state="carried")]


@pytest.mark.parametrize(("make", "to_the_bit"), [(together, True), (unlike, False)])
def test_a_stack_that_was_stopped_often_goes_on_to_the_same_numbers(make, to_the_bit, corpus, tmp_path):
    whole, jobs = jobs_of(make(corpus), tmp_path / "whole"), jobs_of(make(corpus), tmp_path / "pieces")
    runner_of([whole]).run(never)
    _, states = in_pieces(jobs, lambda start: 2 + start % 4, most=60)
    assert len({state["training"]["step"] for state in states}) > 4
    for own, exact in zip(records(jobs), records(whole), strict=True):
        held(own, exact, rel=0 if to_the_bit else 1e-5, least=LEAST)
        assert own["run"]["resumed"] > 0 or own["status"] == "diverged"


def test_texts_are_written_while_the_device_goes_on(corpus, tmp_path, monkeypatch):
    # As on a device that takes its time: two pieces of work lie before it whenever somebody looks.
    order, real = [], BookCourse.look
    trained = StackedBooks.train
    monkeypatch.setattr(Programs, "pending", property(lambda self: self.__dict__.get("given", 0)))

    def train(self, steps, first):
        order.append("train")
        trained(self, steps, first)
        self.programs.given = self.programs.__dict__.get("given", 0) + 1

    def look(self, parameters):
        order.append("look")
        real(self, parameters)

    def results(self, count, real=StackedBooks.results):
        self.programs.given = 0
        return real(self, count)

    monkeypatch.setattr(StackedBooks, "train", train)
    monkeypatch.setattr(StackedBooks, "results", results)
    monkeypatch.setattr(BookCourse, "look", look)
    job = jobs_of([experiment("a", SHORT, corpus)], tmp_path)[0]
    turns = iter(range(2000))
    # A device that never comes further: pieces that it has are taken away one a turn.
    monkeypatch.setattr(
        stack_books.StackSteps, "ready", property(lambda self: self.unseen or next(turns) % 2 == 0 or self._waits)
    )
    runner_of([[job]]).run(never)
    held(*records([job]), solo(job, tmp_path), least=LEAST)
    # The first text is due after one step; two more pieces of work are handed over before it is written.
    assert order[:4] == ["train", "train", "train", "look"]


def test_out_of_memory_halves_the_stack_and_says_so(corpus, tmp_path, monkeypatch):
    halved_for_want_of_memory(StackedBooks, jobs_of(unlike(corpus)[:3], tmp_path), monkeypatch)


@pytest.mark.parametrize("wrong", ["gradient", "step", "clipping", "windows"])
def test_a_stack_that_computes_something_else_trains_nothing(wrong, corpus, tmp_path, monkeypatch):
    softmax, step = StackedBooks._through_softmax, StackedTensorFlowRMSProp.step

    def off(self, y):
        return softmax(self, y).mul_(1 + 2e-3)

    changed, name, change = {
        "gradient": (StackedBooks, "_through_softmax", off),
        "step": (StackedTensorFlowRMSProp, "step", too_far(step, 2e-3)),
        "clipping": (StackedTensorFlowRMSProp, "step", unclipped(step)),
        "windows": (stacked_books, "uniform32_of", lambda z: z.bitwise_and_(2**32 - 1)),
    }[wrong]
    monkeypatch.setattr(changed, name, change)
    refused(jobs_of(unlike(corpus)[:3], tmp_path))


def test_stacks_hold_what_has_the_same_shape(corpus):
    apart = [
        experiment("tanh", SHORT, corpus, activation="tanh"),
        experiment("h", SHORT, corpus, hidden_size=9),
        experiment("t", SHORT, corpus, length=9),
        replace(experiment("other", SHORT, corpus), corpus="other.npz"),
    ]
    assert [len(group) for group in grouped([*unlike(corpus), *apart], lambda e: e)] == [4, 1, 1, 1, 1]


def test_the_papers_experiments_on_one_book_share_a_stack():
    project = load_project(Path(__file__).parents[2], {"papers": ["books"]})
    trained = [e for e in resolve_tier(project, "paper") if not e.is_check]
    groups = [sorted(e.experiment for e in group) for group in grouped(trained, lambda e: e)]
    assert all(stack_key(e) is not None for e in trained)
    assert ["quijote"] in groups
    assert any({"grimm", "grimm@window-state=carried"} <= set(group) for group in groups)
    assert len(groups) == 3  # grimm's variant with another activation is by itself


def test_run_leaves_the_records_that_train_would(corpus, tmp_path, monkeypatch):
    one = replace(experiment("a", SHORT, "data/corpora/c.npz", replicas=2), engine="stacked")
    for own, other in run_and_train(one, ("layerwise",), tmp_path, monkeypatch, corpus):
        held(own, other, least=LEAST)


def test_float64_is_trained_in_float64(corpus, tmp_path):
    trains_in_float64(experiment("a", SHORT, corpus, replicas=2), solo, tmp_path, rel=1e-9, least=LEAST)
    choose_precision("float32", torch.device("cpu"))
