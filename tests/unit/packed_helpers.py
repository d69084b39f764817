"""What the tests of document 000's engine and training share: lines, and a small corpus in folds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reprise.data.corpus import Corpus, Split


def lines(n: int, lengths: list[int], seed: int = 0) -> Split:
    """Lines of random symbols with so many tokens each."""
    tokens = np.random.default_rng(seed).integers(0, n, sum(lengths), dtype=np.int32)
    return Split(tokens, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def corpus(folder: Path, count: int = 60, folds: int = 2, n: int = 6) -> Path:
    """Lines that can be learned, since most symbols follow from the one before, in `folds` folds."""
    random = np.random.default_rng(3)
    texts = []
    for length in random.integers(1, 30, count).tolist():
        text = [int(random.integers(n))]
        while len(text) < length:
            text.append((2 * text[-1] + 1) % n if random.random() < 0.9 else int(random.integers(n)))
        texts.append(text)
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    split = Split(np.concatenate(texts).astype(np.int32), offsets)
    part = np.zeros((folds, count), np.uint8)
    for fold in range(folds):
        part[fold, fold::folds] = 2
        part[fold, np.flatnonzero(part[fold] == 0)[::10]] = 1
    counts = np.bincount(split.tokens, minlength=n).astype(np.int64)
    vocabulary = [" ", *"abcdefghijklmnopqrstuvwxyz"][:n]
    path = folder / "lines.npz"
    Corpus("lines", {"lines": split}, vocabulary, counts, {"boundaries": "line"}, extra={"part": part}).save(path)
    return path
