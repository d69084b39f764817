"""Replicas on a book that train as stacks: the records of solo runs with their texts, resumed, halved, or wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from stacked_helpers import experiment, jobs_of, never, runner_of
from windows_helpers import config, make_corpus

from reprise import cli
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.kernels import stacked_books
from reprise.kernels.stacked_books import StackedBooks
from reprise.kernels.stacked_programs import Programs
from reprise.kernels.stacked_tensorflow_rmsprop import StackedTensorFlowRMSProp
from reprise.training import stack_books
from reprise.training.book_course import BookCourse
from reprise.training.loop import run_job
from reprise.training.record import read_record
from reprise.training.stack_member import saved_state
from reprise.training.stack_plan import grouped, stack_key
from reprise.training.stack_running import choose_precision

KEYS = ("config", "config_hash", "parameters", "status", "replica", "seed", "fold", "diverged", "paper")
SHORT = config(batch_size=3, length=6, steps=21, sample_length=12, final_length=15, samples=2, sample_every=8)


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


def records(found):
    return [read_record(job.output, job.resolved) for job in found]


def solo(job, folder):
    record = run_job(replace(job, root=folder / "solo", output=folder / "solo.json", engine="layerwise"))
    (folder / "solo.json").unlink()
    return record


def held(own, exact, rel=1e-5):
    # Losses are kept to six digits, and texts by what the last of them decide.
    for metric, other in zip(own["metrics"], exact["metrics"], strict=True):
        assert metric == other | {"value": pytest.approx(other["value"], rel=rel, abs=2e-6)}
    for curve, other in zip(own["curves"], exact["curves"], strict=True):
        assert curve == other | {"y": pytest.approx(other["y"], rel=rel, abs=2e-6)}
    assert own["samples"] == exact["samples"]
    assert own.keys() == exact.keys()
    for key in KEYS:
        assert own[key] == exact[key]


def test_a_stack_leaves_the_records_of_solo_runs(corpus, tmp_path):
    found, said = jobs_of(unlike(corpus), tmp_path / "stack"), []
    runner = runner_of([found], said, checked=True)
    runner.run(never)
    assert (runner.failed, runner.unfinished) == ([], []), said
    for own, job in zip(records(found), found, strict=True):
        held(own, solo(job, tmp_path))
        assert own["run"]["engine"] == "stacked"
    assert [record["status"] for record in records(found)] == ["finished"] * 5 + ["diverged"]
    assert {s["step"] for s in records(found)[0]["samples"] if s["kind"] == "start"} == {0, 8, 16}
    assert any("4 of 6 have stopped: a stack of 2 goes on" in line for line in said)
    assert any("finished after 34 steps" in line for line in said)
    assert any("5 in training; loss" in line for line in said)
    assert not list((tmp_path / "stack").rglob("*.stacked*"))


def together(corpus):
    """Experiments that stop at the same step."""
    return [experiment("a", SHORT, corpus, replicas=2), experiment("b", SHORT, corpus, window_state="carried")]


@pytest.mark.parametrize(("make", "to_the_bit"), [(together, True), (unlike, False)])
def test_a_stack_that_was_stopped_often_goes_on_to_the_same_numbers(make, to_the_bit, corpus, tmp_path):
    whole, found = jobs_of(make(corpus), tmp_path / "whole"), jobs_of(make(corpus), tmp_path / "pieces")
    runner_of([whole]).run(never)
    stops, steps = 0, set()
    while not all(job.output.exists() for job in found):
        assert stops < 60
        turns, limit = iter(range(100)), 1 + stops % 4
        runner_of([found]).run(lambda turns=turns, limit=limit: "SIGTERM" if next(turns) > limit else "")
        states = [saved_state(job, print)[1] for job in found if not job.output.exists()]
        steps |= {state["training"]["step"] for state in states if state}
        stops += 1
    assert len(steps) > 4
    for own, exact in zip(records(found), records(whole), strict=True):
        held(own, exact, rel=0 if to_the_bit else 1e-5)
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
    held(records([job])[0], solo(job, tmp_path))
    # The first text is due after one step; two more pieces of work are handed over before it is written.
    assert order[:4] == ["train", "train", "train", "look"]


def test_out_of_memory_halves_the_stack_and_says_so(corpus, tmp_path, monkeypatch):
    real = StackedBooks.__init__

    def small(self, models, *rest, **options):
        if len(models) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        real(self, models, *rest, **options)

    monkeypatch.setattr(StackedBooks, "__init__", small)
    found, said = jobs_of(unlike(corpus)[:3], tmp_path), []
    runner_of([found], said).run(never)
    assert all(record["status"] == "finished" for record in records(found))
    assert any("two stacks of 3 and 2 instead" in line for line in said)


@pytest.mark.parametrize("wrong", ["gradient", "step", "clipping", "windows"])
def test_a_stack_that_computes_something_else_trains_nothing(wrong, corpus, tmp_path, monkeypatch):
    softmax, step = StackedBooks._through_softmax, StackedTensorFlowRMSProp.step

    def off(self, y):
        return softmax(self, y).mul_(1 + 2e-3)

    def too_far(self):
        before = self.values.clone()
        step(self)
        self.values.add_(self.values - before, alpha=2e-3)

    def unclipped(self):
        self.clips.fill_(1e9)
        step(self)

    changed, name, change = {
        "gradient": (StackedBooks, "_through_softmax", off),
        "step": (StackedTensorFlowRMSProp, "step", too_far),
        "clipping": (StackedTensorFlowRMSProp, "step", unclipped),
        "windows": (stacked_books, "uniform32_of", lambda z: z.bitwise_and_(2**32 - 1)),
    }[wrong]
    monkeypatch.setattr(changed, name, change)
    found, said = jobs_of(unlike(corpus)[:3], tmp_path), []
    runner = runner_of([found], said, checked=True)
    runner.run(never)
    assert runner.failed == found
    assert "StackDisagrees" in said[-1]
    assert not any(job.output.exists() for job in found)


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
    monkeypatch.chdir(tmp_path)
    Path("corpora").mkdir()
    Path("corpora/c.npz").write_bytes(corpus.read_bytes())
    one = replace(experiment("a", SHORT, "data/corpora/c.npz", replicas=2), engine="stacked")
    Path(one.config_path()).parent.mkdir(parents=True)
    Path(one.config_path()).write_text(one.to_json(), encoding="utf-8")
    assert cli.main(["run", "--tier", "quick", "--corpora", "corpora", "--output", "out", "--device", "cpu"]) == 0
    for replica in range(2):
        arguments = ["train", "p/a", "--replica", str(replica), "--config", one.config_path()]
        arguments += ["--corpus", "corpora/c.npz", "--engine", "layerwise", "--output", f"{replica}.json"]
        assert cli.main(arguments) == 0
        found, exact = (
            read_record(path, one) for path in (Path("out", one.record_path(replica)), Path(f"{replica}.json"))
        )
        assert found["run"]["stack_replicas"] == 2
        held(found, exact)


def test_float64_is_trained_in_float64(corpus, tmp_path):
    double = replace(experiment("a", SHORT, corpus, replicas=2), config=SHORT | {"precision": "float64"})
    found = jobs_of([double], tmp_path)
    runner_of([found], checked=True).run(never)
    for own, job in zip(records(found), found, strict=True):
        held(own, solo(job, tmp_path), rel=1e-9)
    choose_precision("float32", torch.device("cpu"))
