"""What may train together, what comes first, who takes what: the plan of `reprise run`, made without torch."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from stacked_helpers import SENTENCES, WINDOWS, experiment

from reprise.cli.chosen import resolved_files
from reprise.records.resolved import Resolved
from reprise.training.devices import gpus_wanted
from reprise.training.stack_plan import cut, grouped, in_parts, stack_key, stacks_by_name, trains_in_stack


def small(name, **changes):
    return experiment(name, SENTENCES, "data/corpora/c.npz", **changes)


def write(experiments):
    for one in experiments:
        path = Path(one.config_path())
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(one.to_json(), encoding="utf-8")


def test_the_order_is_that_of_the_papers_files_where_they_are_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["late", "early", "early@x=1"]
    which = [experiment(n, SENTENCES, "c.npz") for n in names] + [experiment("gone", SENTENCES, "c.npz", dropout=0.1)]
    which[2] = replace(which[2], assumption="x", alternative="1")
    write(which)
    assert [e.experiment for e in resolved_files("quick")] == ["early", "gone", "late", "early@x=1"]
    Path("config/papers").mkdir(parents=True)
    Path("config/config.yaml").write_text("papers: [p]\n", encoding="utf-8")
    Path("config/papers/p.yaml").write_text("experiments:\n  late: {}\n  early: {}\n", encoding="utf-8")
    assert [e.experiment for e in resolved_files("quick")] == ["late", "early", "early@x=1"]


def test_stacks_hold_what_has_the_same_shape():
    base = {"one": small("one"), "k": small("k", matrices=9, mapping="f_mod", dropout=0.0, loss_reduction="mean")}
    apart = {"h": small("h", hidden_size=9), "t": small("t", subsequence_length=5)}
    gated = {n: experiment(n, WINDOWS, "c.npz", matrices=k) for n, k in (("g3", 3), ("g1", 1), ("g7", 7))}
    check = Resolved("p", "check", "quick", "t", 1, {"check": "x", "tolerance": 0.0}, {}, None)
    everything = [*base.values(), *apart.values(), *gated.values(), check]
    groups = grouped(everything, lambda e: e)
    assert [[e.experiment for e in group] for group in groups] == [
        ["one", "k"],
        ["h"],
        ["t"],
        ["g3", "g7"],
        ["g1"],
        ["check"],
    ]
    other = replace(base["one"], config=base["one"].config | {"precision": "float64"})
    assert stack_key(other) != stack_key(base["one"])


def test_the_work_is_shared_out_and_cut():
    groups = [list("abcde"), ["f"], ["g"], list("hi")]
    assert in_parts(groups, 0, 1) == groups
    first, second = (in_parts(groups, part, 2) for part in (0, 1))
    assert first[:3] == [list("ace"), ["f"], ["h"]]
    assert second[:3] == [list("bd"), ["g"], ["i"]]
    assert sorted(sum(first, [])) == sorted(sum(second, [])) == list("abcdefghi")
    assert cut(groups, 2) == [list("ab"), list("cd"), ["e"], ["f"], ["g"], list("hi")]
    assert cut(groups, 9) == groups


@pytest.mark.parametrize(
    ("engine", "device", "gpus", "expected"),
    [
        ("auto", "auto", 1, True),
        ("auto", "auto", 0, False),
        ("auto", "cpu", 1, False),
        ("stacked", "cpu", 0, True),
        ("fused", "auto", 1, False),
    ],
)
def test_what_trains_in_a_stack(engine, device, gpus, expected):
    which = replace(small("a"), engine=engine, device=device)
    assert trains_in_stack(which, gpus) is expected
    # The stack's job has the GPU, not that of one of its replicas.
    assert gpus_wanted(which, gpus) == 0


def test_the_name_of_a_stack_is_of_its_replicas_alone():
    one, two = small("a"), small("b")
    (name,) = stacks_by_name([one, two])
    assert list(stacks_by_name([two, one])) == [name]
    assert stacks_by_name([one, two]) == {name: [one, two]}
    assert list(stacks_by_name([one, replace(two, replicas=9)])) != [name]
    assert list(stacks_by_name([one])) != [name]


def test_the_plan_needs_no_torch():
    code = "import sys, reprise.training.stack_plan, reprise.cli.run; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
