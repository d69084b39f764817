"""`bench gpu` cut short, by time, a signal or an implementation that fails; what it says of graphs that are none."""

from __future__ import annotations

import io
import json
import os
import signal
from types import SimpleNamespace

import pytest
import torch
from bench_helpers import TINY
from rich.console import Console

from reprise import cli
from reprise.bench import gpu, gpu_implementations, gpu_palindromes, gpu_rows, gpu_table
from reprise.bench.goals import judge
from reprise.errors import EXIT_USAGE

CPU = torch.device("cpu")
STEPS = gpu_palindromes.Workload("palindromes", length=12, hidden=9)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(gpu, "WORKLOADS", (TINY["sentences"], STEPS))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def bench(folder, *more):
    status = cli.main(["bench", "gpu", "--budget", "0.2", "--json", str(folder / "gpu.json"), *more])
    return status, json.loads((folder / "gpu.json").read_text(encoding="utf-8"))


def test_whatever_fails_is_a_note_and_the_others_are_measured(small, tmp_path, monkeypatch):
    real = gpu_implementations.make

    def make(name, task, device):
        if name == "called-4":
            raise ZeroDivisionError("of its own")
        return real(name, task, device)

    monkeypatch.setattr(gpu_implementations, "make", make)
    monkeypatch.setattr(gpu_rows.rrntn, "expected", lambda task: {}["absent"])
    status, result = bench(tmp_path)
    notes = {(row["workload"], row["implementation"]): row["note"] for row in result["rows"]}
    assert {notes["sentences", name] for name in gpu.WITHOUT_GPU} == {"KeyError: 'absent'"}
    assert notes["palindromes", "called-4"] == "ZeroDivisionError: of its own"
    assert notes["palindromes", "called-1"] is notes["palindromes", "eager"] is None
    assert (status, result["complete"]) == (0, True)


def test_a_signal_leaves_what_was_measured(small, tmp_path, monkeypatch):
    real, asked = gpu_rows.made_row, []

    def row(*arguments):
        asked.append(arguments)
        if len(asked) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return real(*arguments)

    monkeypatch.setattr(gpu, "made_row", row)
    with pytest.raises(SystemExit):
        bench(tmp_path, "--only", "palindromes/")
    result = json.loads((tmp_path / "gpu.json").read_text(encoding="utf-8"))
    assert not result["complete"]
    (only,) = result["rows"]
    assert (only["implementation"], only["note"]) == ("eager", None)
    assert only["median"] > 0


def test_what_does_not_fit_is_left_out_and_goals_come_first(small, tmp_path, monkeypatch):
    clock, done = [0.0], []
    goals = (gpu.Goal((STEPS.name, "called-1"), 1.0, (STEPS.name, "eager")),)

    def row(workload, implementation, *_):
        clock[0] += 20.0
        done.append((workload.name, implementation))
        return gpu_rows.no_row(workload, implementation) | {"median": 1.0}

    monkeypatch.setattr(gpu, "GOALS", goals)
    monkeypatch.setattr(gpu, "made_row", row)
    monkeypatch.setattr(gpu_rows.Tasks, "of", lambda self, workload: (None, {}))
    monkeypatch.setattr(gpu, "count_kernels", lambda name, *_: done.append(("kernels", name)) or 7)
    monkeypatch.setattr(gpu, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(gpu, "show", lambda *_: None)
    _, result = bench(tmp_path, "--minutes", "1")
    assert done == [("palindromes", "eager"), ("palindromes", "called-1"), ("sentences", "eager")]
    notes = [row["note"] for row in result["rows"]]
    assert notes == [None, *["left out: 0 s are left of 1 minutes, a row like it takes 20 s"] * 2, None, None, notes[1]]
    assert not result["complete"]
    # Making a workload is once, and what the next rows take does not hold it.
    assert gpu._needed({("a", "eager"): {"seconds": 2.0}}, {"a": 9.0}, "a") == 2.0
    assert gpu._needed({("a", "eager"): {"seconds": 2.0}}, {"a": 9.0}, "b") == 11.0
    # Kernels are counted when all is timed: a profiler may stay.
    clock[0] = 0.0
    done.clear()
    _, result = bench(tmp_path, "--minutes", "9", "--only", "palindromes/")
    assert [name for name, _ in done] == ["palindromes"] * 3 + ["kernels"] * 3
    assert [row["kernels_a_piece"] for row in result["rows"]] == [7] * 3
    assert result["complete"]


def test_a_stack_that_was_not_captured_is_called_no_graph(monkeypatch):
    real = gpu_implementations.make

    def make(*arguments):
        made = real(*arguments)
        made.stacks[0].stack.programs.trouble = "program step: not permitted"
        return made

    monkeypatch.setattr(gpu_implementations, "make", make)
    row = gpu_rows.made_row(STEPS, "graph-1", gpu_rows.Tasks(), CPU, 0.1, {})
    assert row["implementation"] == "uncaptured-1"
    assert row["note"] == "not captured: program step: not permitted"
    assert row["median"] > 0
    goal = gpu.Goal((STEPS.name, "graph-1"), 0.0, (STEPS.name, "graph-1"))
    assert judge([goal], [row])[0]["found"] is None


def test_a_graph_on_a_gpu_has_been_captured_in_every_stack():
    programs = [SimpleNamespace(trouble="", captured=count) for count in (2, 0)]
    stacks = gpu_implementations.Stacks.__new__(gpu_implementations.Stacks)
    stacks.stacks = [SimpleNamespace(stack=SimpleNamespace(programs=one)) for one in programs]
    assert stacks.not_captured(torch.device("cuda")) == "no program of a stack came up twice"
    assert stacks.not_captured(CPU) == ""
    programs[1].captured = 1
    assert stacks.not_captured(torch.device("cuda")) == ""


def test_what_is_to_be_said_of_a_rate_stands_beside_it():
    remark = "waits for the device"
    row = gpu_rows.no_row(STEPS, "eager") | {"remark": remark, "median": 1234.0, "low": 1.0, "high": 2.0}
    row |= {"replicas": 1, "microseconds_a_step": 5.0}
    result = {"bench": "gpu", "machine": {"device": "none"}, "peak_gflops": None, "bandwidth_gb_s": None}
    shown = io.StringIO()
    gpu_table.show(result | {"rows": [row], "goals": [], "complete": False}, Console(file=shown, width=160), "")
    assert "1,234*" in shown.getvalue()
    assert "* palindromes: eager waits for the device" in shown.getvalue()
    assert "not complete" in shown.getvalue()


@pytest.mark.parametrize(
    ("arguments", "says"), [(["gpu", "--minutes", "0"], "--minutes 0"), (["gso", "--minutes", "1"], "gso has")]
)
def test_limits_that_are_none_are_one_line(arguments, says, capsys):
    assert cli.main(["bench", *arguments]) == EXIT_USAGE
    assert says in capsys.readouterr().err
