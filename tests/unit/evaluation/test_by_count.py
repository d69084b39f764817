"""Losses by the counts of words, on numbers added up by hand."""

import numpy as np
import pytest
import torch

from reprise.evaluation.by_count import LossesByCount


def test_a_loss_belongs_to_the_band_of_each_word_count():
    counts = np.array([0, 9, 10, 5000, 99])
    batches = [
        (torch.tensor([3, 3]), torch.tensor([0, 1]), torch.tensor([4.0, 2.0])),
        (torch.tensor([2]), torch.tensor([4]), torch.tensor([1.0])),
    ]
    sums = LossesByCount(counts)
    for batch in batches:
        sums.add_batch(*batch)
    means = sums.compute_means()
    assert means == {
        ("read", 10): (1, 1.0),
        ("read", 1000): (2, 3.0),
        ("predicted", 0): (1, 4.0),
        ("predicted", 1): (1, 2.0),
        ("predicted", 10): (1, 1.0),
    }
    assert sum(n * loss for (side, _), (n, loss) in means.items() if side == "read") == pytest.approx(7.0)
