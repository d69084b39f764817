"""`bench gpu` where there is no GPU, and what it counts."""

from __future__ import annotations

import json

import pytest
import torch
from bench_helpers import TINY

from reprise import cli
from reprise.bench import (
    BENCHES,
    gated_task,
    gpu,
    gpu_books,
    gpu_implementations,
    gpu_lines,
    gpu_palindromes,
    gpu_rows,
    gpu_table,
    gso_task,
)
from reprise.bench.operations import operations_of
from reprise.bench.task import checked

GATED = {
    name: gated_task.Workload(name, cell, hidden=7, matrices=K, vocabulary=50, dataset="none", embedding=6)
    for name, cell, K in (("r-gru", "gru", 4), ("lstm", "lstm", 1))
}
LINES = gso_task.Workload("lines", "gso", hidden=24, second_order=24, length=20)
STEPS = {
    "palindromes": (gpu_palindromes, gpu_palindromes.Workload("palindromes", length=12, hidden=9)),
    "book": (gpu_books, gpu_books.Workload("book", vocabulary=20, hidden=9)),
}


@pytest.fixture
def small(monkeypatch):
    by_steps = [workload for _, workload in STEPS.values()]
    monkeypatch.setattr(gpu, "WORKLOADS", (TINY["sentences"], *GATED.values(), LINES, *by_steps))
    monkeypatch.setattr(gpu_lines, "BATCHES", 2)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def test_without_a_gpu_it_says_so_and_measures_the_cpu_part(small, tmp_path, capsys):
    assert cli.main(["bench", "gpu", "--budget", "0.3", "--json", str(tmp_path / "gpu.json")]) == 0
    said = capsys.readouterr()
    assert said.err.count("no GPU is visible") == 1
    assert "not measured" in said.out
    result = json.loads((tmp_path / "gpu.json").read_text(encoding="utf-8"))
    assert result["peak_gflops"] is None
    rows = {(row["workload"], row["implementation"]): row for row in result["rows"]}
    assert {i for _, i in rows} == {"eager", "called-1", "called-4"}
    assert len(rows) == 18
    for (_, implementation), row in rows.items():
        assert row["note"] is None
        assert row["low"] <= row["median"] <= row["high"]
        assert row["replicas"] == (4 if implementation == "called-4" else 1)
        assert row["kernels_a_piece"] > 20
        assert row["share_of_peak"] is None
        streams = {"sentences": 1, "r-gru": 20, "lstm": 20}.get(row["workload"], 64)
        assert row["microseconds_a_step"] == pytest.approx(1e6 * row["replicas"] * streams / row["median"])
    for workload in ("sentences", "lines", *STEPS):
        one, four = (rows[workload, name]["kernels_a_piece"] for name in ("called-1", "called-4"))
        assert one == four  # the work of a launch grows, not their number
    assert all(goal["found"] is None for goal in result["goals"])


def test_an_implementation_that_computes_something_else_is_not_timed(small, monkeypatch, capsys):
    real = gpu_implementations.Stacks.train

    monkeypatch.setattr(gpu_implementations.Stacks, "train", lambda self, *piece: 1.01 * real(self, *piece))
    assert cli.main(["bench", "gpu", "--budget", "0.3", "--only", "sentences/"]) == 1
    assert "called-1: wrong: the loss is" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["graph-8", "graph-4x8", "graph-sweep", "library"])
@pytest.mark.parametrize("workload", ["sentences", "r-gru", "lstm"])
def test_what_a_gpu_would_run_computes_the_update_of_the_readable_model(name, workload, tmp_path):
    workload = TINY.get(workload) or GATED[workload]
    source = gpu_rows.gated if workload.name in GATED else gpu_rows.rrntn
    task, _ = source.make_task(workload, tmp_path, 4 if workload.name in GATED else 40)
    alone = workload.name == "lstm" and name == "graph-sweep"
    if alone or (name == "library" and workload.name != "lstm"):
        with pytest.raises(NotImplementedError):
            gpu_implementations.make(name, task, torch.device("cpu"))
        return
    made = gpu_implementations.make(name, task, torch.device("cpu"))
    assert gpu_rows.disagreement(source.expected(task), checked(task, made)) is None
    expected = {"graph-8": 8, "graph-4x8": 32, "library": 1, "graph-sweep": 16 if workload.name == "sentences" else 4}
    assert made.replicas == expected[name]


