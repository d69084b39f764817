"""Benchmarks: peak, goals, what is chosen and refused, and a small one from end to end."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import torch
from bench_helpers import TINY
from compiler_helpers import needs_compiler

from reprise import cli
from reprise.bench import BENCHES, peak, rrntn, timing
from reprise.bench.goals import Goal, judge
from reprise.bench.process import Worker, WorkerFailed
from reprise.bench.run import compare, disagreement, run_bench
from reprise.bench.task import BLOCK, update_norms
from reprise.bench.timing import Repetition
from reprise.cli.bench import select
from reprise.engines import build

EXPECTED = {"loss": 1.0, "update_norms": {}}
ROW_KEYS = {
    *("workload", "implementation", "threads", "replicas", "unit", "median", "low", "high"),
    *("reps", "quiet_reps", "share_of_peak", "ratio_to", "note"),
}


@needs_compiler
def test_the_peak_is_a_rate_that_no_product_of_matrices_exceeds():
    a = torch.rand(256, 256)
    clock = timing.SystemClock()
    start = clock.own()
    for _ in range(50):
        a @ a
    rate = 50 * 2 * 256**3 / max(clock.own() - start, 1e-9) / 1e9
    # A busy machine need not leave any one tenth of a second a burst without interruption. Half, since it may be busier
    # during one than during the other.
    tries = (peak.peak_gflops(0.1) for _ in range(50))
    found = next((gflops for gflops in tries if gflops > rate / 2), 0.0)
    assert found > rate / 2
    assert found < 2000


def test_without_a_compiler_there_is_no_peak(monkeypatch):
    monkeypatch.setattr(build, "library", lambda name: (_ for _ in ()).throw(build.NoCompiler("none")))
    assert peak.peak_gflops() is None


def test_flops_are_those_of_the_dense_products():
    assert rrntn.WORKLOADS[0].flops_a_token == 6 * (100 * 10_000 + 100 * 100)
    assert TINY["m-rnn"].flops_a_token == 6 * (8 * 50 + 2 * 8 * 6)


def test_a_loss_or_an_update_that_differs_is_named():
    right = {"loss": 1000.0, "update_norms": {"W_h": 1.0, "U_h": 2.0}}
    assert disagreement(right, {"loss": 1000.05, "update_norms": {"W_h": 1.0, "U_h": 2.0}}) is None
    assert "loss" in disagreement(right, right | {"loss": 1000.2})
    assert "loss" in disagreement(right, right | {"loss": float("nan")})
    assert "U_h" in disagreement(right, right | {"update_norms": {"W_h": 1.0, "U_h": 2.01}})
    assert "U_h" in disagreement(right, right | {"update_norms": {"W_h": 1.0}})
    before = {"a": np.zeros(2, np.float32)}
    assert update_norms(before, {"a": np.array([3, 4], np.float32)}) == {"a": 5.0}


def row(workload, implementation, median, share=None):
    keys = {"workload": workload, "implementation": implementation, "median": median, "share_of_peak": share}
    return {**keys, "ratio_to": {}, "note": None}


def test_goals_are_judged_by_medians_and_by_the_peak():
    rows = [row("a", "fused", 90.0, 0.5), row("a", "eager", 10.0, 0.1), row("b", "fused", 120.0, 0.6)]
    rows.append(row("b", "eager", None))
    goals = (
        Goal(("a", "fused"), 9.0, ("a", "eager")),
        Goal(("a", "fused"), 0.9, ("b", "fused")),
        Goal(("a", "fused"), 0.5),
        Goal(("b", "fused"), 5.0, ("b", "eager")),
        Goal(("c", "fused"), 0.5, stretch=True),
    )
    found = judge(goals, rows)
    assert [(g["found"], g["reached"]) for g in found] == [
        (9.0, True),
        (0.75, False),
        (0.5, True),
        (None, None),
        (None, None),
    ]
    assert found[0]["goal"] == "a: fused >= 9 x eager"
    assert found[1]["goal"] == "a: fused >= 0.9 x fused of b"
    assert found[4]["goal"] == "c: fused >= 0.5 of the peak (stretch)"


def test_every_goal_is_about_something_that_is_measured():
    for bench in BENCHES.values():
        module = import_module(bench.module)
        names = {(w.name, i) for w in module.WORKLOADS for i in bench.implementations}
        assert {place for goal in module.GOALS for place in (goal.of, goal.over) if place} <= names
        assert bench.ours in bench.implementations


def test_only_selects_workloads_and_implementations():
    implementations = BENCHES["rrntn"].implementations
    chosen = select(rrntn.WORKLOADS, implementations, "k100/")
    assert {w.name for w, _ in chosen} == {"ptb-h100-k100", "ptb-h150-k100"}
    assert all(names == list(implementations) for _, names in chosen)
    chosen = select(rrntn.WORKLOADS, implementations, "/jax")
    assert [names for _, names in chosen] == [["jax", "jax-rows"]] * len(rrntn.WORKLOADS)


@pytest.fixture
def no_jax(tmp_path, monkeypatch):
    """Processes started from here find no JAX."""
    folder = tmp_path / "without"
    folder.mkdir()
    (folder / "jax.py").write_text("raise ModuleNotFoundError('No module named jax', name='jax')\n")
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ['PYTHONPATH']}")


@needs_compiler
def test_a_small_bench_from_end_to_end(tmp_path, monkeypatch, capsys, no_jax):
    monkeypatch.setenv("REPRISE_BUILD", str(build.library("rntn").parent))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rrntn, "WORKLOADS", (TINY["sentences"],))
    some = {name: BENCHES["rrntn"].implementations[name] for name in ("fused", "eager", "jax")}
    monkeypatch.setitem(BENCHES, "rrntn", replace(BENCHES["rrntn"], implementations=some))
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    assert cli.main(["bench", "rrntn", "--budget", "0.3", "--json", "out/bench.json"]) == 0
    assert cores is None or os.sched_getaffinity(0) == cores
    result = json.loads((tmp_path / "out/bench.json").read_text(), parse_constant=pytest.fail)
    assert {"schema", "bench", "machine", "peak_gflops", "rows"} <= result.keys()
    assert result["bench"] == "rrntn"
    assert "random" in result["workloads"][0]["text"]
    rows = {r["implementation"]: r for r in result["rows"]}
    assert list(rows) == ["fused", "eager", "jax"]
    assert all(r.keys() == ROW_KEYS for r in rows.values())
    for name, other in (("fused", "eager"), ("eager", "fused")):
        one = rows[name]
        assert one["note"] is None
        assert one["low"] <= one["median"] <= one["high"]
        assert one["reps"] >= 3
        assert one["ratio_to"] == {other: pytest.approx(one["median"] / rows[other]["median"])}
        expected = one["median"] * TINY["sentences"].flops_a_token / result["peak_gflops"] / 1e9
        assert one["share_of_peak"] == pytest.approx(expected)
        assert 0 < one["share_of_peak"] < 1
    assert rows["jax"]["note"] == "not installed: jax"
    assert (rows["jax"]["median"], rows["jax"]["reps"], rows["jax"]["ratio_to"]) == (None, 0, {})
    shown = capsys.readouterr().out
    assert "not installed: jax" in shown
    assert shown.count("goal ") == len(rrntn.GOALS)


def test_an_implementation_with_another_update_is_not_timed(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def skewed(task):
        right = rrntn.expected(task)
        return right | {"update_norms": {k: 1.1 * v for k, v in right["update_norms"].items()}}

    bench = SimpleNamespace(make_task=lambda w, folder: rrntn.make_task(w, folder, BLOCK), expected=skewed, GOALS=())
    result = run_bench("rrntn", bench, [(TINY["s-rnn"], ["eager"])], 0.1, lambda line: None)
    (only,) = result["rows"]
    assert only["note"].startswith("wrong: the update of ")
    assert only["median"] is None
    monkeypatch.setattr("reprise.bench.run.run_bench", lambda *_: result)
    assert cli.main(["bench", "rrntn"]) == 1


class FakeWorker:
    """A process without one. "late" is never ready, "frail" fails at its second repetition."""

    log: ClassVar[list[str]] = []

    def __init__(self, bench, name, folder):
        self.name, self.runs = name, 0

    def ready(self, limit):
        if self.name == "late":
            raise WorkerFailed("late")
        return EXPECTED | {"block": 20, "seconds_a_piece": 0.001}

    def run(self, count, limit):
        self.runs += 1
        if self.name == "frail" and self.runs == 2:
            raise WorkerFailed("diverged")
        self.log.append(f"{self.name} {count}")
        return Repetition(count * 20, 0.02 * count / 20, 0.0)

    def close(self):
        self.log.append(f"{self.name} closed")


def test_what_fails_is_closed_before_the_others_go_on(monkeypatch):
    monkeypatch.setattr("reprise.bench.run.Worker", FakeWorker)
    log = FakeWorker.log
    log.clear()
    found = compare("toy", Path(), EXPECTED, ["late", "frail", "sound"], 4.2, lambda line: None)
    assert (found["late"], found["frail"]) == ("late", "diverged")
    assert [one.rate for one in found["sound"]] == [pytest.approx(20_000)] * 7
    assert log[0] == "late closed"
    # 4.2 s are 7 rounds of 2, so 0.3 s each: 300 subsequences.
    assert log[1:6] == ["frail 300", "sound 300", "sound 300", "frail closed", "sound 300"]


def test_a_process_that_fails_or_takes_too_long_says_so_in_a_line(tmp_path):
    rrntn.make_task(TINY["s-rnn"], tmp_path, BLOCK)
    late, broken = Worker("rrntn", "eager", tmp_path), Worker("rrntn", "no such", tmp_path)
    try:
        with pytest.raises(WorkerFailed, match=r"^checking and compiling takes more than 0 s$"):
            late.ready(0.0)
        with pytest.raises(WorkerFailed, match=r"^KeyError: 'no such'$"):
            broken.ready(60.0)
    finally:
        late.close()
        broken.close()
    assert late.process.returncode is not None


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["rrnt"], "did you mean 'rrntn'?"),
        (["rrntn", "--budget", "0"], "--budget 0"),
        (["rrntn", "--only", "k7"], "--only k7"),
    ],
)
def test_bad_input_is_refused_in_a_line(arguments, reason, capsys):
    assert cli.main(["bench", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith("reprise: error: ")
    assert reason in said
    assert said.count("\n") == 1
