"""Losses of single words, by how often the word stands in the training text: what frequent and rare words cost."""

from collections.abc import Iterable

import numpy as np
from torch import Tensor

from reprise.records.evaluation import BAND_STARTS, SIDES


def average_losses_by_count(
    losses: Iterable[tuple[Tensor, Tensor, Tensor]], counts: np.ndarray
) -> dict[tuple[str, int], tuple[int, float]]:
    """Average the losses of words whose counts lie in one band.

    Args:
        losses: Batches of the words read last (n,), the words predicted (n,) and their losses (n,), in nats.
        counts: How often each word of the vocabulary stands in the training text, (V,).

    Returns:
        How many words and their mean loss, by the side whose count decides and the band's least count; of bands that
        have a word.
    """
    band_of = np.searchsorted(BAND_STARTS, counts, side="right") - 1
    numbers, sums = (np.zeros((len(SIDES), len(BAND_STARTS))) for _ in range(2))
    for *sides, nats in losses:
        for i, words in enumerate(sides):
            bands = band_of[words.numpy()]
            numbers[i] += np.bincount(bands, minlength=len(BAND_STARTS))
            sums[i] += np.bincount(bands, nats.double().numpy(), minlength=len(BAND_STARTS))
    return {
        (side, least): (int(numbers[i, j]), float(sums[i, j] / numbers[i, j]))
        for i, side in enumerate(SIDES)
        for j, least in enumerate(BAND_STARTS)
        if numbers[i, j]
    }
