"""The harness of the benchmarks: clocks, goals, what is chosen and refused, and a small one from end to end."""

import errno
import itertools
import json
import os
import time
from contextlib import closing
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler
from config_helpers import ROOT

from benchmarks import BENCHES, harness, jobs, rntn, tasks, timing, worker
from benchmarks.__main__ import main, make_default_path, select_workloads
from benchmarks.goals import Goal, list_general_goals
from benchmarks.harness import Budget, compare_implementations, find_disagreement, run_bench
from benchmarks.limits import LEVELS, CoreProbe, compute_lower_limit, find_level, measure_bandwidths, measure_peak
from benchmarks.processor import name_processor
from benchmarks.rntn import BLOCK, Workload
from benchmarks.table import COMMITTED, format_missed, make_committed_table
from benchmarks.timing import Repetition, compute_ratio, interleave, summarise, time_repetition
from benchmarks.worker import Worker, WorkerFailed
from reprise.engines import build
from reprise.engines.caches import Caches
from reprise.errors import EXIT_FAILED, EXIT_USAGE, UserError
from reprise.processor import read_cpuinfo

SENTENCES = Workload("sentences", "none", 50, 8, matrices=5, sentences=True)
EXPECTED = {"loss": 1.0, "update_norms": {}}


@pytest.mark.parametrize(
    ("own", "busy", "others", "quiet"),
    [
        (2.0, 2.0, 0.0, True),
        (2.0, 2.09, 0.09, True),  # 4.5 % of a core
        (2.0, 2.11, 0.11, False),  # 5.5 %
        (1.0, 1.11, 0.11, False),  # however little this process got
        (2.0, 1.99, 0.0, True),  # the system's clock is coarser than this process's
        (2.0, None, None, False),  # where nobody can tell
    ],
)
def test_a_repetition_is_quiet_if_others_took_at_most_a_twentieth_of_a_core(own, busy, others, quiet):
    clock = iter([(100.0, 7.0, None if busy is None else 900.0), (102.0, 7.0 + own, busy and 900.0 + busy)])
    one = time_repetition(lambda: 300, lambda: next(clock))
    assert one.rate == pytest.approx(150)
    assert one.others == (None if others is None else pytest.approx(others))
    assert one.is_quiet is quiet


@pytest.mark.parametrize(("core", "quiet"), [(None, True), (0.91, True), (0.89, False)])
def test_a_repetition_is_quiet_if_the_core_gives_nine_tenths_of_its_speed(core, quiet):
    assert Repetition(300, 2.0, 0.0, core).is_quiet is quiet


def test_idle_and_waiting_cores_are_not_busy_and_stolen_ones_are(monkeypatch, tmp_path):
    file = tmp_path / "stat"
    file.write_text("cpu  1 20 300 4000 50000 600000 7000000 80000000 1 1\ncpu0 9 9 9 9 9 9 9 9\n")
    monkeypatch.setattr(timing, "_PROC_STAT", file)
    monkeypatch.setattr("os.sysconf", {"SC_CLK_TCK": 100}.get)
    assert timing.read_clocks()[2] == pytest.approx((1 + 20 + 300 + 600_000 + 7_000_000 + 80_000_000) / 100)
    file.unlink()
    assert timing.read_clocks()[2] is None


def reps(*rates, quiet=True):
    return [Repetition(int(rate), 1.0, 0.0 if quiet else 0.5) for rate in rates]


@pytest.mark.parametrize(
    ("quiet", "summary"),
    [((10, 30, 20), (20, 10, 30, 5, 3)), ((10, 30), (6, 1, 30, 4, 2))],
    ids=["enough are quiet", "all count"],
)
def test_three_quiet_repetitions_leave_out_the_others(quiet, summary):
    row = summarise(reps(*quiet) + reps(1, 2, quiet=False))
    assert tuple(row[key] for key in ("median", "low", "high", "reps", "quiet_reps")) == summary


def test_a_ratio_is_of_repetitions_of_one_kind():
    ours = reps(10, 20, 30) + reps(2, 2, 2, 2, quiet=False)
    assert compute_ratio(ours, reps(5, 5, 5) + reps(1, quiet=False)) == 20 / 5
    assert compute_ratio(ours, reps(5, 6, quiet=False) + reps(7)) == 2 / 6
    assert compute_ratio(reps(5, 6, quiet=False) + reps(7), ours) == 6 / 2


