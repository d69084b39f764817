"""The stand-in for CUDA graphs itself: it does not see what a graph would not see, and refuses what cannot be captured.

Beside `test_stacked_capture.py`, where nothing of that may happen.
"""

from __future__ import annotations

import pytest
import stacked_palindromes_helpers
import torch
from stacked_capture_helpers import NotCapturable, Tape, TapedPrograms

from reprise.kernels import stacked
from reprise.kernels.stacked_adam import StackedAdam


@pytest.fixture(autouse=True)
def nothing_taped(monkeypatch):
    monkeypatch.setattr(TapedPrograms, "replayed", 0)


def stepwise():
    """Parameters and losses of replicas on palindromes, whose rates change and who start again from their weights."""
    models = stacked_palindromes_helpers.models_of("elman")
    stack = stacked_palindromes_helpers.stack_of(models, 8)
    stack.feed(stacked_palindromes_helpers.left_halves((0, 1, 2), 8, 8))
    for first, rates in ((0, (0.1, 0.2, 0.3)), (4, (0.3, 0.0, 0.1))):
        stack.begin(rates)
        stack.train(4, first)
    stack.load(1, models[1].state_dict())
    stack.restore(1, None)
    stack.train(4, 8)
    return [value.tolist() for r in range(3) for value in stack.export(r).values()], stack.results(12)


def replaces_rates(adam, rates, epsilon):
    adam.rates, adam.epsilons = torch.tensor(rates, dtype=torch.float64), torch.full((3,), epsilon).double()


def keeps_rates_in_python(adam, there):
    adam.values.sub_(adam.gradients * adam.in_python)


def counts_in_python(adam, there):
    adam.in_python += 1
    adam.values.sub_(adam.gradients / adam.in_python)


def chooses_in_python(adam, there):
    adam.in_python = -adam.in_python
    adam.values.sub_(adam.gradients) if adam.in_python > 0 else adam.values.mul_(0.9)


def replaces_moments(adam, there):
    adam.first = 0.9 * adam.first + 0.1 * adam.gradients
    adam.values.sub_(adam.first)


def holds_on_to_results(adam, there):
    adam.values.sub_(adam.gradients * getattr(adam, "held", 0.1))
    adam.held = adam.gradients * 0.1


FAULTS = {
    "rates that are replaced": ("begin", replaces_rates),
    "rates in Python": ("step", keeps_rates_in_python),
    "steps counted in Python": ("step", counts_in_python),
    "a choice in Python": ("step", chooses_in_python),
    "moments that are replaced": ("step", replaces_moments),
    "a result of the replay before": ("step", holds_on_to_results),
}


@pytest.mark.parametrize("name", [None, *FAULTS])
def test_a_tape_does_not_see_what_a_graph_would_not_see(name, monkeypatch):
    begin = StackedAdam.begin

    def told_in_python(adam, rates, epsilon):
        begin(adam, rates, epsilon)
        adam.in_python = rates[0]

    monkeypatch.setattr(StackedAdam, "begin", told_in_python)
    if name:
        monkeypatch.setattr(StackedAdam, *FAULTS[name])
    called = stepwise()
    monkeypatch.setattr(stacked, "Programs", TapedPrograms)
    assert (stepwise() == called) == (name is None)
    assert TapedPrograms.replayed > 9


def test_a_program_does_not_read_what_another_has_made():
    programs, made, out = TapedPrograms(torch.device("cpu")), {}, torch.zeros(2)

    def makes():
        made["x"] = torch.ones(2) * 2

    def reads():
        out.copy_(made["x"])

    for number in range(4):
        programs.run("makes", makes)
        programs.run("reads", reads)
        assert out.isnan().all() == (number > 0)


def test_one_name_is_of_one_program():
    programs = TapedPrograms(torch.device("cpu"))
    programs.run("one", torch.zeros, 1)
    with pytest.raises(NotCapturable, match="two programs"):
        programs.run("one", torch.zeros, 2)


@pytest.mark.parametrize("wait", [torch.Tensor.item, torch.Tensor.nonzero, torch.Tensor.normal_, lambda x: x[x > 0]])
def test_a_tape_refuses_what_waits_or_draws(wait):
    x = torch.ones(1)
    with pytest.raises(NotCapturable), Tape():
        wait(x)


def test_a_capture_computes_nothing():
    programs, x = TapedPrograms(torch.device("cpu")), torch.zeros(3)
    more = x[1:].add_
    for number in range(1, 4):
        programs.run("more", more, 1.0)
        assert x.tolist() == [0.0, number, number]
    assert programs.captured == 1
