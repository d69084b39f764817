"""The stack of document 000's networks, called on the CPU, against the readable models and the engines of one."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from packed_helpers import FAMILIES, drawn
from stacked_helpers import distance
from stacked_lines_helpers import (
    BATCH,
    COUNT,
    CPU,
    SPLIT,
    alone,
    evaluated,
    models_of,
    orders_of,
    stack_of,
    text_of,
)
from torch import nn
from torch.nn import functional

from reprise.bench.operations import Operations
from reprise.engines.gso import hand as packed_hand
from reprise.engines.gso.hand import HandPackedEngine
from reprise.engines.gso.packing import by_length
from reprise.kernels import stacked_batches
from reprise.kernels.stacked_lines import Room, StackedLines

BOTH = pytest.mark.parametrize("activation", ["tanh", "identity"])
EVERY = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture(autouse=True)
def small_shapes(monkeypatch):
    """Chunks of several widths in so small batches; and no oneDNN, which prepares itself for every new shape."""
    monkeypatch.setattr(stacked_batches, "FEWEST", 2)
    monkeypatch.setattr(packed_hand, "linear_for", lambda like: functional.linear)


@BOTH
@pytest.mark.parametrize("family", ["gso", "gso without E", "first-order", "mi-rnn general"])
def test_every_replica_is_its_solo_run_after_a_hundred_steps(family, activation):
    models, orders = models_of(family, activation), orders_of()
    stack, text = stack_of(models, orders)
    assert len(text) >= 100
    stack.train(text, 0, 40)
    stack.train(text, 40, len(text))
    losses = stack.batch_losses(0, len(text))
    assert stack.numbers(stack.take_losses()) == pytest.approx([sum(own) for own in losses])
    for r, model in enumerate(models):
        solo, expected = alone(model, orders[r], r, engine=HandPackedEngine)
        assert losses[r] == pytest.approx(expected + [0.0] * (len(text) - len(expected)), rel=1e-5)
        assert distance(stack.export(r), solo.state_dict()) < 1e-5


@BOTH
@EVERY
def test_in_float64_every_replica_is_its_readable_model_and_is_evaluated_like_it(family, activation):
    models, orders = models_of(family, activation, dtype=torch.float64), orders_of(size=70)
    stack, text = stack_of(models, orders)
    stack.train(text, 0, len(text))
    losses = stack.batch_losses(0, len(text))
    parts = [by_length(SPLIT, order) for order in orders]
    unseen = text_of(parts)
    assert {P for row in text.widths for P in row} == {2, 3, 6}
    stack.enter(unseen)
    stack.evaluate(unseen, 0, len(unseen))
    for r, model in enumerate(models):
        exact, expected = alone(model, orders[r], r)
        assert losses[r][: len(expected)] == pytest.approx(expected, rel=1e-11)
        assert distance(stack.export(r), exact.state_dict()) < 1e-11
        places, should = unseen.places(r).tolist(), evaluated(exact, parts[r])
        nats, best = stack.evaluation(r, len(places))
        assert sorted(places) == sorted(should)
        assert nats == pytest.approx([should[place][0] for place in places], rel=1e-11)
        assert best.tolist() == [should[place][1] for place in places]
        assert best.dtype == np.int32


@pytest.mark.parametrize(("batch", "widths"), [(64, [8, 16, 32, 64]), (20, [10, 20]), (9, [9]), (4, [4]), (1, [1])])
def test_chunks_have_room_for_the_lines_that_go_on_and_little_more(batch, widths, monkeypatch):
    monkeypatch.setattr(stacked_batches, "FEWEST", 8)
    lengths = -np.sort(-np.random.default_rng(1).integers(0, 90, (5, 3, batch)), 2)
    lengths[2, 1] = 0
    for of_batch, chosen in zip(lengths, stacked_batches.chunk_widths(lengths), strict=True):
        assert len(chosen) == -(-of_batch.max() // stacked_batches.STEPS)
        for chunk, width in enumerate(chosen):
            going = (of_batch > chunk * stacked_batches.STEPS).sum(1).max()
            assert width == min(w for w in widths if w >= going)
    assert stacked_batches.chunk_widths(np.zeros((2, 3, batch), np.int64)) == [[], []]


@EVERY
def test_gradients_are_those_of_the_readable_model_in_float64(family):
    # With so large an epsilon the step is the gradient's, and with such a rate it buries the weights.
    rate, epsilon = 1e14, 1e9
    models, orders = models_of(family, "tanh"), [order[:BATCH] for order in orders_of()]
    stack, text = stack_of(models, orders)
    stack.begin([rate] * 3, epsilon)
    stack.train(text, 0, 1)
    for r, model in enumerate(models):
        exact, _ = alone(copy.deepcopy(model).double(), orders[r], r, epsilon=epsilon, rate=rate)
        for name, should in exact.state_dict().items():
            update = (should - model.state_dict()[name]).norm()
            assert (stack.export(r)[name] - should).norm() <= 1e-5 * update, (r, name)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_replica_does_not_depend_on_who_else_is_in_the_stack(which):
    models, orders = models_of("gso", "tanh"), orders_of(size=130)
    together, text = stack_of(models, orders)
    together.train(text, 0, len(text))
    apart, own = stack_of(models[which : which + 1], orders[which : which + 1], which)
    apart.train(own, 0, len(own))
    assert len(own) <= len(text)
    for name, value in apart.export(0).items():
        torch.testing.assert_close(together.export(which)[name], value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("activation", ["tanh", "identity"])
def test_a_replica_without_lines_keeps_its_bits_while_the_others_go_on(activation):
    models, orders = models_of("gso", activation), orders_of(size=130)
    stack, text = stack_of(models, orders)
    stack.train(text, 0, 10)
    stopped, moments, going = stack.export(1), stack.optimiser(1), stack.export(2)
    orders[1] = orders[1][:0]
    rest = text_of(orders)
    stack.enter(rest)
    stack.train(rest, 10, len(rest))
    assert all(torch.equal(value, stack.export(1)[name]) for name, value in stopped.items())
    assert torch.equal(moments["moments"], stack.optimiser(1)["moments"])
    assert moments["steps"] == stack.optimiser(1)["steps"] == 10
    assert not torch.equal(going["A"], stack.export(2)["A"])


@pytest.mark.parametrize("activation", ["tanh", "identity"])
def test_a_replica_that_explodes_leaves_the_others_alone(activation):
    models, orders = models_of("gso", activation), orders_of(size=130)
    stack, text = stack_of(models, orders)
    with torch.no_grad():
        models[1].A.mul_(1e30)
        models[1].V[0, 0] = torch.inf
    stack.load(1, models[1].state_dict())
    stack.train(text, 0, len(text))
    losses = stack.batch_losses(0, len(text))
    assert not np.isfinite(losses[1][:20]).any()
    for r in (0, 2):
        solo, expected = alone(models[r], orders[r], r, engine=HandPackedEngine)
        assert losses[r][: len(expected)] == pytest.approx(expected, rel=1e-5)
        assert distance(stack.export(r), solo.state_dict()) < 1e-5


def test_what_was_exported_goes_on_to_the_same_bits():
    models, orders = models_of("mi-rnn general", "tanh"), orders_of(size=200)
    (whole, text), (first, _), (second, _) = (stack_of(models, orders) for _ in range(3))
    whole.train(text, 0, len(text))
    first.train(text, 0, 11)
    for r in range(3):
        second.load(r, first.export(r))
        second.set_optimiser(r, first.optimiser(r))
    second.train(text, 11, len(text))
    for r in range(3):
        assert all(torch.equal(value, second.export(r)[n]) for n, value in whole.export(r).items())
        assert torch.equal(whole.optimiser(r)["moments"], second.optimiser(r)["moments"])
    assert whole.batch_losses(11, len(text)) == second.batch_losses(11, len(text))
    second.set_optimiser(0, None)
    assert second.optimiser(0)["steps"] == 0
    assert not second.optimiser(0)["moments"].any()


def test_export_has_the_readable_models_names_and_a_foreign_one_is_refused():
    models, orders = models_of("mi-rnn general", "tanh"), orders_of()
    stack, _ = stack_of(models, orders)
    for r, model in enumerate(models):
        assert list(stack.export(r)) == list(model.state_dict())
        assert all(torch.equal(value, stack.export(r)[name]) for name, value in model.state_dict().items())
    with pytest.raises(ValueError, match="shapes"):
        stack.load(0, models_of("gso", "tanh")[0].state_dict())
    room = Room(4, 1, 10, 10)
    alike = [drawn("gso", 9, 5, 4, "tanh"), drawn("gso", 9, 5, 4, "tanh")]
    for other in (
        drawn("gso", 9, 5, 4, "identity"),
        drawn("gso without E", 9, 5, 4, "tanh"),
        drawn("gso", 9, 5, 6, "tanh"),
        drawn("gso", 9, 5, 4, "tanh").double(),
    ):
        with pytest.raises(ValueError, match="one kind and size"):
            StackedLines([*alike, other], SPLIT.tokens, [0.0] * 3, room, CPU)
    with pytest.raises(TypeError, match="not Linear"):
        StackedLines([nn.Linear(2, 2)], SPLIT.tokens, [0.0], room, CPU)


# As in `test_stacked_subsequences`: none looks at a number, or has another shape when the lines are others.
CAPTURABLE = {
    *("_to_copy", "add", "add_", "addcmul", "addcmul_", "argmax", "baddbmm", "baddbmm_", "bmm", "clamp", "copy_"),
    *("clone", "div", "exp_", "expm1", "fill_", "gather", "gt", "index_copy_", "index_select", "lerp_"),
    *("linalg_vector_norm", "log_softmax", "logical_not", "lt", "masked_fill_", "mul", "mul_", "neg", "reciprocal"),
    *("rsub", "scatter_", "scatter_add_", "sqrt", "sub", "sub_", "sum", "tanh_", "where", "zero_"),
}


@BOTH
@EVERY
def test_programs_ask_for_nothing_that_a_graph_cannot_hold(family, activation):
    counts = []
    for orders in (orders_of(size=30), [order[::-1].copy() for order in orders_of(size=COUNT)]):
        stack, _ = stack_of(models_of(family, activation), orders)
        found = []
        calls = [(stack._open,), (stack._forward, BATCH), (stack._backward, BATCH), (stack._close,)]
        for program, *width in [*calls, (stack._open,), (stack._evaluate, 3), (stack._pass,)]:
            with torch.no_grad(), Operations() as seen:
                program(*width)
            assert set(seen.counts) <= CAPTURABLE, set(seen.counts) - CAPTURABLE
            found.append(seen.counts)
        counts.append(found)
    assert counts[0] == counts[1]
