"""Stacks of log-linear RNNs that stop: at a signal, to go on from there, and one by one as their losses tell."""

from __future__ import annotations

import pytest
from loglinear_helpers import make_corpus
from stacked_helpers import experiment, jobs_of, never, runner_of
from stacked_loglinear_training_helpers import LL, STREAMS, solo, together, unlike
from stacked_training_helpers import in_pieces, records, same_numbers, values

from reprise.kernels.stacked_loglinear import StackedLogLinear
from reprise.training import stack_window_texts
from reprise.training.protocols import loglinear_text as window_text
from reprise.training.protocols.loglinear_course import END
from reprise.training.stack_member import saved_state
from reprise.training.stack_training import place_of

pytestmark = pytest.mark.usefixtures("two_batches_a_piece")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("corpus"), sentences=60)


@pytest.mark.parametrize(
    ("make", "base", "to_the_bit"),
    [(together, LL, True), (together, STREAMS, True), (unlike, LL, False)],
    ids=["together", "streams", "unlike"],
)
def test_a_stack_that_was_stopped_often_goes_on_to_the_same_numbers(
    make, base, to_the_bit, corpus, tmp_path, monkeypatch
):
    for module in (stack_window_texts, window_text) if base is STREAMS else ():
        monkeypatch.setattr(module, "READING", 16)
    whole, jobs = jobs_of(make(corpus, base), tmp_path / "whole"), jobs_of(make(corpus, base), tmp_path / "pieces")
    runner_of([whole]).run(never)
    starts, states = in_pieces(jobs, lambda start: 3 + start * 3 % 11, most=90)
    places = {place_of(state) for state in states}
    assert {split for split, _ in places} & set(END)
    assert any(split == "train" and place for split, place in places)
    same_numbers(jobs, whole, to_the_bit, starts)


def test_who_waits_is_saved_as_one_that_has_stopped(corpus, tmp_path):
    which = [experiment("short", LL, corpus, max_epochs=1), experiment("long", LL, corpus, replicas=2)]
    jobs, said = jobs_of(which, tmp_path), []
    runner = runner_of([jobs], said)
    runner.run(
        lambda: "SIGTERM" if any("epoch 1 in" in line for line in said) and runner.running[0].epochs.next else ""
    )
    states = [saved_state(job, print)[1] for job in jobs]
    assert [state["training"]["epoch"] for state in states] == [1, 1, 1]
    assert [place_of(state) for state in states] == [(END[0], 0), ("train", 2), ("train", 2)]
    runner_of([jobs]).run(never)
    for own, job in zip(records(jobs), jobs, strict=True):
        assert values(own) == pytest.approx(values(solo(job, tmp_path)), rel=1e-5)


def test_a_replica_stops_three_epochs_after_its_best(corpus, tmp_path, monkeypatch):
    real, valid = StackedLogLinear.batch_losses, [[5.0, 4.0, 4.2, 4.0, 4.1], [5.0, 4.9, 4.8, 4.7, 4.6, 4.5, 4.4]]
    jobs = jobs_of([experiment("a", LL, corpus, replicas=2, max_epochs=7)], tmp_path)
    closed = [0]

    def losses(self, first, last):
        found = real(self, first, last)
        if last != self.losses.shape[0]:
            return found  # of the training text, with the last weights
        counts = self.texts.text.counts
        for own, course in zip(found, valid[-self.R :], strict=True):
            begin, pieces = self.texts.number("valid"), self.texts.pieces["valid"]
            epoch = min(closed[0], len(course) - 1)
            own[begin : begin + pieces] = [course[epoch] * counts["valid"]] + [0.0] * (pieces - 1)
        closed[0] += 1
        return found

    real_build = stack_window_texts.StackWindowTexts.__init__

    def remember(self, corpus, text):
        real_build(self, corpus, text)
        StackedLogLinear.texts = self

    monkeypatch.setattr(stack_window_texts.StackWindowTexts, "__init__", remember)
    monkeypatch.setattr(StackedLogLinear, "batch_losses", losses)
    monkeypatch.setattr(StackedLogLinear, "texts", None, raising=False)
    runner_of([jobs]).run(never)
    found = [values(record) for record in records(jobs)]
    assert [(one["train", "epochs"], one["valid", "best_epoch"]) for one in found] == [(5, 2), (7, 7)]
    assert [one["valid", "cross_entropy"] for one in found] == pytest.approx([4.1, 4.4])
    assert found[0]["valid", "cross_entropy_best"] == pytest.approx(4.0)
