"""Folds of a corpus of lines: which lines a replica trains on, which choose its epoch, which test it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reprise.data.corpus import Corpus
from reprise.errors import UserError

PARTS = ("train", "valid", "test")
"""Values 0, 1 and 2 of the corpus's `extra["part"]` (folds, lines)."""


def parts_of_fold(corpus: Corpus, fold: int, path: Path, protocol: str) -> dict[str, np.ndarray]:
    """Numbers of the lines of each part, by name.

    UserError where the corpus, which lies at `path` and which the `protocol` reads, has no such fold, or a part has no
    token to predict.
    """
    folds = corpus.extra.get("part")
    if folds is None:
        raise UserError(f"{path}: this corpus has no folds; the protocol {protocol} needs them")
    if fold >= len(folds):
        raise UserError(f"replica {fold}: {path} has {len(folds)} folds, one a replica; ask for fewer replicas")
    parts = {name: np.flatnonzero(folds[fold] == number) for number, name in enumerate(PARTS)}
    lengths = np.diff(corpus.splits["lines"].offsets)
    for name, lines in parts.items():
        if not (lengths[lines] > 1).any():
            raise UserError(f"{path}: the {name} lines of fold {fold} have nothing to predict; use more lines")
    return parts
