"""`bench gpu` where there is no GPU, and what it counts."""

from __future__ import annotations

import json

import pytest
import torch
from bench_helpers import TINY

from reprise import cli
from reprise.bench import gated_task, gpu, gpu_implementations, gpu_table
from reprise.bench.operations import operations_of

GATED = {
    name: gated_task.Workload(name, cell, hidden=7, matrices=K, vocabulary=50, dataset="none", embedding=6)
    for name, cell, K in (("r-gru", "gru", 4), ("lstm", "lstm", 1))
}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(gpu, "WORKLOADS", (TINY["sentences"], GATED["r-gru"], GATED["lstm"]))
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
    assert len(rows) == 9
    for (_, implementation), row in rows.items():
        assert row["note"] is None
        assert row["low"] <= row["median"] <= row["high"]
        assert row["replicas"] == (4 if implementation == "called-4" else 1)
        assert row["kernels_a_piece"] > 20
        assert row["share_of_peak"] is None
        streams = 20 if row["workload"] in GATED else 1
        assert row["microseconds_a_step"] == pytest.approx(1e6 * row["replicas"] * streams / row["median"])
    one, four = (rows["sentences", name]["kernels_a_piece"] for name in ("called-1", "called-4"))
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
    source = gpu.gated if workload.name in GATED else gpu.rrntn
    task, _ = source.make_task(workload, tmp_path, 4 if workload.name in GATED else 40)
    alone = workload.name == "lstm" and name == "graph-sweep"
    if alone or (name == "library" and workload.name != "lstm"):
        with pytest.raises(NotImplementedError):
            gpu_implementations.make(name, task, torch.device("cpu"))
        return
    made = gpu_implementations.make(name, task, torch.device("cpu"))
    loss = made.train(0, task.block)
    facts = {"loss": loss, "update_norms": gpu.update_norms(task.weights, made.parameters())}
    assert gpu.disagreement(source.expected(task), facts) is None
    expected = {"graph-8": 8, "graph-4x8": 32, "library": 1, "graph-sweep": 16 if workload.name == "sentences" else 4}
    assert made.replicas == expected[name]


def test_bytes_are_those_of_weights_and_logits(tmp_path):
    task, facts = gpu.rrntn.make_task(TINY["s-rnn"], tmp_path, 40)
    weights, logits = 4 * 8 * 50 / facts["mean_length"], 7 * 50
    assert gpu_implementations.bytes_a_token(task) == pytest.approx(4 * (weights + logits), rel=1e-3)


def test_views_are_no_operations():
    x = torch.ones(3, 4)
    assert operations_of(lambda: x.view(4, 3).t()[0].unbind()) == 0
    assert operations_of(lambda: (x + 1).mul_(2)) == 2


def test_a_row_that_was_not_measured_has_dashes():
    row = {"median": None}
    assert set(gpu_table._numbers(row)) == {"-"}
