"""Translations: at every time the word that the model finds likeliest."""

from __future__ import annotations

import math
from collections.abc import Collection

import torch
from torch import Tensor

from reprise.models.translation import Translator


@torch.no_grad()
def greedy(
    model: Translator, source: Tensor, lengths: Tensor, end: int, longest: int, barred: Collection[int] = ()
) -> list[list[int]]:
    """The words written for each source (T, B) of `lengths`, up to `end` (which is left out) or `longest` words.

    The word written is the one that the decoder reads next (equation 27). Words in `barred` are never written.
    """
    states, c = model.encode(source, lengths)
    words = torch.full((1, len(lengths)), end)
    open_ = torch.ones(len(lengths), dtype=torch.bool)
    written = []
    for _ in range(longest):
        h, states = model.decode(words, states, c)
        logits = model.logits(h[0])  # (B, V)
        logits[:, list(barred)] = -math.inf
        words = logits.argmax(1)[None]
        written.append(words[0])
        open_ &= words[0] != end
        if not open_.any():
            break
    columns = torch.stack(written).T.tolist()
    return [column[: column.index(end)] if end in column else column for column in columns]