def test_implementations_take_turns_until_all_have_been_quiet_often_enough():
    log, noisy = [], iter(reps(5, 5, quiet=False) + reps(5, 5, 5, 5))
    runs = {"a": lambda: log.append("a") or reps(9)[0], "b": lambda: log.append("b") or next(noisy)}
    repetitions = interleave(runs, quiet=4, seconds=1e9, wall=lambda: 0.0)
    assert [len(v) for v in repetitions.values()] == [6, 6]
    assert "".join(log) == "abbaabbaabba"


@pytest.mark.parametrize(("seconds", "rounds"), [(55.0, 8), (0.0, 3)])
def test_a_noisy_machine_ends_the_measurement_after_its_time_but_not_before_three_rounds(seconds, rounds):
    ticks = iter(range(0, 1000, 10))
    runs = {"a": lambda: reps(9, quiet=False)[0]}
    assert len(interleave(runs, 7, seconds, lambda: next(ticks))["a"]) == rounds


@needs_compiler
def test_the_peak_is_a_rate_that_no_product_of_matrices_exceeds_and_unknown_without_a_compiler(monkeypatch):
    a = torch.rand(256, 256)
    start = time.process_time()
    for _ in range(50):
        a @ a
    rate = 50 * 2 * 256**3 / max(time.process_time() - start, 1e-9) / 1e9
    # Both in CPU time: a busy machine need not leave any one hundredth of a second without interruption.
    assert rate / 2 < measure_peak(0.3, time.process_time) < 2000
    monkeypatch.setattr(build, "load_functions", Mock(side_effect=build.NoCompiler("none")))
    assert measure_peak() is None


RIGHT = {"loss": 1000.0, "update_norms": {"W_h": 1.0, "U_h": 2.0}}


@pytest.mark.parametrize(
    ("expected", "measured", "named"),
    [
        ({}, {"loss": 1000.05}, None),
        ({}, {"loss": 1000.2}, "loss"),
        ({}, {"loss": float("nan")}, "loss"),
        ({}, {"update_norms": {"W_h": 1.0, "U_h": 2.01}}, "U_h"),
        ({}, {"update_norms": {"W_h": 1.0}}, "U_h"),
        ({"log_perplexity": 2.0}, {}, None),  # a peer need not show one
        ({"log_perplexity": 2.0}, {"log_perplexity": 2.000002}, "log-perplexity"),
        ({"log_perplexity": 2.0}, {"log_perplexity": float("nan")}, "log-perplexity"),
    ],
)
def test_a_loss_or_an_update_that_differs_is_named(expected, measured, named):
    message = find_disagreement(RIGHT | expected, RIGHT | measured)
    assert named in message if named else message is None


def test_the_norm_of_millions_of_small_updates_is_exact():
    count = 4_000_000
    weights = {"W_o": np.zeros(count, np.float32)}
    engine = SimpleNamespace(train=lambda first, last: 1.0, parameters=lambda: {"W_o": np.full(count, 0.1, np.float32)})
    norms = tasks.check_implementation(SimpleNamespace(weights=weights, block=1), engine)["update_norms"]
    assert norms["W_o"] == pytest.approx(0.1 * count**0.5, rel=1e-6)


def row(workload, implementation, median, share=None, of_limit=None, **ratios):
    names = {"workload": workload, "implementation": implementation, "ratio_to": ratios}
    return names | {"median": median, "share_of_peak": share, "share_of_limit": of_limit}


def test_goals_are_judged_by_medians_and_by_the_peak():
    rows = [row("a", "fused", 90.0, 0.5, eager=9.0), row("a", "eager", 10.0, 0.1), row("b", "fused", 120.0, 0.6, 0.8)]
    rows.append(row("b", "eager", None))
    goals = {
        Goal("a", "fused", 9, "eager"): ("a: fused >= 9 x eager", 9.0),
        Goal("a", "fused", 0.9, "fused", of="b"): ("a: fused >= 0.9 x fused of b", 0.75),
        Goal("a", "fused", 0.5): ("a: fused >= 0.5 of the peak", 0.5),
        Goal("b", "fused", 0.6, line="limit"): ("b: fused >= 0.6 of the limit", 0.8),
        Goal("b", "fused", 5, "eager"): ("b: fused >= 5 x eager", None),
        Goal("c", "fused", 0.5, stretch=True): ("c: fused >= 0.5 of the peak (stretch)", None),
    }
    assert {goal: (str(goal), goal.measure(rows)) for goal in goals} == goals


