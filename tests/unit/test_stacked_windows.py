"""The stack of gated language models, called on the CPU, against the readable models."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from reprise import counters
from reprise.bench.operations import Operations
from reprise.engines.gated.choose import GroupedEngine, ReferenceEngine
from reprise.kernels.stacked_matrices import BLOCK, window_blocks
from reprise.kernels.stacked_windows import StackedWindows
from reprise.models.gated import GRU, LSTM, initialise

CPU = torch.device("cpu")
STACKS = {
    "r-gru": [
        lambda: GRU(137, 20, 33, 7),
        lambda: GRU(137, 20, 33, 1),
        lambda: GRU(137, 20, 33, 5, "f_mod"),
        lambda: GRU(137, 20, 33, 40),
    ],
    "gru": [lambda: GRU(90, 20, 33), lambda: GRU(90, 20, 33)],
    "r-lstm": [lambda: LSTM(137, 20, 17, 7), lambda: LSTM(137, 20, 17, 1), lambda: LSTM(137, 20, 17, 5, "f_mod")],
    "lstm": [lambda: LSTM(90, 20, 33), lambda: LSTM(90, 20, 33), lambda: LSTM(90, 20, 33)],
    "two words, one unit": [lambda: LSTM(2, 1, 1, 2)],
}
STEPS, BATCH = 9, 4


def models_of(name):
    models = [make() for make in STACKS[name]]
    for seed, model in enumerate(models):
        initialise(model, min(0.4, 4 / model.hidden), torch.Generator().manual_seed(seed))
    return models


def text(vocabulary, n, batch=BATCH, seed=0):
    random = torch.Generator().manual_seed(seed)
    return tuple(torch.randint(vocabulary, (n, batch), generator=random, dtype=torch.int32) for _ in range(2))


def options(i, rate):
    """How replica i trains: no two alike."""
    return {
        "learning_rate": rate * (1 + i / 10),
        "reduction": ("sum-steps", "mean-steps")[i % 2],
        "clip_norm": (0.5, 1e9)[i % 2],
    }, (0.5, 0.25, 0.0)[i % 3]


def keys_of(i):
    return 2**64 - 99 - i, 77 + i


def stack_of(models, rate):
    how = [options(i, rate) for i in range(len(models))]
    stack = StackedWindows(
        models,
        [h["reduction"] for h, _ in how],
        [dropout for _, dropout in how],
        [h["clip_norm"] for h, _ in how],
        STEPS,
        BATCH,
        CPU,
    )
    stack.begin([h["learning_rate"] for h, _ in how], [keys_of(i) for i in range(len(models))])
    stack.state = tuple(start_of(s) for s in stack.state)
    return stack


def start_of(state):
    """A state (.., B, H) that is not zero, the same for all replicas."""
    one = torch.linspace(-0.7, 0.9, state.shape[-2] * state.shape[-1], dtype=state.dtype)
    return one.view(state.shape[-2:]).expand(state.shape).clone()


def alone(model, i, words, rate, engine=ReferenceEngine, dtype=torch.float64):
    """The engine of one replica after the same training, and its loss."""
    one, total = engine(copy.deepcopy(model).to(dtype)), 0.0
    one.reset(BATCH)
    one.state = tuple(start_of(s) for s in one.state)
    how, dropout = options(i, rate)
    for first in range(0, len(words[0]), STEPS):
        x, y = (part[first : first + STEPS].long() for part in words)
        masks = None
        if dropout:
            shape, sizes = x.shape, (model.embedding, model.hidden)
            masks = tuple(
                counters.dropout_mask_torch(key, first * BATCH, x.numel(), size, dropout, dtype=dtype).view(
                    *shape, size
                )
                for key, size in zip(keys_of(i), sizes, strict=True)
            )
        total += one.train(x, y, masks, **how)
    return one, total


def losses(stack):
    return stack.numbers(stack.take_losses())


@pytest.mark.parametrize("name", STACKS)
def test_every_replica_is_its_readable_model_after_a_hundred_steps(name):
    models = models_of(name)
    V = models[0].vocabulary
    words, unseen = text(V, 100 * STEPS + 5), text(V, 83, 1, seed=1)
    stack = stack_of(models, 0.03)
    stack.train(stack.text(*words), 0, 45)
    whole = stack.text(*words)
    stack.train(whole, 45, len(whole))
    trained, states = losses(stack), stack.state
    stack.reset(1)
    stack.evaluate(stack.text(*unseen), 0, 83)
    evaluated = losses(stack)
    for i, model in enumerate(models):
        exact, loss = alone(model, i, words, 0.03, GroupedEngine, torch.float32)
        assert trained[i] == pytest.approx(loss, rel=1e-6)
        for own, state in zip(states, exact.state, strict=True):
            torch.testing.assert_close(own[i], state, rtol=1e-5, atol=1e-5)
        for parameter, value in stack.export(i).items():
            torch.testing.assert_close(value, exact.export()[parameter], rtol=1e-5, atol=1e-5)
        exact.reset(1)
        assert evaluated[i] == pytest.approx(exact.evaluate(*(part.long() for part in unseen)), rel=1e-6)


@pytest.mark.parametrize("name", STACKS)
def test_gradients_are_those_of_the_readable_model_in_float64(name):
    # One step, so large that the update buries the weights: what is left is the gradient's own error.
    models = models_of(name)
    for n in (STEPS, 5, 1):
        words = text(models[0].vocabulary, n, seed=n)
        stack = stack_of(models, 1e6)
        stack.train(stack.text(*words), 0, n)
        for i, model in enumerate(models):
            exact, _ = alone(model, i, words, 1e6)
            for parameter, should in exact.export().items():
                update = (should - model.state_dict()[parameter]).norm()
                assert (stack.export(i)[parameter] - should).norm() <= 1e-5 * update, (n, i, parameter)


def test_a_replica_that_has_stopped_keeps_its_bits_while_the_others_go_on():
    models = models_of("r-gru")
    stack = stack_of(models, 0.1)
    words = stack.text(*text(137, 5 * STEPS))
    stack.train(words, 0, 2 * STEPS)
    stopped, going = stack.export(1), stack.export(2)
    stack.begin([0.0 if i == 1 else 0.1 for i in range(4)], [keys_of(i) for i in range(4)])
    stack.train(words, 2 * STEPS, len(words))
    assert all(torch.equal(value, stack.export(1)[name]) for name, value in stopped.items())
    assert not torch.equal(going["E"], stack.export(2)["E"])


@pytest.mark.parametrize("name", ["r-gru", "lstm"])
def test_what_was_exported_goes_on_to_the_same_bits(name):
    models = models_of(name)
    words = text(models[0].vocabulary, 6 * STEPS + 2)
    whole, first, second = (stack_of(models, 0.1) for _ in range(3))
    whole.train(whole.text(*words), 0, 6 * STEPS + 2)
    first.train(first.text(*words), 0, 3 * STEPS)
    second.state = first.state
    for i in range(len(models)):
        second.load(i, first.export(i))
    second.train(second.text(*words), 3 * STEPS, 6 * STEPS + 2)
    for i in range(len(models)):
        assert all(torch.equal(value, second.export(i)[n]) for n, value in whole.export(i).items())
    assert all(torch.equal(a, b) for a, b in zip(whole.state, second.state, strict=True))


def test_export_has_the_readable_models_names_and_a_foreign_state_is_refused():
    models = models_of("r-lstm")
    stack = stack_of(models, 0.1)
    for i, model in enumerate(models):
        exported = stack.export(i)
        assert list(exported) == list(model.state_dict())
        assert all(torch.equal(value, exported[name]) for name, value in model.state_dict().items())
    with pytest.raises(ValueError, match="shapes"):
        stack.load(0, models[1].state_dict())
    with pytest.raises(ValueError, match="one kind and size"):
        stack_of([GRU(9, 3, 4), LSTM(9, 3, 4)], 0.1)
    with pytest.raises(ValueError, match="sum-steps"):
        StackedWindows([GRU(9, 3, 4)], ["sum"], [0.5], [5.0], 3, 2, CPU)


def test_blocks_hold_every_word_of_a_window_once_with_those_of_its_matrix():
    models = models_of("r-gru")
    x = text(137, 2 * STEPS + 3)[0].numpy()
    rows, matrices = window_blocks(models, x, STEPS)
    R, nobody = len(models), STEPS * len(models) * BATCH
    assert rows.shape == (3, R, matrices.shape[2] * BLOCK)
    for window in range(3):
        for r, model in enumerate(models):
            k = model.matrix_index(torch.from_numpy(x[window * STEPS : (window + 1) * STEPS]).long()).numpy()
            expected = {(t * R + r) * BATCH + b: k[t, b] for t in range(len(k)) for b in range(BATCH)}
            blocks = rows[window, r].reshape(-1, BLOCK)
            found = {int(row): int(matrices[window, r, n]) for n, block in enumerate(blocks) for row in block}
            found.pop(nobody, None)
            assert found == expected
            assert np.sum(rows[window, r] != nobody) == len(expected)


CAPTURABLE = {
    *("_to_copy", "add", "add_", "addcmul", "addcmul_", "argmax", "baddbmm", "baddbmm_", "bitwise_and_"),
    *("bitwise_right_shift", "bitwise_xor_", "bmm", "clamp", "clone", "copy_", "div", "eq", "exp_", "gather", "ge"),
    *("index_copy_", "index_select", "lerp", "linalg_vector_norm", "log_softmax", "mul", "mul_", "neg", "rsub"),
    *("scatter_add_", "sigmoid_", "stack", "sub", "sum", "tanh", "tanh_", "zero_", "zeros_like"),
}


@pytest.mark.parametrize("name", STACKS)
def test_programs_ask_for_nothing_that_a_graph_cannot_hold(name):
    models = models_of(name)
    stack, V = stack_of(models, 0.1), models[0].vocabulary
    words, stream = stack.text(*text(V, STEPS)), stack.text(*text(V, 20, 1))
    for program, which, T in ((stack._train_one, words, STEPS), (stack._evaluate_one, stream, 20)):
        stack.place.zero_()
        with torch.no_grad(), Operations() as found:
            program(which, T)
        assert set(found.counts) <= CAPTURABLE
