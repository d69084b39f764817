"""Replicas of document 004 that train as stacks: the records of solo runs, resumed, out of memory, or wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from loglinear_helpers import make_corpus
from stacked_helpers import experiment, jobs_of, never, runner_of
from stacked_loglinear_training_helpers import LL, RNN, STREAMS, solo, unlike
from stacked_training_helpers import (
    halved_for_want_of_memory,
    held,
    leaves_the_records_of_solo_runs,
    records,
    refused,
    run_and_train,
    too_far,
    trains_in_float64,
    values,
)

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.kernels.stacked_loglinear import StackedLogLinear
from reprise.kernels.stacked_loglinear_ends import StackedInput, StackedOutput
from reprise.kernels.stacked_rmsprop import StackedRMSprop
from reprise.training.stack_plan import grouped, stack_key

pytestmark = pytest.mark.usefixtures("two_batches_a_piece")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("corpus"), sentences=60)


@pytest.mark.parametrize("base", [LL, RNN, STREAMS], ids=["ll", "rnn", "streams"])
def test_a_stack_leaves_the_records_of_solo_runs(base, corpus, tmp_path):
    jobs = jobs_of(unlike(corpus, base), tmp_path / "stack")
    leaves_the_records_of_solo_runs(jobs, solo, tmp_path / "stack", (6,))


def test_the_training_text_is_read_once_for_all_that_wait(corpus, tmp_path, monkeypatch):
    real, read = StackedLogLinear.enter, []

    def enter(self, text):
        read.append((self.R, len(text), text.number))
        real(self, text)

    monkeypatch.setattr(StackedLogLinear, "enter", enter)
    which = [experiment(f"e{n}", LL, corpus, max_epochs=n) for n in (1, 2, 3, 4)]
    jobs, said = jobs_of(which, tmp_path), []
    runner_of([jobs], said).run(never)
    assert [record["status"] for record in records(jobs)] == ["finished"] * 4
    # Training and reading of the training text have number 0, and the pairs have besides: 4 epochs, 3 ends.
    assert [R for R, _, number in read if number == 0] == [4, 4, 4, 4, 2, 2, 2, 1, 1, 1]
    assert [line.split(":")[0] for line in said if "finished after" in line] == [job.title for job in jobs]
    for own, job in zip(records(jobs), jobs, strict=True):
        assert values(own) == pytest.approx(values(solo(job, tmp_path)), rel=1e-5)


def test_out_of_memory_halves_the_stack_and_says_so(corpus, tmp_path, monkeypatch):
    halved_for_want_of_memory(StackedLogLinear, jobs_of(unlike(corpus)[:3], tmp_path), monkeypatch)


@pytest.mark.parametrize("wrong", ["gradient", "embedding", "step", "loss"])
def test_a_stack_that_computes_something_else_trains_nothing(wrong, corpus, tmp_path, monkeypatch):
    real_back, real_input, real_log_p = StackedOutput.backward, StackedInput.gradients, StackedOutput.log_p

    def off(self, h, weight, out):
        real_back(self, h, weight * (1 + 1e-3), out)

    def skewed(self, de):
        real_input(self, de)
        self.dE[:, -1].mul_(1 + 1e-2)

    def other(self, y):
        return real_log_p(self, y) * (1 + 1e-3)

    place, name, instead = {
        "gradient": (StackedOutput, "backward", off),
        "embedding": (StackedInput, "gradients", skewed),
        "step": (StackedRMSprop, "step", too_far(StackedRMSprop.step)),
        "loss": (StackedOutput, "log_p", other),
    }[wrong]
    monkeypatch.setattr(place, name, instead)
    refused(jobs_of(unlike(corpus)[:2], tmp_path))


def test_stacks_hold_what_has_the_same_shape(corpus):
    def changed(name, base=LL, **options):
        return experiment(name, base, corpus, **options)

    alike = [
        changed("a", replicas=2),
        changed("m", top_types=3),
        changed("none", background="none"),
        changed("train", features_from="train", background="train"),
        changed("tags", word_identity=False),
        changed("rates", learning_rate=0.1, rho=0.5, epsilon=1e-6, patience=9, max_epochs=7, sample_words=3),
    ]
    rnns = [changed("rnn", RNN), changed("rnn-b", RNN, background="corpus", top_types=0)]
    apart = [
        changed("input", input="one-hot"),
        changed("output", output="softmax"),
        changed("size", hidden_size=9),
        changed("batch", batch_size=32),
        changed("streams", scheme="streams"),
        replace(changed("other"), corpus="other.npz"),
    ]
    groups = grouped([*alike, *rnns, *apart], lambda e: e)
    assert [len(group) for group in groups] == [6, 2, *[1] * len(apart)]


def test_every_trained_experiment_of_the_paper_has_a_stack():
    found = [e for e in resolve_tier(load_project(ROOT), "paper") if e.paper == "llrnn" and not e.is_check]
    trained = [e for e in found if e.config["training"]["protocol"] == "windows"]
    assert len(trained) >= 9
    groups = [{e.base for e in group} for group in grouped(trained, lambda e: e) if len(group) > 1]
    assert any({"ll-m10", "ll-m2500", "c-no-background", "c-train-only", "c-no-identity"} <= group for group in groups)
    assert {"rnn", "c-baseline-log-b"} in groups
    assert all(stack_key(e) for e in trained)


def test_run_leaves_the_records_that_train_would(corpus, tmp_path, monkeypatch):
    one = replace(experiment("a", LL, "data/corpora/c.npz", replicas=2, max_epochs=2), engine="stacked")
    for own, other in run_and_train(one, ("hand",), tmp_path, monkeypatch, corpus):
        held(own, other)


def test_float64_is_trained_in_float64(corpus, tmp_path):
    trains_in_float64(experiment("a", LL, corpus, replicas=2), solo, tmp_path)