@pytest.mark.parametrize("bench", BENCHES)
def test_every_goal_and_every_row_of_the_table_is_about_something_that_is_measured(bench):
    module, (ours, *_) = import_module(f"benchmarks.{bench}"), BENCHES[bench]
    names = {(w.name, i) for w in module.WORKLOADS for i in BENCHES[bench]}
    goals = [*module.GOALS, *(goal for _, goal in list_general_goals(module, ours))]
    ratios = dict.fromkeys(BENCHES[bench], 1.0)
    rows = [row(*name, 1.0, 1.0, 1.0, **ratios) for name in names]
    assert all(goal.measure(rows) == 1.0 for goal in goals)
    assert {(s.workload, i) for s in module.TABLE_ROWS for i in (ours, *s.peers)} <= names


def test_only_selects_workloads_and_implementations():
    every = BENCHES["rntn"]
    chosen = {w.name: names for w, names in select_workloads(rntn.WORKLOADS, every, ["k100/"])}
    assert chosen == {f"ptb-h{h}-k100": list(every) for h in (100, 150)}
    chosen = select_workloads(rntn.WORKLOADS, every, ["/jax"])
    assert [names for _, names in chosen] == [["jax", "jax-rows"]] * len(rntn.WORKLOADS)
    chosen = select_workloads(rntn.WORKLOADS, every, ["k100/eager/"])
    assert [names for _, names in chosen] == [["eager"]] * 2


