"""What a stack of log-linear RNNs tells, what it refuses, and what its programs ask of the device; see
`test_stacked_loglinear.py` for its numbers.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from loglinear_helpers import CPU, model
from stacked_loglinear_helpers import (
    BATCH,
    EITHER,
    EVERY,
    TOKENS,
    WINDOW,
    alone,
    batches_of,
    models_of,
    stack_of,
    streams_of,
    windows_of,
)

from reprise.bench.operations import Operations
from reprise.engines.loglinear.choose import ReferenceEngine
from reprise.kernels.stacked_loglinear import Room, StackedLogLinear


@EVERY
def test_pairs_are_judged_by_log_probabilities(name):
    random, n = np.random.default_rng(3), 2 * BATCH + 1
    starts = random.integers(0, len(TOKENS) - WINDOW, (1, n))
    types = random.integers(0, 90, (2, n))
    types[:, 4] = 7  # the same type twice
    text = replace(windows_of(count=3), starts=starts, last=(WINDOW, 1), pairs=types)
    models = models_of(name)
    stack = stack_of(models, text)
    stack.judge(text, 0, 1)
    stack.judge(text, 1, len(text))
    x = torch.from_numpy(TOKENS[starts[0] + np.arange(WINDOW)[:, None]]).long()
    right, wrong = torch.from_numpy(types)
    for r, made in enumerate(models):
        log_p = copy.deepcopy(made).double()(x)
        expected = (log_p[range(n), right] - log_p[range(n), wrong]).tolist()
        assert stack.margins(r, n) == pytest.approx(expected, abs=1e-5)
        assert stack.margins(r, n)[4] == 0


@EVERY
def test_a_loss_beyond_the_smallest_float_is_told_exactly(name):
    models, text = models_of(name), windows_of(count=2)
    with torch.no_grad():
        for made in models:
            made.b_a[3] = 300.0
    stack = stack_of(models, text)
    stack.evaluate(text, 0, len(text))
    for r, made in enumerate(models):
        exact = ReferenceEngine(copy.deepcopy(made).double())
        expected = sum(exact.evaluate(x, y) for x, y in batches_of(text, r, False))
        assert sum(stack.batch_losses(0, 2)[r]) == pytest.approx(expected, rel=1e-6)
        assert expected > 500


def test_export_has_the_readable_models_names_and_a_foreign_one_is_refused():
    models, text = models_of("ll-rnn"), windows_of()
    stack = stack_of(models, text)
    for r, made in enumerate(models):
        assert list(stack.export(r)) == list(made.state_dict())
        assert all(torch.equal(value, stack.export(r)[name]) for name, value in made.state_dict().items())
    with pytest.raises(ValueError, match="shapes"):
        stack.load(0, models[1].state_dict())
    room = Room(((WINDOW, BATCH),), 10, 10)
    for other in (
        model("rnn"),
        model("one-hot input"),
        model("feature input"),
        model(types=80),
        model(sizes=(12, 20)),
        model(layers=1),
        model().double(),
    ):
        with pytest.raises(ValueError, match="one kind and size"):
            StackedLogLinear([model(), other], TOKENS, False, room, CPU)


def test_as_many_features_as_types_are_no_one_hot_vectors():
    made = model("ll-rnn", types=90, tags=70, top=19)
    assert made.psi_rows.columns == made.V
    text = windows_of([0], count=3)
    stack = stack_of([made], text, which=[0])
    stack.train(text, 0, len(text))
    exact, expected = alone(made.double(), text, 0)
    assert stack.batch_losses(0, 3)[0] == pytest.approx(expected, rel=1e-5)


# As in `test_stacked_subsequences`: none looks at a number, or has another shape when the words are others.
CAPTURABLE = {
    *("_softmax", "_log_softmax", "_to_copy", "add", "add_", "addcmul_", "argmax", "baddbmm", "baddbmm_", "bmm"),
    *("clamp", "clamp_", "copy_", "div_", "eq", "exp_", "expand", "gather", "gt", "index_copy_", "index_select"),
    *("lerp_", "log_softmax", "logical_and_", "lt", "mul", "mul_", "neg", "rsub", "scatter_", "scatter_add_", "sqrt"),
    *("sub", "sum", "tanh", "zero_", "zeros_like", "clone"),
}


@EITHER
def test_programs_ask_for_nothing_that_a_graph_cannot_hold(name, carried):
    counts = []
    for first in (0, 5):
        text = streams_of() if carried else windows_of([first, first + 1, first + 2])
        if not carried:
            text = replace(text, pairs=np.random.default_rng(first).integers(0, 90, (2, text.starts.shape[1])))
        stack, found = stack_of(models_of(name), text, carried), []
        stack.reader.go(text, first)
        for program in [stack._train_one, stack._evaluate_one] + [stack._judge_one] * (not carried):
            with torch.no_grad(), Operations() as seen:
                program(WINDOW, BATCH)
            assert set(seen.counts) <= CAPTURABLE, set(seen.counts) - CAPTURABLE
            found.append(seen.counts)
        counts.append(found)
    assert counts[0] == counts[1]


def test_the_work_of_a_launch_grows_with_replicas_and_not_their_number():
    counts = []
    for size in (1, 3):
        text = windows_of(range(size))
        stack = stack_of(models_of("ll-rnn")[:size], text, which=range(size))
        with torch.no_grad(), Operations() as seen:
            stack._train_one(WINDOW, BATCH)
        counts.append(sum(seen.counts.values()))
    assert counts[0] == counts[1]
