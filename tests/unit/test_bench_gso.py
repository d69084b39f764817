"""The benchmark of document 000's networks: every implementation computes the readable model's update, and is timed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler
from project import COMPILED

from reprise import cli
from reprise.bench import BENCHES, gso, worker
from reprise.bench.gso_lines import lines_for
from reprise.bench.gso_task import BATCH, NOTHING, Workload, read_task
from reprise.bench.process import ENVIRONMENT
from reprise.bench.run import disagreement
from reprise.bench.task import checked
from reprise.data.corpus import Corpus

TINY = {
    "full": Workload("full", "gso", 7, second_order=5, first_order=True, length=9, indexing=True),
    "none": Workload("none", "gso", 6, second_order=8),
    "first-order": Workload("first-order", "first-order", 6),
    "mi-rnn": Workload("mi-rnn", "mi-rnn", 6),
    "bigrams": Workload("bigrams", "gso", 24, second_order=30, tokens="bigrams", length=12),
}
IMPLEMENTATIONS = BENCHES["gso"].implementations
IN_TORCH = [
    pytest.param(name, marks=needs_compiler) if name == "fused" else name for name in IMPLEMENTATIONS if name != "jax"
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Without prepared corpora, with the engines that are compiled already."""
    if "REPRISE_BUILD" not in os.environ:
        monkeypatch.setenv("REPRISE_BUILD", str(COMPILED))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    monkeypatch.setattr(worker, "WARM_SECONDS", 0.0)
    return tmp_path


def test_flops_are_those_of_the_dense_products():
    assert TINY["full"].flops_a_token == 6 * (3 * 7 * 5 + 7 * (7 - 5) + 7 * 27)
    assert TINY["mi-rnn"].flops_a_token == 6 * (36 + 6 * 27)
    assert gso.WORKLOADS[0].flops_a_token == 6 * (3 * 394**2 + 394 * 27)


def test_every_goal_is_about_something_that_is_measured():
    names = {(w.name, i) for w in gso.WORKLOADS for i in IMPLEMENTATIONS}
    assert {place for goal in gso.GOALS for place in (goal.of, goal.over) if place} <= names


def test_a_task_is_read_as_it_was_written(folder):
    task, facts = gso.make_task(TINY["none"], folder, batches=2)
    again = read_task(folder)
    assert (again.workload, len(again), again.block) == (task.workload, 2, 2)
    assert all(np.array_equal(again.weights[name], value) for name, value in task.weights.items())
    inputs, targets = again.padded(1)
    assert (targets != NOTHING).sum() == again.tokens(1, 2)
    line = again.lines.tokens[slice(*again.lines.offsets[BATCH + 3 : BATCH + 5])]
    assert inputs[: len(line) - 1, 3].tolist() == line[:-1].tolist()
    assert targets[: len(line) - 1, 3].tolist() == line[1:].tolist()
    cells = sum(again.padded(i).inputs.size for i in range(2))
    assert facts["padded_efficiency"] == pytest.approx(again.tokens(0, 2) / cells, abs=1e-4)
    assert facts["text"].startswith("random lines of a Weibull law")


