"""The benchmark of the gated networks: every implementation computes the readable model's update, and is timed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from reprise import cli
from reprise.bench import BENCHES, gated, worker
from reprise.bench.gated_task import CHECKED, STEPS, STREAMS, Workload, read_task
from reprise.bench.run import disagreement

TINY = {
    "gru": Workload("gru", "gru", hidden=6, vocabulary=50, embedding=7),
    "r-gru": Workload("r-gru", "gru", hidden=6, matrices=4, vocabulary=50, embedding=7),
    "lstm": Workload("lstm", "lstm", hidden=6, vocabulary=50, embedding=7),
    "r-lstm": Workload("r-lstm", "lstm", hidden=6, matrices=4, vocabulary=50, embedding=7),
}


def test_flops_are_those_of_the_dense_products():
    assert TINY["gru"].flops_a_token == 6 * (3 * 6 * (7 + 6) + 6 * 50)
    assert gated.WORKLOADS[-1].flops_a_token == 6 * (4 * 650 * 1300 + 650 * 10_000)


def test_a_task_is_read_as_it_was_written(tmp_path):
    task, facts = gated.make_task(TINY["r-gru"], tmp_path, windows=4)
    again = read_task(tmp_path)
    assert again.workload == task.workload
    assert len(again) == 4
    assert again.tokens(1, 3) == 2 * STEPS * STREAMS
    assert all(np.array_equal(again.weights[name], value) for name, value in task.weights.items())
    # a stream goes on in the next window with the word that was its last target
    assert np.array_equal(again.x[1:, 0], again.y[:-1, -1])
    assert facts["text"].startswith("random words")


@pytest.mark.parametrize("name", BENCHES["rrntn-gated"].implementations)
@pytest.mark.parametrize("workload", TINY.values(), ids=TINY)
def test_implementations_make_the_same_update(name, workload, tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "WARM_SECONDS", 0.0)
    task, _ = gated.make_task(workload, tmp_path, CHECKED)
    if name == "library" and workload.name != "lstm":
        with pytest.raises(NotImplementedError):
            worker.prepared("rrntn-gated", name, tmp_path)
        return
    expected = gated.expected(task)
    stream, facts = worker.prepared("rrntn-gated", name, tmp_path)
    assert disagreement(expected, facts) is None
    assert all(norm > 0 for norm in facts["update_norms"].values())
    assert stream.timed(2)["tokens"] == 2 * STEPS * STREAMS


def test_the_command_writes_its_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gated, "WORKLOADS", (TINY["r-lstm"],))
    assert cli.main(["bench", "rrntn-gated", "--budget", "0.2", "--json", "bench.json"]) == 0
    rows = {row["implementation"]: row for row in json.loads((tmp_path / "bench.json").read_text())["rows"]}
    assert rows["grouped"]["ratio_to"]["eager"] == pytest.approx(rows["grouped"]["median"] / rows["eager"]["median"])
    assert rows["library"]["note"].startswith("NotImplementedError")
    assert "grouped is" in capsys.readouterr().out
