"""What the tests of the batch-1 engines share: models, text, and the comparison with the readable model."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler

from reprise.engines.rntn import FusedEngine, ReferenceEngine
from reprise.engines.rntn.subsequences import Subsequences
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN, initialise

LENGTHS = [20, 20, 7, 13, 20, 1, 2]
# Sizes on both sides of whole vectors (4, 8, 16) and tiles (8, 16, 32); V > 800 at H = 100: several groups.
MODELS = {
    "s-rnn": lambda: RNTN(130, 16),
    "r-rntn": lambda: RNTN(137, 30, 7),
    "f_mod": lambda: RNTN(64, 31, 5, "f_mod"),
    "rntn": lambda: RNTN(50, 33, 50),
    "shared bias": lambda: RNTN(129, 17, 9, bias="shared"),
    "h_0 = 1": lambda: RNTN(40, 15, 3, h_0=1.0),
    "two words": lambda: RNTN(2, 1, 2),
    "several groups": lambda: RNTN(2051, 100, 40),
    "wide": lambda: RNTN(70, 300, 4),
    "m-rnn": lambda: MRNN(103, 40, 29),
    "m-rnn of one factor": lambda: MRNN(33, 5, 1),
}
ENGINES = [pytest.param(FusedEngine, marks=needs_compiler)]


def small(model, seed=0):
    """Weights under which neither the states saturate nor the recurrence amplifies rounding errors."""
    std = min(0.8, 2 / model.factors**0.5) if isinstance(model, MRNN) else min(0.3, 5 / model.hidden)
    initialise(model, std, torch.Generator().manual_seed(seed))
    return model


def text(vocabulary, lengths=LENGTHS, seed=0):
    random = np.random.default_rng(seed)
    words = random.integers(0, vocabulary, (2, sum(lengths)), dtype=np.int32)
    reset = random.random(len(lengths)) < 0.4
    return Subsequences(words[0], words[1], np.r_[0, np.cumsum(lengths)], reset, first_token=1000)


def trained(engine, data, rate=0.3, reduction="sum", dropout=0.5):
    """The engine's loss over `data`, from a state that is not h_0."""
    engine.hidden = torch.linspace(0, 1, len(engine.hidden))
    return engine.train(data, learning_rate=rate, reduction=reduction, dropout=dropout, key=2**64 - 99)


def pair(engine, model):
    """An engine and the readable model in float64, with the same parameters."""
    return engine(model), ReferenceEngine(copy.deepcopy(model).double())


def worst_error(fast, reference, start):
    """The largest relative error of the update of a parameter since `start`, in the Euclidean norm."""
    ours, exact = fast.export(), reference.export()
    assert ours.keys() == exact.keys()
    updates = {name: exact[name] - start[name].double() for name in exact}
    errors = {name: ours[name].double() - exact[name] for name in exact}
    return max((errors[name].norm() / updates[name].norm()).item() for name in exact)
