"""The stack of document 002's networks for palindromes, called on the CPU, against the readable models."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from stacked_helpers import distance
from stacked_palindromes_helpers import BATCH, CPU, KINDS, alone, batches_of, left_halves, models_of, stack_of
from torch import nn

from reprise.bench.operations import Operations
from reprise.engines.palindromes.native import SequenceEngine
from reprise.kernels.stacked_palindromes import StackedPalindromes
from reprise.models.elman import Elman
from reprise.models.lstm import LSTM

EVERY = pytest.mark.parametrize("kind", KINDS)
ALL = (0, 1, 2)


def train(stack, length, first, last, which=ALL):
    """Steps first .. last-1, fed at once."""
    stack.feed(left_halves(which, length, last)[first:])
    stack.train(last - first, first)


@EVERY
@pytest.mark.parametrize("length", [2, 13])
def test_every_replica_is_its_solo_run_after_a_hundred_steps(kind, length):
    models = models_of(kind)
    stack = stack_of(models, length)
    train(stack, length, 0, 40)
    train(stack, length, 40, 100)
    found = stack.results(100)
    assert stack.numbers(stack.take_losses()) == pytest.approx([sum(losses) for losses, _ in found])
    for r, model in enumerate(models):
        solo, losses, right = alone(model, r, length, 100)
        assert found[r][0] == pytest.approx(losses, rel=1e-5)
        assert found[r][1] == right
        assert distance(stack.export(r), solo.state_dict()) < 1e-5


@EVERY
@pytest.mark.parametrize("length", [10])
def test_in_float64_every_replica_is_its_readable_model(kind, length):
    models = models_of(kind, dtype=torch.float64)
    stack = stack_of(models, length)
    train(stack, length, 0, 40)
    for r, (losses, right) in enumerate(stack.results(40)):
        exact, expected, known = alone(models[r], r, length, 40)
        assert losses == pytest.approx(expected, rel=1e-11)
        assert right == known
        assert distance(stack.export(r), exact.state_dict()) < 1e-11


@EVERY
def test_gradients_are_those_of_the_readable_model_in_float64(kind):
    # With so large an epsilon the step is the gradient's, and with such a rate it buries the weights.
    rate, epsilon = 1e14, 1e9
    models = models_of(kind)
    stack = stack_of(models, 60)
    stack.begin([rate] * 3, epsilon)
    train(stack, 60, 0, 1)
    for r, model in enumerate(models):
        exact, *_ = alone(model.double(), r, 60, 1, epsilon, rate)
        for name, should in exact.state_dict().items():
            update = (should - model.state_dict()[name]).norm()
            assert (stack.export(r)[name] - should).norm() <= 1e-5 * update, (r, name)


@EVERY
def test_it_agrees_with_the_engine_of_one(kind):
    models = models_of(kind)
    stack = stack_of(models, 20)
    train(stack, 20, 0, 1)
    for r, model in enumerate(models):
        loss, right = SequenceEngine(model).loss_and_gradients(*batches_of(r, 20, 1)[0])
        assert stack.results(1)[r] == ([pytest.approx(loss, rel=1e-6)], [right])


@EVERY
@pytest.mark.parametrize("which", ALL)
def test_a_replica_does_not_depend_on_who_else_is_in_the_stack(kind, which):
    models = models_of(kind)
    together, apart = stack_of(models, 10), stack_of(models[which : which + 1], 10, (which,))
    train(together, 10, 0, 50)
    train(apart, 10, 0, 50, (which,))
    assert together.results(50)[which] == (pytest.approx(apart.results(50)[0][0], rel=1e-6), apart.results(50)[0][1])
    for name, value in apart.export(0).items():
        torch.testing.assert_close(together.export(which)[name], value, rtol=1e-5, atol=1e-6)


@EVERY
def test_a_replica_that_has_stopped_keeps_its_bits_while_the_others_go_on(kind):
    stack = stack_of(models_of(kind), 10)
    train(stack, 10, 0, 10)
    stopped, kept, going = stack.export(1), stack.state(1), stack.export(2)
    stack.begin([1e-3, 0.0, 2e-3])
    train(stack, 10, 10, 30)
    assert all(torch.equal(value, stack.export(1)[name]) for name, value in stopped.items())
    assert kept["steps"] == stack.state(1)["steps"] == 10
    assert torch.equal(kept["moments"], stack.state(1)["moments"])
    assert stack.state(2)["steps"] == 30
    assert not any(torch.equal(value, stack.export(2)[name]) for name, value in going.items())


@EVERY
def test_a_replica_that_explodes_leaves_the_others_alone(kind):
    models = models_of(kind)
    stack = stack_of(models, 10)
    state = models[1].state_dict()
    next(iter(state.values()))[0, 0] = torch.nan
    stack.load(1, state)
    train(stack, 10, 0, 50)
    found = stack.results(50)
    assert not np.isfinite(found[1][0][3:]).any()
    for r in (0, 2):
        solo, losses, _ = alone(models[r], r, 10, 50)
        assert found[r][0] == pytest.approx(losses, rel=1e-5)
        assert distance(stack.export(r), solo.state_dict()) < 1e-5


@EVERY
def test_what_was_exported_goes_on_to_the_same_bits(kind):
    models = models_of(kind)
    whole, first, second = (stack_of(models, 10) for _ in range(3))
    train(whole, 10, 0, 30)
    train(first, 10, 0, 11)
    for r in range(3):
        second.load(r, first.export(r))
        second.restore(r, first.state(r))
    train(second, 10, 11, 30)
    for r in range(3):
        assert all(torch.equal(value, second.export(r)[n]) for n, value in whole.export(r).items())
        assert torch.equal(whole.state(r)["moments"], second.state(r)["moments"])
        assert whole.results(30)[r][0][11:] == second.results(30)[r][0][11:]
    second.restore(0, None)
    assert second.state(0)["steps"] == 0
    assert not second.state(0)["moments"].any()


@EVERY
def test_export_has_the_readable_models_names_and_a_foreign_one_is_refused(kind):
    models = models_of(kind)
    stack = stack_of(models, 10)
    for r, model in enumerate(models):
        assert list(stack.export(r)) == list(model.state_dict())
        assert all(torch.equal(value, stack.export(r)[name]) for name, value in model.state_dict().items())
    with pytest.raises(ValueError, match="shapes"):
        stack.load(0, KINDS[kind](10, 9, 10).state_dict())
    with pytest.raises(ValueError, match="one kind and size"):
        StackedPalindromes([*models, KINDS[kind](10, 9, 10)], [1.0] * 4, 10, BATCH, 5, 5, CPU)
    with pytest.raises(ValueError, match="one kind and size"):
        StackedPalindromes([*models, KINDS[kind](10, 8, 10).double()], [1.0] * 4, 10, BATCH, 5, 5, CPU)
    with pytest.raises(ValueError, match="one kind and size"):
        StackedPalindromes([Elman(10, 8, 10), LSTM(10, 8, 10)], [1.0] * 2, 10, BATCH, 5, 5, CPU)
    with pytest.raises(TypeError, match="not Linear"):
        StackedPalindromes([nn.Linear(2, 2)], [1.0], 10, BATCH, 5, 5, CPU)


# As in `test_stacked_subsequences`: none looks at a number, or makes a tensor of the host's.
CAPTURABLE = {
    *("_to_copy", "add", "add_", "addcmul", "addcmul_", "argmax", "baddbmm", "baddbmm_", "bmm", "clamp", "clamp_min"),
    *("clone", "copy_", "div", "eq", "exp_", "expm1", "gather", "index_copy_", "index_select", "lerp_", "sub"),
    *("linalg_vector_norm", "_log_softmax", "mul", "mul_", "neg", "reciprocal", "rsub", "scatter_", "scatter_add_"),
    *("sigmoid_", "sqrt", "sum", "tanh", "tanh_", "zero_"),
}


@EVERY
def test_programs_ask_for_nothing_that_a_graph_cannot_hold(kind):
    counts = []
    for length in (11, 31):
        stack = stack_of(models_of(kind), length)
        with torch.no_grad(), Operations() as seen:
            stack._next()
        assert set(seen.counts) <= CAPTURABLE, set(seen.counts) - CAPTURABLE
        counts.append(sum(seen.counts.values()))
    # A step of time: Elman's two operations forward and two back, the LSTM's seven and five; the first has no before.
    assert counts[1] - counts[0] == 20 * {"elman": 4, "lstm": 12}[kind]
