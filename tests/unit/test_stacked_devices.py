"""All that a stack's programs touch is on its device, and nothing of it is waited for.

The device is torch's "meta", whose tensors have shapes and no numbers: what a program makes on the CPU, takes from
there or wants to know meets it here as it would on a GPU.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import stacked_books_helpers
import stacked_lines_helpers
import stacked_loglinear_helpers
import stacked_palindromes_helpers
import subsequence_helpers
import torch
from packed_helpers import FAMILIES
from stacked_capture_helpers import NotCapturable, ProgramsElsewhere

from reprise.kernels import stacked
from reprise.kernels.stacked_adam import StackedAdam
from reprise.kernels.stacked_features import StackedFeatures
from reprise.kernels.stacked_subsequences import StackedSubsequences
from reprise.kernels.stacked_windows import StackedWindows
from reprise.models.gated import GRU, LSTM
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN

ELSEWHERE = torch.device("meta")


@pytest.fixture(autouse=True)
def pretended(monkeypatch):
    def masses(self, log_b):
        """Of the right shapes: those are computed from numbers."""
        R, V = self.places.shape
        return tuple(torch.zeros(R, n, dtype=torch.float64, device=ELSEWHERE) for n in (self.C, V))

    monkeypatch.setattr(StackedFeatures, "masses", masses)
    monkeypatch.setattr(stacked, "Programs", ProgramsElsewhere)
    monkeypatch.setattr(ProgramsElsewhere, "ran", set())


def subsequences(*models):
    R, data = len(models), subsequence_helpers.text(models[0].vocabulary)
    stack = StackedSubsequences(models, ["sum", "mean", "sum"][:R], [0.5] * R, 20, ELSEWHERE)
    stack.begin([0.3] * R, range(R))
    text = stack.text(data)
    stack.train(text, 0, len(text))
    stack.evaluate(text, 0, len(text))


def windows(*models):
    R, (x, y) = len(models), torch.zeros(2, 50, 4, dtype=torch.int32)
    stack = StackedWindows(models, ["sum-steps"] * R, [0.5] * R, [5.0] * R, 9, 4, ELSEWHERE)
    stack.begin([0.1] * R, [(1, 2)] * R)
    stack.reset(4)
    stack.train(stack.text(x, y), 0, 50)
    stack.reset(1)
    stack.evaluate(stack.text(x[:, :1], y[:, :1]), 0, 50)


def lines(family, activation):
    orders = stacked_lines_helpers.orders_of(size=60)
    models = stacked_lines_helpers.models_of(family, activation)
    stack, text = stacked_lines_helpers.stack_of(models, orders, device=ELSEWHERE)
    stack.train(text, 0, len(text))
    stack.evaluate(text, 0, len(text))


def log_linear(name, carried):
    text = stacked_loglinear_helpers.streams_of() if carried else stacked_loglinear_helpers.windows_of(count=3)
    if not carried:
        text = replace(text, pairs=np.zeros((2, text.starts.shape[1]), np.int64))
    models = stacked_loglinear_helpers.models_of(name)
    stack = stacked_loglinear_helpers.stack_of(models, text, carried, ELSEWHERE)
    for run in (stack.train, stack.evaluate, *([] if carried else [stack.judge])):
        run(text, 0, len(text))


def palindromes(kind):
    stack = stacked_palindromes_helpers.stack_of(stacked_palindromes_helpers.models_of(kind), 8, device=ELSEWHERE)
    stack.feed(stacked_palindromes_helpers.left_halves((0, 1, 2), 8, 3))
    stack.train(3, 0)


def book(activation):
    models = stacked_books_helpers.models_of(activation)
    stacked_books_helpers.train(stacked_books_helpers.stack_of(models, device=ELSEWHERE), 0, 3)


STACKS = {
    "r-rntn": partial(subsequences, RNTN(60, 9, 7), RNTN(60, 9), RNTN(60, 9, 60, bias="shared")),
    "m-rnn": partial(subsequences, MRNN(60, 9, 5), MRNN(60, 9, 5, h_0=1.0)),
    "r-gru": partial(windows, GRU(60, 8, 9, 7), GRU(60, 8, 9, 5, "f_mod")),
    "gru": partial(windows, GRU(60, 8, 9)),
    "r-lstm": partial(windows, LSTM(60, 8, 9, 7), LSTM(60, 8, 9)),
    "lstm": partial(windows, LSTM(60, 8, 9), LSTM(60, 8, 9)),
    **{f"{name}, {act}": partial(lines, name, act) for name in FAMILIES for act in ("tanh", "identity")},
    **{name: partial(log_linear, name, False) for name in stacked_loglinear_helpers.STACKS},
    **{f"{name} on streams": partial(log_linear, name, True) for name in stacked_loglinear_helpers.STACKS},
    **{kind: partial(palindromes, kind) for kind in stacked_palindromes_helpers.KINDS},
    **{f"book, {activation}": partial(book, activation) for activation in ("relu", "tanh")},
}


@pytest.mark.parametrize("name", STACKS)
def test_programs_keep_to_their_device(name):
    STACKS[name]()
    assert ProgramsElsewhere.ran


FAULTS = {
    "a tensor of the CPU": lambda adam, there: adam.values.copy_(torch.zeros(adam.values.shape)),
    "numbers of Python": lambda adam, there: adam.rates.copy_(torch.tensor([1.0] * len(adam.rates))),
    "a number of the device": lambda adam, there: adam.values.mul_(float(adam.rates[0])),
    "a mask": lambda adam, there: adam.values[there].zero_(),
    "as many as there are": lambda adam, there: there.nonzero(),
    "chance": lambda adam, there: adam.values.normal_(),
    "no fixed order": lambda adam, there: adam.values.index_add_(0, adam.count.long(), adam.values),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_program_that_does_otherwise_is_found(name, monkeypatch):
    monkeypatch.setattr(StackedAdam, "step", FAULTS[name])
    with pytest.raises(NotCapturable):
        palindromes("elman")
