"""The batches of document 004's texts: windows of W words (section 5.3 fixes W at 8) and their targets.

Both readers offer three things for a split. `counts` says how many tokens are predicted, `count_batches` how many
batches an epoch or a reading has. `get_batch` returns a batch as words x (T, B) and targets y, (B,) or (T, B), int64.
"""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from reprise import counters
from reprise.errors import UserError
from reprise.training.epochs import lay_out_streams

READ_BATCH_SIZE = 128
"""Targets of a batch that is only read, at most (of streams side by side at least one of each)."""

_ORDER = 1  # stream of random numbers: the order of an epoch's windows


class SlidingWindows:
    """Predict every token from the W tokens before it, each window by itself, from a state of zeros.

    Windows begin at every token (step 1) and cross the bounds of sentences. The first W tokens of a split are only
    read. An epoch takes the training windows in an order of its own, `batch` at a time; the last batch may be smaller.
    """

    is_carried = False

    def __init__(self, tokens: Mapping[str, np.ndarray], window: int, batch: int, seed: int) -> None:
        self.tokens = _convert_texts(tokens, dict.fromkeys(tokens, window))
        self.window, self.batch, self.seed = window, batch, seed
        self.counts = {split: len(text) - window for split, text in self.tokens.items()}
        self.order = lru_cache(maxsize=1)(self._make_order)

    def count_batches(self, split: str, epoch: int | None) -> int:
        """Count the batches of a training epoch, or of a reading (no epoch)."""
        return -(-self.counts[split] // (READ_BATCH_SIZE if epoch is None else self.batch))

    def get_batch(self, split: str, number: int, epoch: int | None) -> tuple[Tensor, Tensor]:
        """Return words (W, B) and the targets (B,)."""
        if epoch is None:
            starts = torch.arange(READ_BATCH_SIZE * number, min(READ_BATCH_SIZE * (number + 1), self.counts[split]))
        else:
            starts = self.order(epoch)[self.batch * number : self.batch * (number + 1)]
        windows = self.tokens[split][starts + torch.arange(self.window + 1)[:, None]]
        return windows[:-1], windows[-1]

    def get_words_before(self, split: str, places: Tensor) -> Tensor:
        """Return the W words before each of these places (n,) of a split, (W, n)."""
        return self.tokens[split][places + torch.arange(-self.window, 0)[:, None]]

    def _make_order(self, epoch: int) -> Tensor:
        """Order the training windows of an epoch by random numbers, ties by their places."""
        numbers = counters.draw_uniform32(counters.compute_key(self.seed, _ORDER, epoch), 0, self.counts["train"])
        return torch.from_numpy(np.argsort(numbers, kind="stable"))


class WindowsInOrder(SlidingWindows):
    """The same windows, in the order of the text in every epoch."""

    def _make_order(self, epoch: int) -> Tensor:
        return torch.arange(self.counts["train"])


class Streams:
    """The text in `batch` streams side by side, W tokens at a time, every token predicting the next one.

    The state goes on from window to window and starts at zeros in every epoch; gradients stay within a window. The
    remainder, fewer than `batch` tokens, is left out of the training text. Other texts are one stream.
    """

    is_carried = True

    def __init__(self, tokens: Mapping[str, np.ndarray], window: int, batch: int, seed: int) -> None:
        del seed  # nothing is drawn
        self.window = window
        texts = _convert_texts(tokens, {split: batch if split == "train" else 1 for split in tokens})
        self.columns = {split: lay_out_streams(text, batch if split == "train" else 1) for split, text in texts.items()}
        self.counts = {split: y.numel() for split, (_, y) in self.columns.items()}

    def count_batches(self, split: str, epoch: int | None) -> int:
        """See `SlidingWindows`."""
        return -(-len(self.columns[split][0]) // self.get_steps(split, epoch))

    def get_batch(self, split: str, number: int, epoch: int | None) -> tuple[Tensor, Tensor]:
        """Return words and targets, (T, B) each; the last window of a text may be shorter."""
        steps = self.get_steps(split, epoch)
        x, y = (part[steps * number : steps * (number + 1)] for part in self.columns[split])
        return x, y

    def get_steps(self, split: str, epoch: int | None) -> int:
        """Return T, the words of each stream in a batch."""
        return max(1, READ_BATCH_SIZE // self.columns[split][0].shape[1]) if epoch is None else self.window


SCHEMES = {"sliding": SlidingWindows, "sliding-in-order": WindowsInOrder, "streams": Streams}


def _convert_texts(tokens: Mapping[str, np.ndarray], read: Mapping[str, int]) -> dict[str, Tensor]:
    """Return the texts as tensors; UserError where one has no token after those that are only read."""
    for split, text in tokens.items():
        if len(text) <= read[split]:
            raise UserError(f"split {split}: {len(text)} tokens are too few for one window; lower window or batch_size")
    return {split: torch.from_numpy(text.astype(np.int64)) for split, text in tokens.items()}
