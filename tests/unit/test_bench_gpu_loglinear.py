"""Document 004's networks in `bench gpu`: stacks compute the readable model's update, and what is counted of them."""

from __future__ import annotations

import json

import pytest
import torch

from reprise import cli
from reprise.bench import gpu, gpu_implementations, gpu_loglinear, gpu_rows
from reprise.bench.llrnn_task import Workload
from reprise.bench.task import checked

TINY = {
    "ll": Workload("ll", batch=5, top=20, vocabulary=120, tags=9, size=12),
    "rnn": Workload("rnn", batch=4, top=0, vocabulary=60, tags=9, size=12),
}
CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("workload", "name", "replicas"),
    [("ll", "called-4", 4), ("ll", "graph-4x8", 32), ("ll", "graph-sweep", 8), ("rnn", "graph-8", 8)],
)
def test_stacks_compute_the_update_of_the_readable_model(workload, name, replicas, tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_loglinear, "BATCHES", 4)
    task, facts = gpu_loglinear.make_task(TINY[workload], tmp_path)
    assert (len(task), facts["batches"]) == (4, 4)
    made = gpu_implementations.make(name, task, CPU)
    assert made.replicas == replicas
    assert gpu_rows.disagreement(gpu_loglinear.expected(task), checked(task, made)) is None
    # Others read the same windows in orders of their own.
    starts = made.stacks[0].text.starts
    assert sorted(starts[0]) == sorted(starts[1])
    assert starts[0].tolist() != starts[1].tolist()
    if name == "graph-sweep":
        assert made.stacks[0].stack.phi.sizes == (30, *(min(M, 120) + 10 for M in gpu_loglinear.SWEEP))


def test_what_there_is_not_is_told(tmp_path):
    task, _ = gpu_loglinear.make_task(TINY["rnn"], tmp_path)
    for name, why in (
        ("library", "does not have this cell"),
        ("graph-sweep", "Table 4"),
        ("graph-5x1", "document 000"),
    ):
        with pytest.raises(NotImplementedError, match=why):
            gpu_implementations.make(name, task, CPU)


def test_without_a_gpu_it_is_called(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(gpu, "WORKLOADS", tuple(TINY.values()))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert cli.main(["bench", "gpu", "--budget", "0.3", "--json", str(tmp_path / "gpu.json")]) == 0
    assert "not measured" in capsys.readouterr().out
    rows = json.loads((tmp_path / "gpu.json").read_text(encoding="utf-8"))["rows"]
    assert {(row["workload"], row["implementation"]) for row in rows} == {
        (workload, name) for workload in TINY for name in gpu.WITHOUT_GPU
    }
    for row in rows:
        assert row["note"] is None
        assert row["microseconds_a_step"] == pytest.approx(
            1e6 * row["replicas"] * TINY[row["workload"]].batch / 8 / row["median"]
        )
    for workload in TINY:
        one, four = (
            r["kernels_a_piece"] for r in rows if r["workload"] == workload and "called" in r["implementation"]
        )
        assert one == four


def test_bytes_are_those_of_weights_gates_and_scores(tmp_path):
    task, facts = gpu_loglinear.make_task(TINY["ll"], tmp_path)
    gates = 8 * 2 * (2 * 4 * 12**2 / 5 + 12 * 4 * 12)
    expected = 4 * (gates + 7 * 30 + 6 * facts["parameters"] / 5)
    assert gpu_implementations.bytes_a_token(task) == pytest.approx(expected)