@pytest.mark.parametrize(
    ("name", "replicas"), [("called-4", 4), ("graph-5", 5), ("graph-5x1", 5), ("graph-4x8", 32), ("graph-sweep", 40)]
)
def test_stacks_of_lines_compute_the_update_of_the_readable_model(name, replicas, tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_lines, "BATCHES", 2)
    workload = gso_task.Workload("ragged", "gso", hidden=24, second_order=24)
    task, _ = gpu_lines.make_task(workload, tmp_path)
    made = gpu_implementations.make(name, task, torch.device("cpu"))
    assert (made.replicas, made.block) == (replicas, len(task))
    assert gpu_rows.disagreement(gpu_lines.expected(task), checked(task, made)) is None
    # Others read the same lines in batches of their own.
    text = made.stacks[0].text
    if name != "graph-5x1":
        assert sorted(text.places(0)) == sorted(text.places(1))
        assert text.places(0).tolist() != text.places(1).tolist()
    if name == "graph-sweep":
        ratios = [one.stack.network.M / one.stack.network.H for one in made.stacks]
        assert ratios[0] == 1
        assert sorted(ratios) == pytest.approx([0.1, 0.2, 0.5, 1, 2, 5, 10, 20], rel=0.1)


@pytest.mark.parametrize(
    ("name", "replicas"), [("eager", 1), ("library", 1), ("called-4", 4), ("graph-4x8", 32), ("graph-sweep", None)]
)
@pytest.mark.parametrize("which", STEPS)
def test_stacks_that_count_steps_compute_the_update_of_the_readable_model(which, name, replicas, tmp_path):
    module, workload = STEPS[which]
    task, facts = module.make_task(workload, tmp_path)
    assert facts["parameters"] == sum(value.size for value in task.weights.values())
    if (which, name) == ("book", "library"):
        with pytest.raises(NotImplementedError, match="does not have this cell"):
            gpu_implementations.make(name, task, torch.device("cpu"))
        return
    made = gpu_implementations.make(name, task, torch.device("cpu"))
    assert made.replicas == (replicas or module.SWEEP)
    assert gpu_rows.disagreement(module.expected(task), checked(task, made)) is None
    assert task.tokens(0, 2) == 2 * 64 * {"palindromes": 11, "book": 30}[which]
    assert gpu_implementations.bytes_a_token(task) > 4 * 48 * 9


def test_what_there_is_not_for_lines_is_told(tmp_path):
    workload = gso_task.Workload("full", "gso", hidden=8, second_order=8, first_order=True, length=9)
    task, _ = gpu_lines.make_task(workload, tmp_path)
    for name, why in (("library", "does not have this cell"), ("graph-sweep", "Figure 1")):
        with pytest.raises(NotImplementedError, match=why):
            gpu_implementations.make(name, task, torch.device("cpu"))
    task, _ = gpu_rows.rrntn.make_task(TINY["sentences"], tmp_path, 40)
    with pytest.raises(NotImplementedError, match="folds of document 000"):
        gpu_implementations.make("graph-5", task, torch.device("cpu"))


def test_every_goal_is_about_something_that_is_measured():
    implementations = BENCHES["gpu"].implementations
    assert set(gpu_implementations.STACKS) < set(implementations)
    names = {(workload.name, name) for workload in gpu.WORKLOADS for name in implementations}
    assert {place for goal in gpu.GOALS for place in (goal.of, goal.over)} <= names


def test_bytes_are_those_of_weights_and_logits(tmp_path):
    task, facts = gpu_rows.rrntn.make_task(TINY["s-rnn"], tmp_path, 40)
    weights, logits = 4 * 8 * 50 / facts["mean_length"], 7 * 50
    assert gpu_implementations.bytes_a_token(task) == pytest.approx(4 * (weights + logits), rel=1e-3)


def test_views_are_no_operations():
    x = torch.ones(3, 4)
    assert operations_of(lambda: x.view(4, 3).t()[0].unbind()) == 0
    assert operations_of(lambda: (x + 1).mul_(2)) == 2


def test_a_row_that_was_not_measured_has_dashes():
    row = {"median": None}
    assert set(gpu_table._numbers(row)) == {"-"}
