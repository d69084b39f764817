"""The texts of the protocol windows (`window_text.py`) as the pieces that a stack reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reprise.data.corpus import Corpus
from reprise.evaluation.agreement import Pairs
from reprise.kernels.stacked_loglinear_text import Shape, WindowPieces
from reprise.training.protocols.loglinear_course import END, EPOCH
from reprise.training.protocols.loglinear_text import READING, SlidingWindows, Streams


class StackWindowTexts:
    """All texts of a corpus, one after the other in `tokens`; `text` says how they become windows."""

    def __init__(self, corpus: Corpus, text: SlidingWindows | Streams) -> None:
        parts = [corpus.splits[split].tokens for split in EPOCH]
        self.tokens, self.text = np.concatenate(parts), text
        self.begins = dict(zip(EPOCH, np.cumsum([0, *map(len, parts)]), strict=False))
        self.pieces = {name: text.pieces(self._split(name), None) for name in (*EPOCH[1:], END[0])}
        self.pieces["train"] = text.pieces("train", 0)

    def number(self, name: str) -> int:
        """Of the first piece, among those of an epoch, or of what is read after the last one."""
        return sum(self.pieces[split] for split in EPOCH[: EPOCH.index(name)]) if name in EPOCH else 0

    @property
    def most(self) -> int:
        """Pieces of an epoch, or of what is read after the last one."""
        return max(sum(self.pieces[split] for split in EPOCH), self.pieces[END[0]])

    def training(self, orders: Sequence[np.ndarray]) -> WindowPieces:
        """The training windows in each replica's order (n,); streams have but one."""
        if self.text.carried:
            return self._streams("train", self.text.window, 0)
        return self._windows(self.begins["train"] + np.stack(orders), self.text.batch, 0)

    def reading(self, name: str) -> WindowPieces:
        """A text that is only read, from its beginning."""
        split = self._split(name)
        if self.text.carried:
            return self._streams(split, self.text.steps(split, None), self.number(name))
        starts = self.begins[split] + np.arange(self.text.counts[split])
        return self._windows(starts[None], READING, self.number(name))

    def judged(self, pairs: Pairs) -> WindowPieces:
        """The windows before the pairs; `text` has windows by themselves."""
        begins = np.array([self.begins[split] for split in pairs.splits])
        starts = begins[pairs.split] + pairs.position - self.text.window
        types = np.stack([pairs.right, pairs.wrong]).astype(np.int64)
        return self._windows(starts[None], READING, 0, types)

    def _split(self, name: str) -> str:
        return "train" if name == END[0] else name

    def _windows(self, starts: np.ndarray, B: int, number: int, pairs: np.ndarray | None = None) -> WindowPieces:
        T, n = self.text.window, starts.shape[1]
        shapes: tuple[Shape, Shape] = (T, B), (T, (n - 1) % B + 1)
        return WindowPieces(starts.astype(np.int64), *shapes, number, pairs)

    def _streams(self, split: str, T: int, number: int) -> WindowPieces:
        steps, B = self.text.columns[split][0].shape
        first = np.arange(0, steps, T)[:, None] + steps * np.arange(B)
        starts = (self.begins[split] + first).reshape(1, -1).astype(np.int64)
        return WindowPieces(starts, (T, B), ((steps - 1) % T + 1, B), number)
