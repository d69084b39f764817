"""The benchmark of document 004: every implementation computes the readable model's update, and is timed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from compiler_helpers import needs_compiler

from reprise import cli
from reprise.bench import BENCHES, llrnn, worker
from reprise.bench.llrnn_task import CHECKED, WINDOW, Workload, read_task
from reprise.bench.run import disagreement, log_perplexity_error
from reprise.data.corpus import Corpus, Split
from reprise.engines import build

TINY = {
    "ll": Workload("ll", batch=5, top=20, vocabulary=120, tags=9, size=12),
    "rnn": Workload("rnn", batch=4, top=0, vocabulary=60, tags=9, size=12),
}
OF_SOFTMAX = ("softmax",)
PEERS = ("sparse", "dense", *OF_SOFTMAX)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, where what was compiled before is found."""
    monkeypatch.setenv("REPRISE_BUILD", str(build.library("loglinear").parent))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(worker, "WARM_SECONDS", 0.0)
    return tmp_path


def test_flops_are_those_of_the_dense_products():
    lstm = 8 * 2 * 4 * 256 * (256 + 256)
    assert llrnn.WORKLOADS[0].flops_a_token == 6 * (lstm + 256 * 2573)
    assert llrnn.WORKLOADS[2].flops_a_token == 6 * (lstm + 256 * 42_598)


def test_every_goal_is_about_something_that_is_measured():
    names = {(w.name, i) for w in llrnn.WORKLOADS for i in BENCHES["llrnn"].implementations}
    assert {place for goal in llrnn.GOALS for place in (goal.of, goal.over) if place} <= names


def test_a_task_is_read_as_it_was_written(tmp_path):
    task, facts = llrnn.make_task(TINY["ll"], tmp_path, batches=4)
    again = read_task(tmp_path)
    assert again.workload == task.workload
    assert (len(again), again.x.shape, again.tokens(1, 3)) == (4, (4, WINDOW, 5), 10)
    assert again.rates == {"learning_rate": 0.001, "rho": 0.9, "epsilon": 1e-8}
    for name in ("y", "counts", "tag_indptr", "tag_indices"):
        assert np.array_equal(getattr(again, name), getattr(task, name))
    assert all(np.array_equal(again.weights[name], value) for name, value in task.weights.items())
    assert facts["text"].startswith("random words")
    assert facts["parameters"] == 30 * 12 + 2 * 4 * 12 * 25 + 30 * 13


def test_a_prepared_treebank_of_the_right_size_is_read_and_named(tmp_path):
    workload, tokens = TINY["ll"], np.arange(120, dtype=np.int32)
    splits = {"train": Split(tokens, np.array([0, 120]))}
    indptr, counts = np.arange(121), np.arange(121, 1, -1)
    extra = {"corpus_counts": counts, "tag_indptr": indptr, "tag_indices": (np.arange(120) % 9).astype(np.int32)}
    tags = {"tags": [f"t{i}" for i in range(9)]}
    made = Corpus("c", splits, [f"w{i}" for i in range(120)], counts, tags, extra=extra)
    made.save(tmp_path / "ud-french-gsd-x.npz")
    task, facts = llrnn.make_task(workload, tmp_path, 3, tmp_path)
    assert facts["text"].endswith("ud-french-gsd-x.npz")
    assert np.array_equal(task.x[:, -1] + 1, task.y)
    assert np.array_equal(task.counts, counts)


@needs_compiler
@pytest.mark.parametrize("name", ["fused", "hand"])
def test_a_timed_engine_that_is_off_in_its_log_perplexity_is_refused(name, folder, monkeypatch):
    task, _ = llrnn.make_task(TINY["ll"], folder, CHECKED)
    expected = llrnn.expected(task)
    _, facts = worker.prepared("llrnn", name, folder)
    assert log_perplexity_error(expected, facts) < 1e-6
    assert disagreement(expected, facts | {"log_perplexity": facts["log_perplexity"] + 2e-6}).endswith(
        "more than 1e-06"
    )
    assert disagreement(expected, facts | {"log_perplexity": float("nan")})
    engine = type(worker.prepared("llrnn", name, folder)[0].implementation.kernel)
    original = engine.evaluate
    monkeypatch.setattr(engine, "evaluate", lambda self, x, y: original(self, x, y) + 0.01)
    wrong = worker.prepared("llrnn", name, folder)[1]
    assert disagreement(expected, wrong).startswith("the log-perplexity is off by 0.002 nats")


def test_what_a_user_would_write_is_not_held_to_that(folder):
    """Its mean is summed in float32, which resolves no 1e-6 of ten nats."""
    task, _ = llrnn.make_task(TINY["ll"], folder, CHECKED)
    assert log_perplexity_error(llrnn.expected(task), worker.prepared("llrnn", "dense", folder)[1]) is None


@needs_compiler
@pytest.mark.parametrize("name", BENCHES["llrnn"].implementations)
@pytest.mark.parametrize("workload", TINY.values(), ids=TINY)
def test_implementations_make_the_same_update(name, workload, folder):
    task, _ = llrnn.make_task(workload, folder, CHECKED)
    if name in PEERS and (name in OF_SOFTMAX) != (workload.top == 0):
        with pytest.raises(NotImplementedError):
            worker.prepared("llrnn", name, folder)
        return
    expected = llrnn.expected(task)
    stream, facts = worker.prepared("llrnn", name, folder)
    assert disagreement(expected, facts) is None
    assert all(norm > 0 for norm in facts["update_norms"].values())
    assert stream.timed(2)["tokens"] == 2 * workload.batch


@needs_compiler
def test_the_command_writes_its_rows(folder, monkeypatch, capsys):
    monkeypatch.setattr(llrnn, "WORKLOADS", (TINY["ll"],))
    arguments = ["bench", "llrnn", "--budget", "0.2", "--only", "ll/fused", "--json", "bench.json"]
    assert cli.main(arguments) == 0
    result = json.loads((folder / "bench.json").read_text())
    (row,) = result["rows"]
    assert row["median"] > 0
    assert row["log_perplexity_error"] < 1e-6
    assert "fused: the same update, log-perplexity within" in capsys.readouterr().err
