"""Replicas on palindromes that train as stacks: the records of solo runs, resumed, out of memory, or wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from stacked_helpers import experiment, jobs_of, never, runner_of
from stacked_palindromes_helpers import config
from stacked_training_helpers import (
    halved_for_want_of_memory,
    held,
    in_pieces,
    leaves_the_records_of_solo_runs,
    records,
    refused,
    run_and_train,
    solo_of,
    stopped_after,
    too_far,
    trains_in_float64,
    unclipped,
)

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.data.synthetic.palindromes import palindromes
from reprise.kernels.stacked_adam import StackedAdam
from reprise.kernels.stacked_palindromes import StackedPalindromes
from reprise.training import stack_palindromes
from reprise.training.stack_plan import grouped, stack_key


def made(name, model="elman", replicas=1, **changes):
    return experiment(name, config(model), None, replicas, **changes)


def unlike(model="elman"):
    """Experiments of one stack that stop at different steps; the last one diverges."""
    return [
        made("two", model, replicas=2),
        made("clipped", model, clip_norm=0.05, log_every=3, weight_law="fan-in-truncated-normal-corrected"),
        made("long", model, replicas=2, steps=43, learning_rate=0.002),
        made("diverges", model, learning_rate=3e37, steps=30),
    ]


def solo(job, folder):
    return solo_of(job, folder, "reference")


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch):
    """Several rounds, and several pieces of work in each."""
    monkeypatch.setattr(stack_palindromes, "ROUND", 14)
    monkeypatch.setattr(stack_palindromes, "_SPAN", 40)


@pytest.mark.parametrize("model", ["elman", "lstm"])
def test_a_stack_leaves_the_records_of_solo_runs(model, tmp_path):
    jobs = jobs_of(unlike(model), tmp_path / "stack")
    said = leaves_the_records_of_solo_runs(jobs, solo, tmp_path / "stack", (2, 6))
    assert any("finished after 43 steps" in line for line in said)
    assert any("5 in training; loss" in line for line in said)


def together(model):
    """Experiments that stop at the same step."""
    return [made("a", model, replicas=2), made("b", model, learning_rate=0.003)]


@pytest.mark.parametrize("model", ["elman", "lstm"])
@pytest.mark.parametrize(("make", "to_the_bit"), [(together, True), (unlike, False)])
def test_a_stack_that_was_stopped_often_goes_on_to_the_same_numbers(make, to_the_bit, model, tmp_path):
    whole, jobs = jobs_of(make(model), tmp_path / "whole"), jobs_of(make(model), tmp_path / "pieces")
    runner_of([whole]).run(never)
    _, states = in_pieces(jobs, lambda start: 2 + start % 3, most=60)
    assert any(state["training"]["step"] % 14 for state in states)
    for own, exact in zip(records(jobs), records(whole), strict=True):
        held(own, exact, rel=0 if to_the_bit else 1e-5)
        assert own["run"]["resumed"] > 0


def test_replicas_of_other_steps_join_a_stack(tmp_path):
    first = jobs_of([made("a", replicas=2)], tmp_path)
    runner_of([first[:1]]).run(stopped_after(3))
    said = []
    runner_of([first], said).run(never)
    assert any("a stack of 2" in line for line in said)
    for own, job in zip(records(first), first, strict=True):
        held(own, solo(job, tmp_path))
    assert [record["run"]["resumed"] for record in records(first)] == [1, 0]


def test_out_of_memory_halves_the_stack_and_says_so(tmp_path, monkeypatch):
    halved_for_want_of_memory(StackedPalindromes, jobs_of(unlike()[:3], tmp_path), monkeypatch)


@pytest.mark.parametrize("wrong", ["gradient", "step", "clipping", "data"])
def test_a_stack_that_computes_something_else_trains_nothing(wrong, tmp_path, monkeypatch):
    softmax, step, feed = StackedPalindromes._through_softmax, StackedAdam.step, StackedPalindromes.feed

    def off(self, h, y):
        return softmax(self, h, y) * (1 + 1e-3)

    def another(self, left):
        feed(self, (left + 1) % 10)

    name, change = {
        "gradient": ("_through_softmax", off),
        "step": ("step", too_far(step)),
        "clipping": ("step", unclipped(step)),
        "data": ("feed", another),
    }[wrong]
    monkeypatch.setattr(StackedAdam if name == "step" else StackedPalindromes, name, change)
    refused(jobs_of(unlike()[:2], tmp_path))


def test_a_stack_waits_for_the_device_once_a_round(tmp_path, monkeypatch):
    asked = []
    real = StackedPalindromes.results
    monkeypatch.setattr(StackedPalindromes, "results", lambda self, n: asked.append(n) or real(self, n))
    runner_of([jobs_of([made("a", replicas=3, steps=40)], tmp_path)]).run(never)
    assert asked == [14, 14, 12]


def test_how_long_a_stack_will_take_is_told_by_its_steps(tmp_path):
    runner, seen = runner_of([jobs_of([made("a"), made("b", steps=40)], tmp_path)]), []

    def watch():
        seen.extend((r.epochs.progress, r.epochs.left(lambda e: None)) for r in runner.running)
        return ""

    runner.run(watch)
    assert len(seen) > 4
    assert {round(progress + left) for progress, left in seen} == {40}


def test_stacks_hold_what_has_the_same_shape():
    longer = replace(made("t"), config=config() | {"data": {**config()["data"], "options": {"length": 9}}})
    apart = [longer, made("h", hidden_size=9), made("b", batch_size=5), made("lstm", "lstm")]
    groups = grouped([*unlike(), *apart], lambda e: e)
    assert [len(group) for group in groups] == [4, 1, 1, 1, 1]
    assert stack_key(made("a")) == stack_key(made("b", learning_rate=1.0, steps=3, clip_norm=1.0, log_every=9))


def test_the_papers_experiments_of_one_length_share_a_stack_whatever_their_steps_and_weight_law():
    project = load_project(Path(__file__).parents[2], {"papers": ["palindromes"]})
    trained = [e for e in resolve_tier(project, "paper") if not e.is_check]
    groups = [sorted(e.experiment for e in group) for group in grouped(trained, lambda e: e)]
    assert ["rnn-t10", "rnn-t10-long", "rnn-t10@weight-law=corrected"] in groups
    assert ["lstm-t500", "lstm-t500-long", "lstm-t500-long@weight-law=corrected"] in groups
    assert len(groups) == 5 + 8
    assert all(stack_key(e) is not None for e in trained)


def test_run_leaves_the_records_that_train_would(tmp_path, monkeypatch):
    one = replace(made("a", replicas=2), engine="stacked")
    for own, reference, stacked in run_and_train(one, ("reference", "stacked"), tmp_path, monkeypatch):
        assert stacked["run"]["stack_replicas"] == 1
        held(own, reference)
        held(stacked, reference)


def test_float64_is_trained_in_float64(tmp_path):
    trains_in_float64(made("a", "lstm", replicas=2), solo, tmp_path)


@pytest.mark.parametrize("length", [9, 12])
def test_palindromes_drawn_at_once_are_those_drawn_one_by_one(length):
    at_once, one_by_one = (torch.Generator().manual_seed(5) for _ in range(2))
    found = stack_palindromes.left_halves(length, 7, 4, at_once)
    for left in found:
        x, y = palindromes(length, 7, one_by_one)
        assert left.tolist() == torch.cat([x, y[None]])[: (length + 1) // 2].tolist()
    assert torch.equal(at_once.get_state(), one_by_one.get_state())