def test_random_lines_are_like_the_real_ones(tmp_path):
    corpus, _ = lines_for(TINY["none"], 60, tmp_path)
    lengths = np.diff(corpus.splits["lines"].offsets)
    assert np.mean(lengths) == pytest.approx(114.7, rel=0.03)
    assert np.median(lengths) == pytest.approx(109, rel=0.03)
    batches = lengths[: 60 * BATCH].reshape(60, BATCH) - 1
    assert batches.sum() / (batches.max(1) * BATCH).sum() == pytest.approx(0.412, abs=0.03)
    part = corpus.extra["part"][0]
    assert [(part == number).sum() for number in range(3)] == [60 * BATCH, 60 * BATCH // 9, 1]


def test_lines_of_the_prepared_corpus_are_read_and_named(tmp_path):
    whole, _ = lines_for(TINY["none"], 1, tmp_path)
    for name, symbols in (("wsj-characters-b.npz", 27), ("wsj-characters-a.npz", 26)):
        vocabulary, counts = [f"s{i}" for i in range(symbols)], np.zeros(symbols, np.int64)
        whole.splits["lines"].tokens[:] %= 26
        Corpus("wsj-characters", whole.splits, vocabulary, counts).save(tmp_path / name)
    found, origin = lines_for(TINY["none"], 2, tmp_path)
    assert "wsj-characters-b.npz" in origin
    texts = [split_lines(corpus.splits["lines"]) for corpus in (found, whole)]
    assert set(texts[0]) == set(texts[1])
    cut, _ = lines_for(TINY["full"], 1, tmp_path)
    assert set(np.diff(cut.splits["lines"].offsets)) == {10}


def split_lines(split):
    return [tuple(split.tokens[a:b].tolist()) for a, b in zip(split.offsets[:-1], split.offsets[1:], strict=True)]


@pytest.mark.parametrize("name", IN_TORCH)
@pytest.mark.parametrize("workload", TINY.values(), ids=TINY)
def test_implementations_make_the_same_update(name, workload, folder):
    task, _ = gso.make_task(workload, folder, 1)
    if (name == "library") > (workload.model == "first-order") or (name == "eager-indexing") > workload.indexing:
        with pytest.raises(NotImplementedError):
            worker.prepared("gso", name, folder)
        return
    expected = gso.expected(task)
    stream, facts = worker.prepared("gso", name, folder)
    assert disagreement(expected, facts) is None
    assert all(norm > 0 for norm in facts["update_norms"].values())
    assert stream.timed(1)["tokens"] == task.tokens(0, 1)


def test_a_wrong_gradient_is_found(folder):
    task, _ = gso.make_task(TINY["none"], folder, 2)
    expected = gso.expected(task)
    for parameter in expected["update_norms"]:
        norms = expected["update_norms"] | {parameter: 1.01 * expected["update_norms"][parameter]}
        assert parameter in disagreement(expected, {"loss": expected["loss"], "update_norms": norms})
    # twice the gradient of one matrix gives nearly twice its update, though Adam divides by the gradient's size
    engine = gso.Engine(task, "packed")
    train = engine.kernel.train

    def doubled(batch, reduction):
        loss = train(batch, reduction)
        engine.model.A.grad *= 2
        return loss

    engine.kernel.train = doubled
    found = checked(task, engine)
    assert found["update_norms"]["A"] == pytest.approx(2 * expected["update_norms"]["A"], rel=0.05)
    assert disagreement(expected, found)


TRAIN_IN_JAX = """
import json, sys
from pathlib import Path
from reprise.bench import worker
worker.WARM_SECONDS = 0.0
for folder in map(Path, sys.argv[1:]):
    _, facts = worker.prepared("gso", "jax", folder)
    (folder / "facts.json").write_text(json.dumps(facts))
assert "torch" not in sys.modules
"""


def test_jax_makes_the_same_update_without_torch(folder):
    if find_spec("jax") is None:
        pytest.skip("JAX is not installed (pip install 'reprise[bench]')")
    expected = {}
    for workload in (TINY["full"], *(replace(TINY[name], length=9) for name in ("first-order", "mi-rnn"))):
        place = folder / workload.name
        place.mkdir()
        expected[place] = gso.expected(gso.make_task(workload, place, 2)[0])
    subprocess.run([sys.executable, "-c", TRAIN_IN_JAX, *map(str, expected)], env=os.environ | ENVIRONMENT, check=True)
    for place, wanted in expected.items():
        assert disagreement(wanted, json.loads((place / "facts.json").read_text())) is None


@needs_compiler
def test_the_command_writes_its_rows(folder, monkeypatch, capsys):
    monkeypatch.setattr(gso, "WORKLOADS", (TINY["none"],))
    assert cli.main(["bench", "gso", "--only", "none/epoch", "--budget", "0.2", "--json", "bench.json"]) == 0
    result = json.loads((folder / "bench.json").read_text())
    assert result["workloads"][0]["hidden"] == 6
    (row,) = result["rows"]
    assert (row["implementation"], row["note"]) == ("epoch", None)
    assert row["share_of_peak"] == pytest.approx(
        row["median"] * TINY["none"].flops_a_token / result["peak_gflops"] / 1e9
    )
    assert "goal " in capsys.readouterr().out
