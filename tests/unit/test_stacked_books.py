"""The stack of document 002's character models, called on the CPU, against the readable models."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from stacked_books_helpers import (
    ALL,
    BATCH,
    CPU,
    LAWS,
    LENGTH,
    alone,
    book,
    course_of,
    models_of,
    stack_of,
    train,
)
from stacked_helpers import distance

from reprise.bench.operations import Operations
from reprise.engines.books.layerwise import LayerwiseEngine
from reprise.kernels.stacked_books import StackedBooks
from reprise.models.deep_lstm import StackedLSTM

BOTH = pytest.mark.parametrize("activation", ["relu", "tanh"])


def same_state(stack, r, after, **tolerances):
    parts = [part for pair in after for part in pair]
    for own, other in zip(stack.state(r)["carried"], parts, strict=True):
        torch.testing.assert_close(own, other, **tolerances)


@BOTH
def test_every_replica_is_its_solo_run_after_a_hundred_steps(activation):
    models = models_of(activation)
    stack = stack_of(models)
    train(stack, 0, 40)
    train(stack, 40, 100)
    found = stack.results(100)
    assert stack.numbers(stack.take_losses()) == pytest.approx([sum(losses) for (losses,) in found])
    for r, model in enumerate(models):
        solo, losses, after = alone(model, r, 100)
        assert found[r][0] == pytest.approx(losses, rel=1e-5)
        assert distance(stack.export(r), solo.state_dict()) < 1e-5
        same_state(stack, r, after, rtol=1e-4, atol=1e-6)


@BOTH
@pytest.mark.parametrize("layers", [1, 3])
def test_in_float64_every_replica_is_its_readable_model(activation, layers):
    models = models_of(activation, layers, torch.float64)
    stack = stack_of(models)
    train(stack, 0, 40)
    for r, (losses,) in enumerate(stack.results(40)):
        exact, expected, after = alone(models[r], r, 40)
        assert losses == pytest.approx(expected, rel=1e-10)
        assert distance(stack.export(r), exact.state_dict()) < 1e-10
        same_state(stack, r, after, rtol=1e-9, atol=1e-12)


@BOTH
def test_gradients_are_those_of_the_readable_model_in_float64(activation):
    # With so large an epsilon the step is the gradient's, and with such a rate it buries the weights.
    rate, epsilon = 1e14, 1e18
    models = models_of(activation)
    stack = stack_of(models)
    stack.begin([rate] * 3, epsilon)
    train(stack, 0, 1)
    for r, model in enumerate(models):
        exact, *_ = alone(copy.deepcopy(model).double(), r, 1, rate, epsilon)
        for name, should in exact.state_dict().items():
            update = (should - model.state_dict()[name]).norm()
            assert (stack.export(r)[name] - should).norm() <= 1e-5 * update, (r, name)


def test_windows_begin_where_the_courses_say_and_states_anew_with_them():
    stack, courses = stack_of(models_of()), [course_of(r) for r in ALL]
    keys = np.array([[course.key_of_places(step) for course in courses] for step in range(60)], np.uint64)
    stack.feed(keys, np.tile(np.arange(60)[:, None], 3))
    wrapped = 0
    for step in range(60):
        stack.place.fill_(step)
        x, y, fresh = stack._windows()
        for r, course in enumerate(courses):
            places, anew = course.places_of(step)
            for own, other in zip((x[r], y[r]), course.windows(places), strict=True):
                assert torch.equal(own.view(LENGTH, BATCH), other)
            assert torch.equal(fresh[r, :, 0], anew)
            wrapped += int(anew.sum()) if step and r else 0
    assert wrapped > 0, "no stream came to the end of the text"


@pytest.mark.parametrize("which", ALL)
def test_a_replica_does_not_depend_on_who_else_is_in_the_stack(which):
    models = models_of()
    together, apart = stack_of(models), stack_of(models[which : which + 1], (which,))
    train(together, 0, 50)
    train(apart, 0, 50, (which,))
    assert together.results(50)[which][0] == pytest.approx(apart.results(50)[0][0], rel=1e-6)
    for name, value in apart.export(0).items():
        torch.testing.assert_close(together.export(which)[name], value, rtol=1e-5, atol=1e-6)


def test_a_replica_that_has_stopped_keeps_its_bits_while_the_others_go_on():
    stack = stack_of(models_of())
    train(stack, 0, 10)
    stopped, going = stack.export(1), stack.export(2)
    stack.begin([0.0025, 0.0, 0.005])
    train(stack, 10, 30)
    assert all(torch.equal(value, stack.export(1)[name]) for name, value in stopped.items())
    assert not any(torch.equal(value, stack.export(2)[name]) for name, value in going.items())


def test_a_replica_that_explodes_leaves_the_others_alone():
    models = models_of()
    stack = stack_of(models)
    state = models[1].state_dict()
    state["U_1"][0, 0] = torch.nan
    stack.load(1, state)
    train(stack, 0, 50)
    found = stack.results(50)
    assert not np.isfinite(found[1][0][1:]).any()
    for r in (0, 2):
        solo, losses, _ = alone(models[r], r, 50)
        assert found[r][0] == pytest.approx(losses, rel=1e-5)
        assert distance(stack.export(r), solo.state_dict()) < 1e-5


def test_it_agrees_with_the_engine_of_one():
    models = models_of()
    stack = stack_of(models)
    train(stack, 0, 1)
    for r, model in enumerate(models):
        x, y = course_of(r).windows(course_of(r).places_of(0)[0])
        loss, _ = LayerwiseEngine(model).loss_and_gradients(x, y, model.initial_state(BATCH))
        assert stack.results(1)[r][0] == pytest.approx([loss], rel=1e-6)


def test_what_was_exported_goes_on_to_the_same_bits():
    models = models_of()
    whole, first, second = (stack_of(models) for _ in range(3))
    train(whole, 0, 30)
    train(first, 0, 11)
    for r in ALL:
        second.load(r, first.export(r))
        second.restore(r, first.state(r))
    train(second, 11, 30)
    for r in ALL:
        assert all(torch.equal(value, second.export(r)[n]) for n, value in whole.export(r).items())
        ours, theirs = whole.state(r), second.state(r)
        assert torch.equal(ours["mean_squares"], theirs["mean_squares"])
        assert all(torch.equal(own, other) for own, other in zip(ours["carried"], theirs["carried"], strict=True))
        assert whole.results(30)[r][0][11:] == second.results(30)[r][0][11:]
    for r, law in enumerate(LAWS):
        second.restore(r, None)
        assert (second.state(r)["mean_squares"] == law.start).all()


def test_export_has_the_readable_models_names_and_a_foreign_one_is_refused():
    models = models_of()
    stack = stack_of(models)
    for r, model in enumerate(models):
        assert list(stack.export(r)) == list(model.state_dict())
        assert all(torch.equal(value, stack.export(r)[name]) for name, value in model.state_dict().items())
    with pytest.raises(ValueError, match="shapes"):
        stack.load(0, StackedLSTM(10, 9, 2, "relu", 1.0).state_dict())
    sizes = {"vocabulary": 10, "hidden_size": 8, "layers": 2, "activation": "relu", "forget_bias": 1.0}
    changes = ({"hidden_size": 9}, {"layers": 1}, {"activation": "tanh"}, {"forget_bias": 0.0})
    for other in (*(StackedLSTM(**sizes | change) for change in changes), StackedLSTM(**sizes).double()):
        with pytest.raises(ValueError, match="one kind and size"):
            tokens = book().splits["train"].tokens
            StackedBooks([models[0], other], LAWS[:2], [False] * 2, tokens, 99, LENGTH, BATCH, 5, 5, CPU)


# As in `test_stacked_subsequences`: none looks at a number, or makes a tensor of the host's.
CAPTURABLE = {
    *("_log_softmax", "_to_copy", "add", "addcmul", "addcmul_", "add_", "baddbmm", "baddbmm_", "bitwise_and_"),
    *("bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_right_shift_", "bitwise_xor_", "bmm", "clamp"),
    *("clamp_min", "clone", "copy_", "div", "div_", "empty_like", "eq", "exp_", "gather", "index_copy_"),
    *("index_select", "linalg_vector_norm", "logical_not", "lt", "masked_fill_", "mul", "mul_", "neg", "reciprocal"),
    *("remainder", "rsub", "scatter_", "scatter_add_", "sigmoid_", "sign", "sqrt_", "sum", "tanh", "zero_"),
}


@BOTH
def test_programs_ask_for_nothing_that_a_graph_cannot_hold(activation):
    counts = []
    for layers in (1, 2):
        stack = stack_of(models_of(activation, layers))
        with torch.no_grad(), Operations() as seen:
            stack._next()
        assert set(seen.counts) <= CAPTURABLE, set(seen.counts) - CAPTURABLE
        counts.append(sum(seen.counts.values()))
    # A step of time of a layer: seven operations there and six back, one less for the first of a lower layer.
    assert 13 * LENGTH <= counts[1] - counts[0] <= 13 * LENGTH + 40
