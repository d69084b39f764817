"""What the tests of stacks on palindromes share: a configuration, models that differ, the training of one alone."""

from __future__ import annotations

import copy

import numpy as np
import torch

from reprise.data.synthetic.palindromes import palindromes
from reprise.engines.palindromes.native import AutogradEngine
from reprise.kernels.stacked_palindromes import StackedPalindromes
from reprise.models.elman import Elman
from reprise.models.initialisation import initialise_by_fan_in
from reprise.models.lstm import LSTM

CPU = torch.device("cpu")
KINDS = {"elman": Elman, "lstm": LSTM}
BATCH, SYMBOLS, UNITS = 6, 10, 8
RATES, CLIPS = (1e-3, 3e-3, 2e-3), (10.0, 0.3, 0.05)


def config(model="elman"):
    options = {
        "steps": 21,
        "batch_size": BATCH,
        "optimiser": "adam",
        "learning_rate": 0.001,
        "clip_norm": 10.0,
        "log_every": 5,
    }
    sizes = {"hidden_size": UNITS, "weight_law": "fan-in-truncated-normal"}
    return {
        "model": {"name": model, "options": sizes},
        "data": {"dataset": "palindromes", "options": {"length": 8}, "raw": {}},
        "training": {"protocol": "final-digit", "options": options},
        "precision": "float32",
    }


def models_of(kind, count=3, dtype=torch.float32):
    models = [KINDS[kind](SYMBOLS, UNITS, SYMBOLS) for _ in range(count)]
    for seed, model in enumerate(models):
        initialise_by_fan_in(model, torch.Generator().manual_seed(seed))
    return [model.to(dtype) for model in models]


def batches_of(r, length, steps):
    """The palindromes of replica r."""
    generator = torch.Generator().manual_seed(50 + r)
    return [palindromes(length, BATCH, generator) for _ in range(steps)]


def left_halves(which, length, steps):
    """Those of replicas `which`, as a stack is fed."""
    whole = [np.stack([x[: (length + 1) // 2].numpy() for x, _ in batches_of(r, length, steps)]) for r in which]
    return np.stack(whole, 1).astype(np.uint8)


def stack_of(models, length, which=(0, 1, 2), device=CPU, capture=True, span=100):
    """A stack of the replicas `which`, whose models these are."""
    stack = StackedPalindromes(models, [CLIPS[r] for r in which], length, BATCH, span, 100, device, capture)
    stack.begin([RATES[r] for r in which])
    return stack


def alone(model, r, length, steps, epsilon=1e-8, rate=None, clip=None):
    """Replica r after the same training by autograd and torch's Adam; losses and right answers step by step."""
    model = copy.deepcopy(model)
    engine, found = AutogradEngine(model), []
    optimiser = torch.optim.Adam(model.parameters(), lr=rate or RATES[r], eps=epsilon)
    for x, y in batches_of(r, length, steps):
        found.append(engine.loss_and_gradients(x, y))
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip or CLIPS[r])
        optimiser.step()
    losses, right = zip(*found, strict=True)
    return model, list(losses), list(right)
