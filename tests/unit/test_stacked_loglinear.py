"""The stack of log-linear RNNs, called on the CPU, against the readable models and the engines of one."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from stacked_helpers import distance
from stacked_loglinear_helpers import (
    BATCH,
    EITHER,
    WINDOW,
    alone,
    batches_of,
    models_of,
    stack_of,
    streams_of,
    windows_of,
)
from torch.nn import functional

from reprise.engines.loglinear import fast as loglinear_fast
from reprise.engines.loglinear.choose import HandEngine, ReferenceEngine

SCHEMES = pytest.mark.parametrize("carried", [False, True])


@pytest.fixture(autouse=True)
def without_onednn(monkeypatch):
    """Nor oneDNN for the engine of one, which prepares itself for every new shape."""
    monkeypatch.setattr(loglinear_fast, "linear_for", lambda like: functional.linear)


@EITHER
def test_every_replica_is_its_solo_run_after_a_hundred_steps(name, carried):
    models, text = models_of(name), streams_of() if carried else windows_of()
    stack, rounds = stack_of(models, text, carried), 5 if carried else 1
    assert rounds * len(text) >= 100
    losses = [[], [], []]
    for _ in range(rounds):
        stack.enter(text)
        stack.train(text, 0, 13)
        stack.train(text, 13, len(text))
        for own, more in zip(losses, stack.batch_losses(0, len(text)), strict=True):
            own += more
    assert stack.numbers(stack.take_losses()) == pytest.approx([sum(own) for own in losses])
    for r, made in enumerate(models):
        solo, expected = alone(made, text, r, carried, HandEngine, rounds)
        assert losses[r] == pytest.approx(expected, rel=1e-5)
        assert distance(stack.export(r), solo.export()) < 1e-5


@EITHER
def test_in_float64_every_replica_is_its_readable_model_and_is_evaluated_like_it(name, carried):
    models, text = models_of(name, torch.float64), streams_of() if carried else windows_of(count=40)
    stack = stack_of(models, text, carried)
    stack.train(text, 0, len(text))
    losses = stack.batch_losses(0, len(text))
    stack.enter(text)
    stack.evaluate(text, 0, len(text))
    evaluated = stack.batch_losses(0, len(text))
    for r, made in enumerate(models):
        exact, expected = alone(made, text, r, carried)
        assert losses[r] == pytest.approx(expected, rel=1e-11)
        assert distance(stack.export(r), exact.export()) < 1e-11
        if carried:
            exact.reset(BATCH)
        assert evaluated[r] == pytest.approx([exact.evaluate(x, y) for x, y in batches_of(text, r, carried)], rel=1e-11)
        if carried:
            states = torch.stack([part for layer in exact.state for part in layer])
            torch.testing.assert_close(stack.state[r], states, rtol=1e-9, atol=1e-12)


@EITHER
def test_gradients_are_those_of_the_readable_model_in_float64(name, carried):
    # With so large an epsilon the step is the gradient's, and with such a rate it buries the weights.
    rate, epsilon = 1e14, 1e9
    models, text = models_of(name), streams_of() if carried else windows_of(count=2)
    stack = stack_of(models, text, carried)
    stack.begin([rate] * 3, [0.9] * 3, [epsilon] * 3)
    stack.train(text, 0, 1)
    first = next(iter(batches_of(text, 0, carried)))[0].shape
    assert first == (WINDOW, BATCH)
    for r, made in enumerate(models):
        exact = ReferenceEngine(copy.deepcopy(made).double())
        if carried:
            exact.reset(BATCH)
        exact.train(*next(batches_of(text, r, carried)), learning_rate=rate, rho=0.9, epsilon=epsilon)
        for parameter, should in exact.export().items():
            update = (should - made.state_dict()[parameter]).norm()
            assert update > 0
            assert (stack.export(r)[parameter] - should).norm() <= 1e-5 * update, (r, parameter)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_replica_does_not_depend_on_who_else_is_in_the_stack(which):
    models = models_of("ll-rnn")
    together, apart = (
        stack_of(models, windows_of()),
        stack_of(models[which : which + 1], windows_of([which]), which=[which]),
    )
    for stack, text in ((together, windows_of()), (apart, windows_of([which]))):
        stack.train(text, 0, len(text))
    # Alone, the smaller ones are not filled up.
    assert apart.phi.F == apart.phi.sizes[0] == together.phi.sizes[which]
    assert distance(together.export(which), apart.export(0)) < 1e-5


def test_what_fills_up_a_smaller_replica_stays_nothing():
    models, text = models_of("ll-rnn"), windows_of()
    stack = stack_of(models, text)
    stack.train(text, 0, len(text))
    for features, names in ((stack.psi, ["E"]), (stack.phi, ["W_a", "b_a"])):
        for r, size in enumerate(features.sizes):
            for parameter in names:
                assert not stack.p[parameter][r, : features.F - size].any()
                assert stack.p[parameter][r, features.F - size :].any()
    assert (stack.phi.sizes, stack.phi.own) == ((91, 78, 70), 20)


def test_a_rate_of_zero_changes_no_bit_and_disturbs_nobody():
    models, text = models_of("ll-rnn"), windows_of()
    stack = stack_of(models, text)
    stack.train(text, 0, 10)
    stopped, going = stack.export(1), stack.export(2)
    stack.begin([0.001, 0.0, 0.003], [0.9, 0.95, 0.9], [1e-8, 1e-8, 1e-7])
    stack.train(text, 10, len(text))
    assert all(torch.equal(value, stack.export(1)[parameter]) for parameter, value in stopped.items())
    assert not torch.equal(going["E"], stack.export(2)["E"])
    for r in (0, 2):
        solo, _ = alone(models[r], text, r, engine=HandEngine)
        assert distance(stack.export(r), solo.export()) < 1e-5


def test_a_replica_that_explodes_leaves_the_others_alone():
    models, text = models_of("ll-rnn"), windows_of()
    stack = stack_of(models, text)
    with torch.no_grad():
        models[1].W_a[0, 0] = torch.inf
    stack.load(1, models[1].state_dict())
    stack.train(text, 0, len(text))
    losses = stack.batch_losses(0, len(text))
    assert not np.isfinite(losses[1][1:]).any()
    for r in (0, 2):
        solo, expected = alone(models[r], text, r, engine=HandEngine)
        assert losses[r] == pytest.approx(expected, rel=1e-5)
        assert distance(stack.export(r), solo.export()) < 1e-5


@SCHEMES
def test_what_was_exported_goes_on_to_the_same_bits(carried):
    models, text = models_of("ll-rnn"), streams_of() if carried else windows_of()
    whole, first, second = (stack_of(models, text, carried) for _ in range(3))
    whole.train(text, 0, len(text))
    first.train(text, 0, 11)
    for r in range(3):
        second.load(r, first.export(r))
        second.set_optimiser(r, first.optimiser(r))
    if carried:
        second.state = first.state
    second.train(text, 11, len(text))
    for r in range(3):
        for of in ("export", "optimiser"):
            own, other = (getattr(stack, of)(r) for stack in (second, whole))
            assert all(torch.equal(value, own[parameter]) for parameter, value in other.items())
    assert whole.batch_losses(11, len(text)) == second.batch_losses(11, len(text))
    second.set_optimiser(0, None)
    assert not any(value.any() for value in second.optimiser(0).values())


def test_what_rmsprop_keeps_fits_a_stack_of_others():
    models, text = models_of("ll-rnn"), windows_of()
    together, apart = stack_of(models, text), stack_of(models[1:2], windows_of([1]), which=[1])
    together.train(text, 0, 50)
    apart.load(0, together.export(1))
    apart.set_optimiser(0, together.optimiser(1))
    together.train(text, 50, len(text))
    apart.train(windows_of([1]), 50, len(text))
    assert distance(together.export(1), apart.export(0)) < 1e-5
