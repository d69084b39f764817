"""Losses of single words, by how often the word stands in the training text: what frequent and rare words cost."""

import numpy as np
from torch import Tensor

from reprise.records.evaluation import BAND_STARTS, SIDES


class LossesByCount:
    """Sums of the losses of words whose counts lie in one band.

    Batches are not kept: small tensors between large ones fragmented memory, to 16 GB for 60,000 words.

    Args:
        counts: How often each word of the vocabulary stands in the training text, (V,).
    """

    def __init__(self, counts: np.ndarray) -> None:
        self._band_of_word = np.searchsorted(BAND_STARTS, counts, side="right") - 1
        self._band_sizes, self._sums = (np.zeros((len(SIDES), len(BAND_STARTS))) for _ in range(2))

    def add_batch(self, read: Tensor, predicted: Tensor, losses: Tensor) -> None:
        """Add the losses (n,), in nats, of the words predicted (n,), each after the word read last (n,)."""
        for side, words in enumerate((read, predicted)):
            bands = self._band_of_word[words.numpy()]
            self._band_sizes[side] += np.bincount(bands, minlength=len(BAND_STARTS))
            self._sums[side] += np.bincount(bands, losses.double().numpy(), minlength=len(BAND_STARTS))

    def compute_means(self) -> dict[tuple[str, int], tuple[int, float]]:
        """Return how many words and their mean loss, by side and the band's least count; of bands that have a word.

        The side says whose count decides, that of the word read last or of the word predicted.
        """
        return {
            (name, least): (
                int(self._band_sizes[side, band]),
                float(self._sums[side, band] / self._band_sizes[side, band]),
            )
            for side, name in enumerate(SIDES)
            for band, least in enumerate(BAND_STARTS)
            if self._band_sizes[side, band]
        }
