"""What the tests of stacks over lines share: models that differ, lines of ragged lengths, the training of one alone."""

from __future__ import annotations

import copy

import numpy as np
import torch
from packed_helpers import drawn, lines

from reprise.engines.gated_step import clipped
from reprise.engines.gso.packing import by_length, pack
from reprise.engines.gso.reference import PaddedEngine
from reprise.kernels.stacked_batches import LineBatches
from reprise.kernels.stacked_lines import Room, StackedLines

CPU = torch.device("cpu")
BATCH, SYMBOLS, COUNT = 6, 9, 660
_LONGEST = np.where(np.arange(COUNT) < 130, 45, 13)
"""The first ones take several chunks, the others one."""
SPLIT = lines(SYMBOLS, np.random.default_rng(7).integers(1, _LONGEST).tolist())
RATES, CLIPS, REDUCTIONS = (1e-3, 3e-3, 2e-3), (0.0, 0.05, 0.0), ("mean-tokens", "mean-lines", "mean-tokens")


def models_of(family, activation, count=3, dtype=torch.float32):
    return [drawn(family, SYMBOLS, 12, 10, activation, seed).to(dtype) for seed in range(count)]


def orders_of(count=3, size=COUNT):
    """Every replica has lines of its own, the later ones fewer, and reads them in an order of its own."""
    return [np.random.default_rng(r).permutation(np.arange(r, size, 1 + 0.04 * r).astype(int)) for r in range(count)]


def text_of(orders, first=0):
    how = [REDUCTIONS[(first + r) % 3] for r in range(len(orders))]
    return LineBatches(SPLIT, orders, BATCH, how)


def stack_of(models, orders, first=0, device=CPU, capture=True):
    """A stack that is about to read `orders`; `first` is the number of its first replica among all."""
    which = [(first + r) % 3 for r in range(len(models))]
    text = text_of(orders, first)
    part = int(text.lengths.sum((0, 2)).max())
    room = Room(BATCH, len(text), int(text.lengths.max()), part)
    stack = StackedLines(models, SPLIT.tokens, [CLIPS[r] for r in which], room, device, capture)
    stack.begin([RATES[r] for r in which])
    stack.enter(text)
    return stack, text


def alone(model, order, r, steps=None, engine=PaddedEngine, epsilon=1e-8, rate=None):
    """One replica after the same training by torch's Adam, and its losses batch by batch."""
    model, losses = copy.deepcopy(model), []
    kernel = engine(model)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate or RATES[r], eps=epsilon)
    for batch in list(pack(SPLIT, order, BATCH))[:steps]:
        losses.append(kernel.train(batch, REDUCTIONS[r]))
        if CLIPS[r]:
            gradients = [parameter.grad for parameter in model.parameters()]
            factor = clipped(1.0, CLIPS[r], gradients)
            for gradient in gradients:
                gradient.mul_(factor)
        optimiser.step()
    return model, losses


def evaluated(model, order):
    """Nats and most probable symbols of one replica by the places of what is predicted."""
    found = {}
    for batch in pack(SPLIT, by_length(SPLIT, order), BATCH):
        nats, best = PaddedEngine(model).evaluate(batch)
        found |= dict(zip(batch.places.tolist(), zip(nats.tolist(), best.tolist(), strict=True), strict=True))
    return found