@pytest.mark.slow
@needs_compiler
def test_a_small_bench_from_end_to_end(tmp_path, monkeypatch, capsys):
    (tmp_path / "jax.py").write_text("raise ModuleNotFoundError('No module named jax', name='jax')\n")
    monkeypatch.setattr(worker, "PATHS", (str(tmp_path), *worker.PATHS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rntn, "WORKLOADS", (SENTENCES,))
    some = {name: BENCHES["rntn"][name] for name in ("fused", "eager", "jax")}
    monkeypatch.setitem(BENCHES, "rntn", some)
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    assert main(["rntn", "--budget", "0.3", "--json", "out/bench.json"]) == 0
    assert cores is None or os.sched_getaffinity(0) == cores
    result = json.loads((tmp_path / "out/bench.json").read_text(), parse_constant=pytest.fail)
    committed = json.loads((ROOT / "results/bench/rntn/amd-epyc-zen-5.json").read_text())
    assert result.keys() == committed.keys() - {"goals"} | {"bandwidth_gb"}
    assert (result["bench"], "random" in result["workloads"][0]["text"]) == ("rntn", True)
    rows = {r["implementation"]: r for r in result["rows"]}
    assert list(rows) == list(some)
    assert all(r.keys() == committed["rows"][0].keys() | {"share_of_limit"} for r in rows.values())
    for one, other in ((rows["fused"], rows["eager"]), (rows["eager"], rows["fused"])):
        assert (one["note"], one["reps"] >= 3) == (None, True)
        assert one["low"] <= one["median"] <= one["high"]
        assert one["ratio_to"] == {other["implementation"]: pytest.approx(one["median"] / other["median"])}
        share = one["median"] * SENTENCES.flops_a_token / result["peak_gflops"] / 1e9
        assert one["share_of_peak"] == pytest.approx(share)
        assert one["share_of_limit"] >= one["share_of_peak"] * (1 - 1e-9)  # but for rounding
    absent = {"note": "not installed: jax", "median": None, "reps": 0, "ratio_to": {}}
    assert rows["jax"].items() >= absent.items()
    shown = capsys.readouterr().out
    assert ("not installed: jax" in shown, shown.count("goal ")) == (True, len(rntn.GOALS) + 2 * len(rntn.TABLE_ROWS))


def test_an_implementation_with_another_update_is_not_timed(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    right = tasks.compute_expected

    def skewed(task):
        return right(task) | {"update_norms": {k: 1.1 * v for k, v in right(task)["update_norms"].items()}}

    monkeypatch.setattr(tasks, "compute_expected", skewed)
    bench = SimpleNamespace(make_task=lambda w, folder: rntn.make_task(w, folder, BLOCK))
    result = run_bench("rntn", bench, [(SENTENCES, ["eager"])], 0.1, lambda line: None)
    (only,) = result["rows"]
    assert (only["note"][:21], only["median"]) == ("wrong: the update of ", None)
    monkeypatch.setattr(harness, "run_bench", lambda *_: result)
    assert main(["rntn"]) == 1


class FakeWorker:
    """A process without one. "late" is never ready, "frail" fails at its second repetition."""

    log: ClassVar[list[str]] = []

    def __init__(self, bench, name, folder):
        self.name = name

    def wait_until_ready(self, limit):
        if self.name == "late":
            raise WorkerFailed("late")
        return EXPECTED | {"block": 20, "seconds_a_piece": 0.001, "replicas": 1}

    def run(self, count, limit):
        if self.name == "frail" and "frail 300" in self.log:
            raise WorkerFailed("diverged")
        self.log.append(f"{self.name} {count}")
        return Repetition(count * 20, 0.02 * count / 20, 0.0)

    def close(self):
        self.log.append(f"{self.name} closed")


def test_what_fails_is_closed_before_the_others_go_on(monkeypatch):
    monkeypatch.setattr(harness, "Worker", FakeWorker)
    FakeWorker.log.clear()
    rows = compare_implementations("toy", Path(), EXPECTED, ["late", "frail", "sound"], Budget(4.2), lambda line: None)
    *failed, sound = [(row["note"], row["low"], row["high"], row["reps"]) for row in rows]
    assert failed == [("late", None, None, 0), ("diverged", None, None, 0)]
    assert sound == (None, pytest.approx(20_000), pytest.approx(20_000), 7)
    # 4.2 s are 7 rounds of 2, so 0.3 s each: 300 subsequences.
    expected = ["late closed", "frail 300", "sound 300", "sound 300", "frail closed", "sound 300"]
    assert FakeWorker.log[:6] == expected


def test_the_core_is_probed_before_and_after_every_repetition(monkeypatch):
    monkeypatch.setattr(harness, "Worker", FakeWorker)
    shares = itertools.chain([1.0, 0.5, 0.5, 1.0], itertools.repeat(1.0))
    (row,) = compare_implementations(
        "toy", Path(), EXPECTED, ["sound"], Budget(1.0), lambda line: None, lambda: next(shares)
    )
    assert (row["reps"], row["quiet_reps"]) == (9, 7)


def test_on_a_gpu_the_budget_is_for_checks_too(monkeypatch):
    """Of four seconds, checks get three. The first takes them all, so that no other one begins."""
    clock, limits = [0.0], []

    class Slow(FakeWorker):
        def wait_until_ready(self, limit):
            limits.append(limit)
            clock[0] += 3.5
            return super().wait_until_ready(limit)

    monkeypatch.setattr(harness, "Worker", Slow)
    monkeypatch.setattr(harness.time, "monotonic", lambda: clock[0])
    compare_implementations(
        "toy", Path(), EXPECTED, ["sound", "other"], Budget(4.0, includes_checks=True), lambda line: None
    )
    assert limits == [3.0, 0.0]
    limits.clear()
    compare_implementations("toy", Path(), EXPECTED, ["sound", "other"], Budget(4.0), lambda line: None)
    assert limits == [harness.PREPARATION_LIMIT] * 2


def test_workloads_that_the_budget_of_a_gpu_leaves_no_time_for_are_named(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    clock, lines, written = [0.0], [], []

    def compared(*arguments, **options):
        clock[0] += 10.0
        return []

    monkeypatch.setattr(harness, "compare_implementations", compared)
    monkeypatch.setattr(harness.time, "monotonic", lambda: clock[0])
    bench = SimpleNamespace(make_task=lambda w, folder: rntn.make_task(w, folder, BLOCK), ON_GPU=True, FIRST=("a", "b"))
    selected = [(SENTENCES, ["eager"]), (replace(SENTENCES, name="later"), ["eager"])]
    result = run_bench("gpu", bench, selected, 9.0, lines.append, written.append)
    assert [workload["name"] for workload in result["workloads"]] == ["sentences"]
    assert (lines[-1].partition(":")[0], written) == ("later", [result])


@pytest.mark.parametrize("option", [[], ["--jobs", "2"]])
@pytest.mark.parametrize("named", [True, False])
def test_an_interruption_leaves_the_workloads_that_are_done(monkeypatch, tmp_path, option, named):
    """Beside the committed result, which stays, or in the FILE that is named."""
    monkeypatch.chdir(tmp_path)
    done, committed = iter([[harness._make_row("fused") | {"jobs": 1, "median": 1.0}]]), tmp_path / "committed.json"
    committed.write_text("the old one", encoding="utf-8")

    def compare(*arguments):
        if (rows := next(done, None)) is None:
            raise KeyboardInterrupt
        return rows

    monkeypatch.setattr(harness, "compare_implementations", compare)
    monkeypatch.setattr(jobs, "compare_ways", compare)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr("os.sched_setaffinity", lambda *_: None, raising=False)
    monkeypatch.setattr(rntn, "WORKLOADS", (SENTENCES, replace(SENTENCES, name="later")))
    monkeypatch.setattr("benchmarks.__main__.make_default_path", lambda *_: committed)
    with pytest.raises(KeyboardInterrupt):
        main(["rntn", "--only", "fused", *option, "--json", *(["bench.json"] if named else [])])
    result = json.loads((tmp_path / ("bench.json" if named else "committed.json.part")).read_text())
    assert [workload["name"] for workload in result["workloads"]] == ["sentences"]
    assert [(row["workload"], row["median"]) for row in result["rows"]] == [("sentences", 1.0)]
    assert committed.read_text(encoding="utf-8") == "the old one"


@pytest.mark.parametrize(
    ("name", "limit", "message"),
    [("eager", 0.0, "checking and compiling takes more than 0 s"), ("no such", 60.0, "KeyError: 'no such'")],
)
def test_a_process_that_fails_or_takes_too_long_says_so_in_a_line(name, limit, message, tmp_path):
    rntn.make_task(SENTENCES, tmp_path, BLOCK)
    with closing(Worker("rntn", name, tmp_path)) as started, pytest.raises(WorkerFailed, match=f"^{message}$"):
        started.wait_until_ready(limit)
    assert started.process.returncode is not None


def test_the_document_on_engines_shows_the_committed_results():
    assert make_committed_table(ROOT / "results/bench") in (ROOT / "docs/engines.md").read_text(encoding="utf-8")


def test_a_part_does_not_take_the_place_of_a_result_that_holds_more(tmp_path, monkeypatch, capsys):
    path, others = tmp_path / "bench.json", [row("sentences", "eager", 1.0), row("sentences", "jax", None)]
    result = {"rows": [row("sentences", "fused", 2.0) | {"note": None}]}
    monkeypatch.setattr(rntn, "WORKLOADS", (SENTENCES,))
    monkeypatch.setattr("benchmarks.__main__.make_default_path", lambda *_: path)
    monkeypatch.setattr(harness, "print_result", lambda *_: None)

    def run_bench(*arguments):
        arguments[-1](result)
        return result

    monkeypatch.setattr(harness, "run_bench", run_bench)
    for content in (None, "{", json.dumps({"rows": [row("sentences", "fused", 1.0)]})):
        if content:
            path.write_text(content, encoding="utf-8")
        assert main(["rntn", "--only", "fused", "--json"]) == 0
        assert json.loads(path.read_text(encoding="utf-8")) == result
    whole = json.dumps({"rows": [row("sentences", "fused", 1.0), *others]})
    path.write_text(whole, encoding="utf-8")
    # By what is selected, or by what a budget left time for.
    for only in (["--only", "fused"], []):
        assert main(["rntn", *only, "--json"]) == EXIT_USAGE
        assert "1 rows that are not timed, such as sentences/eager/" in capsys.readouterr().err
        assert path.read_text(encoding="utf-8") == whole


def test_results_of_a_gpu_bear_its_name(monkeypatch):
    monkeypatch.setattr("torch.cuda.get_device_name", lambda: "NVIDIA H200")
    assert make_default_path("gpu", None, on_gpu=True) == COMMITTED / "gpu/nvidia-h200.json"


BAD = {
    "an unknown benchmark": ("rnt", "no benchmark 'rnt'", "did you mean 'rntn'?"),
    "no benchmark": ("", "NAME", "--help"),
    "a benchmark of nothing": ("rntn --only k7", "--only k7", "ptb-h100-k1/fused/ is one"),
    "no time for a benchmark": ("rntn --budget 0", "--budget", "0"),
    "one job beside others": ("rntn --jobs 1", "--jobs 1", "from 2"),
    "no GPU for a benchmark": ("gpu", "no GPU is visible"),
    "a folder in the place of the result": ("rntn --json .", "--json", "name"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_one_line_that_names_it(kind, capsys):
    command, *words = BAD[kind]
    assert main(command.split()) == EXIT_USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert all(word in line for word in words)


def make_results(folder):
    """The results of one processor, on which our engines are four times as fast as all others."""
    for name in BENCHES:
        if not import_module(f"benchmarks.{name}").TABLE_ROWS:
            continue
        result = json.loads((COMMITTED / name / "amd-epyc-zen-5.json").read_text(encoding="utf-8"))
        for row in result["rows"]:
            if row["median"]:
                row |= {"median": 400.0, "ratio_to": dict.fromkeys(row["ratio_to"], 4.0), "share_of_limit": None}
        (folder / name).mkdir()
        (folder / name / "one.json").write_text(json.dumps(result), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("value", "text"), [(0.533, "0.533"), (0.5998, "0.5998"), (0.59999, "0.59999"), (7.9721, "7.97")]
)
def test_what_missed_a_goal_does_not_read_as_the_goal(value, text):
    assert format_missed(value, 0.6 if value < 1 else 8) == text


def test_results_that_are_missing_or_damaged_are_named_with_the_command_that_makes_them(tmp_path):
    path = make_results(tmp_path) / "gso/one.json"
    for content in (b"{", b"[]", b"\xff", b""):
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"gso/one\.json: .*python -m benchmarks gso"):
            make_committed_table(tmp_path)
    path.unlink()
    with pytest.raises(UserError, match=r"gso: no results; .*python -m benchmarks gso"):
        make_committed_table(tmp_path)


def test_every_processor_has_a_row_and_the_range_is_over_all(tmp_path):
    path = make_results(tmp_path) / "gated/one.json"
    slower = json.loads(path.read_text(encoding="utf-8"))
    for row in slower["rows"]:
        if row["implementation"] == "grouped":
            row |= {"ratio_to": dict.fromkeys(row["ratio_to"], 1.0), "share_of_limit": 0.25}
    path.with_name("another.json").write_text(json.dumps(slower), encoding="utf-8")
    table = make_committed_table(tmp_path)
    assert "1.0 to 4.0 times" in table.splitlines()[0]
    every = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    rows = [cells for cells in every if cells[:1] == ["001, r-GRU, H = 244, K = 100"]]
    assert [cells[1] for cells in rows] == ["`another`", "`one`"]
    assert [cells[6] for cells in rows] == ["25 %", "–"]
    assert [line for line in table.splitlines() if "No bandwidth" in line and "`one`" in line]
    ranges = {cells[0]: cells[1:3] for cells in every if cells and cells[0] in ("`another`", "`one`")}
    assert ranges == {"`another`": ["1.0", "4"], "`one`": ["4.0", "9"]}
    reached = {tuple(cells[:2]): cells[2] for cells in every if cells and cells[0].startswith("at least ")}
    shares = [reached["at least 0.6 of the limit", f"`{name}`"] for name in ("another", "one")]
    assert shares == ["0 of 4", "not measured"]
    assert reached["at least 5 times eager PyTorch", "`another`"] == "0 of 4"


def test_goals_of_a_workload_are_for_the_processors_own_instructions(tmp_path):
    path = make_results(tmp_path) / "gso/one.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    for march, name in (("native", "own"), ("x86-64-v3", "narrower")):
        result["machine"]["march"] = march
        path.with_name(f"{name}.json").write_text(json.dumps(result), encoding="utf-8")
    table = make_committed_table(tmp_path)
    missed = table.partition("Goals of single workloads")[2]
    assert "| `gso` | `own` | full-394: fused >= 6 x eager" in missed
    assert "`narrower`" in table
    assert "`narrower`" not in missed


def test_jobs_at_once_and_members_of_a_stack_have_a_row_and_a_sentence(tmp_path):
    ways = {(1, 1, 1): 100.0, (2, 1, 1): 190.0, (1, 2, 1): 19.0, (1, 2, 2): 38.0}
    names = ("jobs", "members", "threads")
    rows = [
        {"workload": workload, "ratio_to_jobs": speed / 190.0}
        | {name: scale * (speed + off) for name, off in (("low", -1), ("median", 0), ("high", 1))}
        | dict(zip(names, way, strict=True))
        for workload, scale in (("ptb-h100-k100", 1.0), ("other", 10.0))
        for way, speed in ways.items()
    ]
    path = make_results(tmp_path) / "jobs/rntn/one.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"jobs": 2, "rows": rows}), encoding="utf-8")
    table = make_committed_table(tmp_path)
    assert "lose at most 5 %" in table
    assert "0.10 to 0.20 times" in table
    assert "| 001, r-RNTN, H = K = 100 | `one` | 2 | 100 (99 to 101) | 190 (189 to 191) | 5 % | 19 | 38 |" in table
    assert "| `other` | `one` | 2 | 1,000 (990 to 1,010) | 1,900 (1,890 to 1,910) | 5 % | 190 | 380 |" in table
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(UserError, match=r"jobs/rntn/one\.json: .*python -m benchmarks rntn --jobs 2 --json"):
        make_committed_table(tmp_path)


CPUINFO = """processor	: 0
vendor_id	: {0}
cpu family	: {1}
model		: {2}
flags		: fpu vme

processor	: 1
vendor_id	: of another core
"""


@pytest.mark.parametrize(
    ("vendor", "family", "model", "name"),
    [
        ("AuthenticAMD", 25, 1, "amd-epyc-zen-3"),
        ("AuthenticAMD", 25, 80, "amd-epyc-zen-3"),
        ("AuthenticAMD", 25, 17, "amd-epyc-zen-4"),
        ("AuthenticAMD", 25, 97, "amd-epyc-zen-4"),
        ("AuthenticAMD", 26, 2, "amd-epyc-zen-5"),
        ("AuthenticAMD", 23, 49, "amd-epyc-23-49"),
        ("GenuineIntel", 25, 1, "amd-epyc-25-1"),
        ("GenuineIntel", 6, 106, "amd-epyc-ice-lake"),
    ],
)
def test_a_file_is_named_after_the_generation_or_the_numbers_of_the_processor(vendor, family, model, name, tmp_path):
    (tmp_path / "cpuinfo").write_text(CPUINFO.format(vendor, family, model), encoding="utf-8")
    facts = read_cpuinfo(tmp_path / "cpuinfo")
    assert name_processor("AMD EPYC", facts) == name
    assert name_processor("AMD EPYC", facts, "x86-64-v3") == f"{name}-x86-64-v3"


def test_a_file_is_named_where_linux_says_nothing(tmp_path):
    assert name_processor("Apple(R) M1", read_cpuinfo(tmp_path / "none")) == "apple-m1"


def test_the_limit_is_the_lower_of_two_lines(monkeypatch):
    caches = Caches(32 << 10, 1 << 20, 32 << 20)
    assert [find_level(size, caches) for size in (1 << 20, (1 << 20) + 1, 33 << 20)] == list(LEVELS)
    bandwidth = {"L2": 100.0, "L3": 50.0, "memory": 10.0}
    assert compute_lower_limit(1e6, [(1e3, "memory")], 100.0, bandwidth) == pytest.approx(1e5)  # arithmetic
    two_levels = [(1e6, "memory"), (5e6, "L3")]
    assert compute_lower_limit(1e6, two_levels, 100.0, bandwidth) == pytest.approx(5e3)  # traffic
    assert compute_lower_limit(1e6, [(1e3, "L2")], None, bandwidth) is None
    monkeypatch.setattr(build, "load_functions", Mock(side_effect=build.NoCompiler("none")))
    assert measure_bandwidths() is None


@needs_compiler
def test_the_core_is_compared_with_its_best_rate():
    ticks = iter([0.0, 0.0, 0.02, 1.0, 1.0, 1.04])
    probe = CoreProbe(0.02, lambda: next(ticks))
    assert probe.measure_share(0.04) == pytest.approx(0.5)  # the same rounds take twice as long
    assert probe.best == pytest.approx(1000 / 0.02)


def test_without_a_compiler_the_core_is_not_compared(monkeypatch):
    monkeypatch.setattr(build, "load_functions", Mock(side_effect=build.NoCompiler("none")))
    assert CoreProbe().measure_share() is None


@needs_compiler
def test_bandwidth_is_no_more_than_a_core_can_load():
    measured = measure_bandwidths(0.05, time.process_time)
    assert list(measured) == list(LEVELS)
    # No core loads three vectors of 64 bytes in a cycle of 6 GHz from anywhere but its L1 cache.
    assert all(0.1 < rate < 1200 for rate in measured.values())


@needs_compiler
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_two_jobs_are_timed_alone_and_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rntn, "WORKLOADS", (SENTENCES,))
    assert main(["rntn", "--jobs", "2", "--budget", "0.2", "--json", "jobs.json"]) == 0
    result = json.loads((tmp_path / "jobs.json").read_text(encoding="utf-8"))
    ways = [tuple(row[key] for key in ("implementation", "jobs", "members", "threads")) for row in result["rows"]]
    assert ways == [("fused", 1, 1, 1), ("fused", 2, 1, 1), ("stacked", 1, 2, 1), ("stacked", 1, 2, 2)]
    assert all(0 < row["low"] <= row["median"] <= row["high"] for row in result["rows"])
    assert (result["jobs"], [workload["name"] for workload in result["workloads"]]) == (2, ["sentences"])


def test_jobs_at_once_are_no_disturbance_to_each_other_and_others_are():
    class Done:
        def __init__(self, others):
            self.start, self.finish = Mock(), Mock(return_value=Repetition(300, 2.0, others))

    facts = {"block": 20, "seconds_a_piece": 0.01}
    for others, quiet in (((2.0, 2.05), True), ((2.0, 2.2), False), ((0.0, 0.0), True), ((None, 2.0), False)):
        workers = [Done(seconds) for seconds in others]
        repetition = jobs.run_at_once([(worker, facts) for worker in workers], 2.0)
        assert (repetition.rate, repetition.is_quiet) == (300.0, quiet)
        assert [worker.start.call_args.args for worker in workers] == [(200,)] * 2


@pytest.mark.parametrize(("others", "quiet"), [((0.0, 0.05), True), ((0.0, 0.2), False), ((0.0, None), False)])
def test_one_job_is_timed_on_every_core_with_the_others_idle(others, quiet):
    log = []

    class Done:
        def __init__(self, tokens, others):
            self.repetition = Repetition(tokens, 2.0, others)

        def start(self, pieces):
            log.append("start")

        def finish(self, limit):
            log.append("finish")
            return self.repetition

    facts = {"block": 20, "seconds_a_piece": 0.01}
    workers = [(Done(tokens, seconds), facts) for tokens, seconds in zip((300, 500), others, strict=True)]
    repetition = jobs.run_by_turns(workers, 2.0)
    assert (repetition.rate, repetition.is_quiet) == (200.0, quiet)
    assert log == ["start", "finish"] * 2


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_jobs_with_another_update_end_the_command(tmp_path, monkeypatch, capsys):
    """Without a process, which on a busy core may need longer than its limit to import torch and to compile."""

    class Wrong(FakeWorker):
        def __init__(self, bench, name, folder, cores, members):
            super().__init__(bench, name, folder)

        def wait_until_ready(self, limit):
            return super().wait_until_ready(limit) | {"loss": 2 * EXPECTED["loss"]}

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rntn, "WORKLOADS", (SENTENCES,))
    monkeypatch.setattr(jobs, "Worker", Wrong)
    monkeypatch.setattr(tasks, "compute_expected", lambda task: EXPECTED)
    FakeWorker.log.clear()
    assert main(["rntn", "--jobs", "2"]) == EXIT_FAILED
    assert "sentences: fused: wrong: " in capsys.readouterr().err
    assert FakeWorker.log == ["fused closed"]


def test_what_was_measured_is_written_after_every_workload(tmp_path, monkeypatch, capsys):
    """An interruption leaves the workloads that are done; a disk that is full ends the command in one line."""

    def interrupted(name, bench, selected, budget, report, keep):
        keep({"rows": [1]})
        raise KeyboardInterrupt

    monkeypatch.setattr(harness, "run_bench", interrupted)
    path = tmp_path / "b.json"
    with pytest.raises(KeyboardInterrupt):
        main(["rntn", "--json", str(path)])
    assert json.loads(path.read_text(encoding="utf-8")) == {"rows": [1]}
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    monkeypatch.setattr("reprise.files.write_json", Mock(side_effect=full))
    assert main(["rntn", "--json", str(path)]) == EXIT_FAILED
    assert "b.json: No space left on device" in capsys.readouterr().err
