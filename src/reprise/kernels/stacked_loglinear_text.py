"""Windows of words as the replicas of a stack read them, each from places of its own in one text on the device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

Shape = tuple[int, int]
"""Words of a window, and windows side by side."""


@dataclass(frozen=True)
class WindowPieces:
    """Pieces of windows, (T, B) each; the window from place s on is the tokens s .. s + T - 1 of the stack's text.

    `starts` (R, n), or (1, n) where all replicas read the same: piece after piece the places of its B windows. All
    pieces are of one `shape` but the last, which may have fewer words or windows. The losses go to places from `number`
    on. `pairs` (2, n), if any, are the types that are compared after each window.
    """

    starts: np.ndarray
    shape: Shape
    last: Shape
    number: int = 0
    pairs: np.ndarray | None = None

    def __len__(self) -> int:
        return -(-self.starts.shape[1] // self.shape[1])

    def shape_of(self, piece: int) -> Shape:
        return self.last if piece == len(self) - 1 else self.shape


class WindowReader:
    """The device's side, for R replicas, `entries` starts and `pairs` pairs at most; windows of at most `words` words.

    After `take(T, B)`: the words `x` (R, T, B), and the ones after each, `after` (R, T, B).
    """

    def __init__(self, tokens: np.ndarray, R: int, words: int, entries: int, pairs: int, device: torch.device) -> None:
        integers = {"dtype": torch.int64, "device": device}
        self.tokens = torch.from_numpy(tokens.astype(np.int64)).to(device)
        self.starts, self.types = torch.zeros(R, entries, **integers), torch.zeros(2, pairs, **integers)
        self.place, self.number = (torch.zeros(1, **integers) for _ in range(2))  # of what comes next
        self.within = torch.arange(words + 1, **integers)[:, None]
        self.beside = torch.arange(entries, **integers)

    def upload(self, text: WindowPieces) -> None:
        """Takes another text's places, without waiting for what the device has still to do with those before."""
        pairs = [(self.starts, text.starts), *([] if text.pairs is None else [(self.types, text.pairs)])]
        for own, array in pairs:
            values = torch.from_numpy(array)
            if own.is_cuda:  # as they are: to copy them to every row from here would wait for the device
                values = values.pin_memory().to(own.device, non_blocking=True)
            own[:, : array.shape[1]].copy_(values)

    def go(self, text: WindowPieces, piece: int) -> None:
        """To this piece of the text."""
        self.place.fill_(piece * text.shape[1])
        self.number.fill_(text.number + piece)

    def take(self, T: int, B: int) -> None:
        """The next piece; part of a program."""
        self.columns = self.beside[:B] + self.place
        at = self.starts.index_select(1, self.columns)[:, None] + self.within[: T + 1]  # (R, T + 1, B)
        words = self.tokens.index_select(0, at.view(-1)).view(at.shape)
        self.x, self.after = words[:, :-1], words[:, 1:]
        self.place.add_(B)
        self.number.add_(1)
