"""Lines packed, and what the fast engine makes of networks that explode."""

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler
from corpus_helpers import random_split
from protocol_helpers import lines_of

from reprise.engines.gso.native import FusedEngine
from reprise.engines.gso.packing import pack_lines
from reprise.models.gso import GSO

pytestmark = pytest.mark.usefixtures("march")


@needs_compiler
def test_an_exploding_network_has_a_loss_that_is_not_finite():
    model, generator = GSO(6, 8, 9, True, True, "identity"), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(0.0, 0.2, generator=generator)
        model.E.mul_(1e6)
    (batch,) = pack_lines(random_split(6, [60, 60]), np.arange(2), 64)
    engine = FusedEngine(model)
    assert not np.isfinite(engine.train(batch, "mean-tokens"))
    assert not np.isfinite(engine.evaluate(batch)[0].mean())


@pytest.mark.parametrize("size", [1, 3, 4, 64])
def test_lines_that_predict_something_are_packed_longest_first_in_their_batches(size):
    lengths = [5, 1, 9, 2, 2, 7, 1, 30, 4, 6, 3]
    split, order = random_split(50, lengths), np.random.default_rng(1).permutation(len(lengths))
    long, packed = [i for i in order if lengths[i] > 1], pack_lines(split, order, size)
    assert len(packed) == -(-len(long) // size)
    for number, batch in enumerate(packed):
        lines = sorted(long[number * size :][:size], key=lambda i: -lengths[i])
        assert lines_of(batch) == [list(range(split.offsets[i] + 1, split.offsets[i + 1])) for i in lines]
        assert np.array_equal(batch.targets, split.tokens[batch.places])
        assert np.array_equal(batch.inputs, split.tokens[batch.places - 1])
