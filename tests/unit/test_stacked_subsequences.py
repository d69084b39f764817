"""The stack of batch-1 language models, called on the CPU, against the readable models and the engine of one."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from subsequence_helpers import small, worst_error

from reprise.bench.operations import Operations
from reprise.engines.rntn import HandEngine, ReferenceEngine
from reprise.engines.rntn.subsequences import Subsequences
from reprise.kernels import stacked_output
from reprise.kernels.stacked_subsequences import StackedSubsequences
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN

CPU = torch.device("cpu")
MIXED = [
    lambda: RNTN(137, 30, 7),
    lambda: RNTN(137, 30, 1),
    lambda: RNTN(137, 30, 137),
    lambda: RNTN(137, 30, 5, "f_mod"),
    lambda: RNTN(137, 30, 9, bias="shared"),
    lambda: RNTN(137, 30, 3, h_0=1.0),
]
STACKS = {
    "mixed K, maps, biases and h_0": MIXED,
    "a bias a matrix": [MIXED[0], MIXED[1], MIXED[3]],
    "one replica": [MIXED[0]],
    "m-rnn": [lambda: MRNN(103, 40, 29), lambda: MRNN(103, 40, 29, h_0=1.0)],
    "two words, one unit": [lambda: RNTN(2, 1, 2), lambda: RNTN(2, 1, 1)],
}
REDUCTIONS, DROPOUTS = ("sum", "mean"), (0.5, 0.25, 0.0)


def models_of(name):
    return [small(make(), seed) for seed, make in enumerate(STACKS[name])]


def text(vocabulary, count, seed=0):
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 21, count)
    words = random.integers(0, vocabulary, (2, lengths.sum()), dtype=np.int32)
    return Subsequences(words[0], words[1], np.r_[0, np.cumsum(lengths)], random.random(count) < 0.4)


def options(i, rate):
    """How replica i trains: no two alike."""
    reduction, dropout = REDUCTIONS[i % 2], DROPOUTS[i % 3]
    return {"learning_rate": rate * (1 + i / 10), "reduction": reduction, "dropout": dropout, "key": 2**64 - 99 - i}


def stack_of(models, rate, capacity=100):
    how = [options(i, rate) for i in range(len(models))]
    stack = StackedSubsequences(
        models, [h["reduction"] for h in how], [h["dropout"] for h in how], 20, CPU, capacity=capacity
    )
    stack.begin([h["learning_rate"] for h in how], [h["key"] for h in how])
    stack.hidden = start_of(stack)
    return stack


def start_of(stack):
    """A state that is not h_0."""
    return torch.linspace(0, 1, stack.hidden.shape[1]).expand(stack.R, -1)


def run(step, text, first=0, last=None):
    last = len(text) if last is None else last
    while first < last:
        end = min(text.piece_end(first, 100), last)
        step(text, first, end)
        first = end


def losses(stack):
    return stack.numbers(stack.take_losses())


def alone(model, i, data, rate, engine=ReferenceEngine, dtype=torch.float64):
    """The engine of one replica after the same training, and its loss."""
    one = engine(copy.deepcopy(model).to(dtype))
    one.hidden = torch.linspace(0, 1, len(one.hidden))
    return one, one.train(data, **options(i, rate))


@pytest.mark.parametrize("name", STACKS)
def test_every_replica_is_its_readable_model_after_a_hundred_steps(name):
    models = models_of(name)
    data = text(models[0].vocabulary, 101)
    stack = stack_of(models, 0.3)
    run(stack.train, stack.text(data))
    trained = losses(stack)
    run(stack.evaluate, stack.text(data))
    evaluated = losses(stack)
    for i, model in enumerate(models):
        exact, loss = alone(model, i, data, 0.3)
        assert trained[i] == pytest.approx(loss, rel=1e-6)
        assert worst_error(_Exported(stack, i), exact, model.state_dict()) < 1e-5
        assert evaluated[i] == pytest.approx(exact.evaluate(data), rel=1e-6)
        single, _ = alone(model, i, data, 0.3, HandEngine, torch.float32)
        single.evaluate(data)
        torch.testing.assert_close(stack.hidden[i], single.hidden, rtol=1e-5, atol=1e-5)
        for parameter, value in stack.export(i).items():
            torch.testing.assert_close(value, single.export()[parameter], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", STACKS)
@pytest.mark.parametrize("parts", [1, 8])
def test_gradients_are_those_of_the_readable_model_in_float64(name, parts, monkeypatch):
    # Steps so large that the update buries the weights: what is left is the gradient's own error.
    monkeypatch.setattr(stacked_output, "parts_for", lambda R, V, device: parts)
    models = models_of(name)
    for count in (1, 20, 7):
        random = np.random.default_rng(count)
        words = random.integers(0, models[0].vocabulary, (2, count), dtype=np.int32)
        data = Subsequences(words[0], words[1], np.array([0, count]), np.array([False]))
        stack = stack_of(models, 1e5)
        stack.train(stack.text(data), 0, 1)
        for i, model in enumerate(models):
            exact, _ = alone(model, i, data, 1e5)
            assert worst_error(_Exported(stack, i), exact, model.state_dict()) < 1e-5


class _Exported:
    """A replica as the comparison of engines wants it."""

    def __init__(self, stack, i):
        self.export = lambda: stack.export(i)


def test_a_replica_does_not_depend_on_who_else_is_in_the_stack():
    models = models_of("mixed K, maps, biases and h_0")
    data = text(137, 40)
    together, apart = stack_of(models, 0.3), stack_of(models[:1], 0.3)
    for stack in (together, apart):
        run(stack.train, stack.text(data))
    for name, value in apart.export(0).items():
        torch.testing.assert_close(together.export(0)[name], value, rtol=1e-6, atol=1e-6)


def test_a_replica_that_has_stopped_keeps_its_bits_while_the_others_go_on():
    models = models_of("mixed K, maps, biases and h_0")
    stack, data = stack_of(models, 0.3), text(137, 60)
    device_text = stack.text(data)
    run(stack.train, device_text, 0, 30)
    stopped, going = stack.export(2), stack.export(3)
    stack.begin([0.0 if i == 2 else 0.3 for i in range(6)], range(6))
    run(stack.train, device_text, 30)
    assert all(torch.equal(value, stack.export(2)[name]) for name, value in stopped.items())
    assert not torch.equal(going["W_o"], stack.export(3)["W_o"])


@pytest.mark.parametrize("name", ["mixed K, maps, biases and h_0", "m-rnn"])
def test_what_was_exported_goes_on_to_the_same_bits(name):
    models = models_of(name)
    data = text(models[0].vocabulary, 60)
    whole, first = stack_of(models, 0.3), stack_of(models, 0.3)
    run(whole.train, whole.text(data))
    run(first.train, first.text(data), 0, 23)
    second = stack_of(models, 0.3)
    second.hidden = first.hidden
    for i in range(len(models)):
        second.load(i, first.export(i))
    run(second.train, second.text(data), 23)
    for i in range(len(models)):
        assert all(torch.equal(value, second.export(i)[n]) for n, value in whole.export(i).items())
    assert torch.equal(whole.hidden, second.hidden)


def test_export_is_a_copy_and_a_foreign_state_is_refused():
    models = models_of("mixed K, maps, biases and h_0")
    stack = stack_of(models, 0.3)
    exported = stack.export(4)
    run(stack.train, stack.text(text(137, 10)))
    for i, model in enumerate(models):
        assert list(stack.export(i)) == list(exported)
        assert {n: v.shape for n, v in stack.export(i).items()} == {n: v.shape for n, v in model.state_dict().items()}
    assert all(torch.equal(value, exported[name]) for name, value in models[4].state_dict().items())
    with pytest.raises(ValueError, match="shapes"):
        stack.load(0, models[1].state_dict())


def test_models_of_other_sizes_and_unknown_reductions_are_refused():
    with pytest.raises(ValueError, match="one kind and size"):
        StackedSubsequences([RNTN(20, 4), RNTN(20, 5)], ["sum"] * 2, [0.5] * 2, 20, CPU)
    with pytest.raises(ValueError, match="one kind and size"):
        StackedSubsequences([RNTN(20, 4), MRNN(20, 4, 4)], ["sum"] * 2, [0.5] * 2, 20, CPU)
    with pytest.raises(ValueError, match="reduction"):
        StackedSubsequences([RNTN(20, 4)], ["max"], [0.5], 20, CPU)
    stack = StackedSubsequences([RNTN(20, 4)], ["sum"], [0.5], 20, CPU, capacity=10)
    with pytest.raises(ValueError, match="more than 10 words"):
        stack.text(Subsequences(*np.zeros((2, 11), np.int32), np.array([0, 11]), np.array([True]))).piece_end(0, 10)


def test_a_loss_beyond_the_smallest_float_is_told_exactly():
    model = small(RNTN(30, 5, 3))
    with torch.no_grad():
        model.b_o[7] = 300.0  # all other words have probability exp(-300), which float32 cannot hold
    data = text(30, 5)
    stack = stack_of([model], 0.3)
    run(stack.train, stack.text(data))
    assert losses(stack)[0] == pytest.approx(alone(model, 0, data, 0.3)[1], rel=1e-6)


# Operations that a program may ask for: none looks at a number, makes a tensor of the host's, or has another shape
# when the words are others. A CUDA graph of them does the same as they do.
CAPTURABLE = {
    *("add", "add_", "addcmul", "addmm_", "baddbmm_", "bmm", "copy_", "exp_", "gather", "index_copy_", "index_select"),
    *("log_softmax", "mul", "mul_", "scatter_add_", "sigmoid_", "sum"),
}


@pytest.mark.parametrize("name", STACKS)
def test_programs_ask_for_nothing_that_a_graph_cannot_hold(name):
    models = models_of(name)
    counts = {}
    for T in (20, 5):
        stack = stack_of(models, 0.3)
        data = Subsequences(*np.zeros((2, T), np.int32), np.array([0, T]), np.array([True]))
        stack.stage.fill(stack.text(data), 0, 1, True)
        for program in (stack._train_one, stack._evaluate_one):
            with torch.no_grad(), Operations() as found:
                program(T)
            assert set(found.counts) <= CAPTURABLE
            counts[program.__name__, T] = sum(found.counts.values())
    # Two operations a step of time forward and two backward; the m-RNN has twice as many.
    a_step = 8 if name == "m-rnn" else 4
    assert counts["_train_one", 20] - counts["_train_one", 5] == 15 * a_step
