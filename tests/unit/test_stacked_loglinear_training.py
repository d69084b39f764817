"""Replicas of document 004 that train as stacks: the records of solo runs, resumed, out of memory, or wrong."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from loglinear_helpers import make_corpus
from stacked_helpers import experiment, jobs_of, never, runner_of
from stacked_loglinear_training_helpers import LL, RNN, STREAMS, records, solo_of, unlike, values

from reprise import cli
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.kernels.stacked_loglinear import StackedLogLinear
from reprise.kernels.stacked_loglinear_ends import StackedInput, StackedOutput
from reprise.kernels.stacked_rmsprop import StackedRMSprop
from reprise.training import stack_window_epochs
from reprise.training.record import read_record
from reprise.training.stack_plan import grouped, stack_key

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Several pieces of work in so small texts."""
    monkeypatch.setattr(stack_window_epochs, "_PIECE", 2)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("corpus"), sentences=60)


@pytest.mark.parametrize("base", [LL, RNN, STREAMS], ids=["ll", "rnn", "streams"])
def test_a_stack_leaves_the_records_of_solo_runs(base, corpus, tmp_path):
    jobs, said = jobs_of(unlike(corpus, base), tmp_path / "stack"), []
    runner = runner_of([jobs], said, checked=True)
    runner.run(never)
    assert (runner.failed, runner.unfinished) == ([], []), said
    for own, job in zip(records(jobs), jobs, strict=True):
        solo = solo_of(job, tmp_path)
        assert len(own["metrics"]) == len(solo["metrics"])
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
        assert values(own) == pytest.approx(values(solo_of(job, tmp_path)), rel=1e-5)


def test_out_of_memory_halves_the_stack_and_says_so(corpus, tmp_path, monkeypatch):
    real = StackedLogLinear.__init__

    def small(self, models, *rest, **options):
        if len(models) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        real(self, models, *rest, **options)

    monkeypatch.setattr(StackedLogLinear, "__init__", small)
    jobs, said = jobs_of(unlike(corpus)[:3], tmp_path), []
    runner_of([jobs], said).run(never)
    assert all(record["status"] == "finished" for record in records(jobs))
    assert any("two stacks of 3 and 2 instead" in line for line in said)


@pytest.mark.parametrize("wrong", ["gradient", "embedding", "step", "loss"])
def test_a_stack_that_computes_something_else_trains_nothing(wrong, corpus, tmp_path, monkeypatch):
    real_back, real_step = StackedOutput.backward, StackedRMSprop.step
    real_input, real_log_p = StackedInput.gradients, StackedOutput.log_p

    def off(self, h, weight, out):
        real_back(self, h, weight * (1 + 1e-3), out)

    def skewed(self, de):
        real_input(self, de)
        self.dE[:, -1].mul_(1 + 1e-2)

    def too_far(self):
        before = self.values.clone()
        real_step(self)
        self.values.add_(self.values - before, alpha=1e-3)

    def other(self, y):
        return real_log_p(self, y) * (1 + 1e-3)

    place, name, instead = {
        "gradient": (StackedOutput, "backward", off),
        "embedding": (StackedInput, "gradients", skewed),
        "step": (StackedRMSprop, "step", too_far),
        "loss": (StackedOutput, "log_p", other),
    }[wrong]
    monkeypatch.setattr(place, name, instead)
    jobs, said = jobs_of(unlike(corpus)[:2], tmp_path), []
    runner = runner_of([jobs], said, checked=True)
    runner.run(never)
    assert runner.failed == jobs
    assert "StackDisagrees" in said[-1]
    assert not any(job.output.exists() for job in jobs)


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
    monkeypatch.chdir(tmp_path)
    Path("corpora").mkdir()
    Path("corpora/c.npz").write_bytes(corpus.read_bytes())
    one = replace(experiment("a", LL, "data/corpora/c.npz", replicas=2, max_epochs=2), engine="stacked")
    Path(one.config_path()).parent.mkdir(parents=True)
    Path(one.config_path()).write_text(one.to_json(), encoding="utf-8")
    assert cli.main(["run", "--tier", "quick", "--corpora", "corpora", "--output", "out", "--device", "cpu"]) == 0
    for replica in range(2):
        arguments = ["train", "p/a", "--replica", str(replica), "--config", one.config_path()]
        arguments += ["--corpus", "corpora/c.npz", "--engine", "hand", "--output", f"{replica}.json"]
        assert cli.main(arguments) == 0
        found, solo = (
            read_record(path, one) for path in (Path("out", one.record_path(replica)), Path(f"{replica}.json"))
        )
        assert found["run"]["stack_replicas"] == 2
        assert values(found) == pytest.approx(values(solo), rel=1e-5)
        assert found["samples"] == solo["samples"]


def test_float64_is_trained_in_float64(corpus, tmp_path):
    double = copy.deepcopy(LL) | {"precision": "float64"}
    jobs = jobs_of([experiment("a", double, corpus, replicas=2)], tmp_path)
    runner_of([jobs], checked=True).run(never)
    for job in jobs:
        assert values(read_record(job.output, job.resolved)) == pytest.approx(values(solo_of(job, tmp_path)), rel=1e-11)
