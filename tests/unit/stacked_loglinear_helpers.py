"""What the tests of stacks of log-linear RNNs share: models that differ, windows of each one's own, one alone."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from loglinear_helpers import CPU, model

from reprise.engines.loglinear.choose import ReferenceEngine
from reprise.kernels.stacked_loglinear import Room, StackedLogLinear
from reprise.kernels.stacked_loglinear_text import WindowPieces

TOKENS = np.random.default_rng(0).integers(0, 90, 700).astype(np.int32)
WINDOW, BATCH, PIECES = 5, 6, 104
# What can be in one stack: (kind, M, source of features) a replica.
STACKS = {
    "ll-rnn": [("ll-rnn", 20, "corpus"), ("ll-rnn without b", 7, "train"), ("tags alone", 20, "corpus")],
    "rnn": [("rnn", 0, "corpus"), ("rnn with b", 0, "corpus"), ("rnn", 0, "corpus")],
    "one-hot input": [("one-hot input", 9, "train"), ("one-hot input", 30, "corpus"), ("one-hot input", 90, "corpus")],
    "feature input": [("feature input", 12, "corpus"), ("feature input", 3, "train"), ("feature input", 0, "corpus")],
}
EVERY = pytest.mark.parametrize("name", STACKS)
EITHER = pytest.mark.parametrize(("name", "carried"), [*((name, False) for name in STACKS), ("ll-rnn", True)])
RATES, RHOS, EPSILONS = (0.001, 0.002, 0.003), (0.9, 0.95, 0.9), (1e-8, 1e-8, 1e-7)


def models_of(name, dtype=torch.float32):
    """Models of one lexicon, each with weights of its own."""
    made = []
    for seed, (kind, top, source) in enumerate(STACKS[name]):
        one, random = model(kind, top=top, source=source), torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for p in one.parameters():
                p.add_(0.05 * torch.randn(p.shape, generator=random))
        made.append(one.to(dtype))
    return made


def windows_of(replicas=(0, 1, 2), count=PIECES):
    """Windows by themselves, each replica's own; the last piece is smaller."""
    n = (count - 1) * BATCH + 2
    starts = [np.random.default_rng(10 + r).integers(0, len(TOKENS) - WINDOW, n) for r in replicas]
    return WindowPieces(np.stack(starts), (WINDOW, BATCH), (WINDOW, 2))


def streams_of():
    """The text in streams side by side; the last window is shorter."""
    steps = (len(TOKENS) - 1) // BATCH
    starts = (np.arange(0, steps, WINDOW)[:, None] + steps * np.arange(BATCH)).reshape(1, -1)
    return WindowPieces(starts, (WINDOW, BATCH), ((steps - 1) % WINDOW + 1, BATCH))


def stack_of(models, text, carried=False, device=CPU, capture=True, which=(0, 1, 2)):
    """A stack that is about to read the text; `which` are the numbers of its replicas among all."""
    pairs = 0 if text.pairs is None else text.pairs.shape[1]
    room = Room((text.shape, text.last), text.starts.shape[1], text.number + len(text), pairs)
    stack = StackedLogLinear(models, TOKENS, carried, room, device, capture)
    stack.begin(*([values[r] for r in which] for values in (RATES, RHOS, EPSILONS)))
    stack.enter(text)
    return stack


def batches_of(text, row, carried):
    """Words (T, B) and targets of every piece that a replica reads."""
    starts = text.starts[min(row, len(text.starts) - 1)]
    for piece in range(len(text)):
        (T, B), first = text.shape_of(piece), piece * text.shape[1]
        words = TOKENS[starts[first : first + B] + np.arange(T + 1)[:, None]].astype(np.int64)
        yield torch.from_numpy(words[:-1]), torch.from_numpy(words[1:] if carried else words[-1])


def alone(made, text, r, carried=False, engine=ReferenceEngine, rounds=1, **changed):
    """One replica after the same training by itself, and its losses piece by piece."""
    kernel, losses = engine(copy.deepcopy(made)), []
    how = {"learning_rate": RATES[r], "rho": RHOS[r], "epsilon": EPSILONS[r]} | changed
    for _ in range(rounds):
        if carried:
            kernel.reset(BATCH)
        losses += [kernel.train(x, y, **how) for x, y in batches_of(text, r, carried)]
    return kernel, losses
