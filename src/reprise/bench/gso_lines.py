"""The lines of a benchmark of document 000: of the prepared corpus if there is one, else random ones like them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reprise.bench.gso_task import BATCH, Workload
from reprise.bench.texts import CORPORA
from reprise.data.corpus import Corpus, Split
from reprise.errors import UserError

# Lengths of the lines of the Penn Treebank's text: mean 114.7 characters, deviation 57.2, median 109. A Weibull law
# with this mean and deviation has median 108.9, and random batches of 64 are padded as much as the real ones.
_SHAPE, _SCALE = 2.11, 129.5
_BIGRAMS = 0.64
"""Tokens of a line in bigrams over its characters."""


def lines_for(workload: Workload, batches: int, corpora: Path = CORPORA) -> tuple[Corpus, str]:
    """A corpus of one fold: `batches` full batches of training lines, a ninth as many to validate, and one to test.

    Also where the lines come from.
    """
    training = batches * BATCH
    count = training + training // 9 + 1
    random = np.random.default_rng(0)
    found = _corpus(workload, corpora)
    if found is None:
        lines, origin = _random(workload, count, random), "random lines of a Weibull law of lengths"
    else:
        path, corpus = found
        lines, origin = _chosen(corpus.splits["lines"], count, random), f"random lines of {path.as_posix()}"
    if workload.length:
        lines, origin = _cut(lines, workload, count, random), f"{origin}, in pieces of one length"
    part = np.repeat([0, 1, 2], [training, count - training - 1, 1]).astype(np.uint8)
    vocabulary = [f"<{i}>" for i in range(workload.vocabulary)]
    counts = np.bincount(lines.tokens, minlength=workload.vocabulary).astype(np.int64)
    return Corpus("bench", {"lines": lines}, vocabulary, counts, extra={"part": part[None]}), origin


def _corpus(workload: Workload, corpora: Path) -> tuple[Path, Corpus] | None:
    for path in sorted(corpora.glob("wsj-characters-*.npz")):
        try:
            corpus = Corpus.load(path)
        except UserError:
            continue
        if len(corpus.vocabulary) == workload.vocabulary:
            return path, corpus
    return None


def _chosen(lines: Split, count: int, random: np.random.Generator) -> Split:
    """`count` of the lines that predict something; some of them twice where there are too few."""
    able = np.flatnonzero(np.diff(lines.offsets) > 1)
    chosen = np.concatenate([random.permutation(able) for _ in range(1 + count // len(able))])[:count]
    return _joined([lines.tokens[slice(*lines.offsets[i : i + 2])] for i in chosen.tolist()])


def _random(workload: Workload, count: int, random: np.random.Generator) -> Split:
    scale = _SCALE * (_BIGRAMS if workload.tokens == "bigrams" else 1)
    lengths = (scale * random.weibull(_SHAPE, count)).round().astype(np.int64).clip(2)
    return _joined([random.integers(0, workload.vocabulary, length, dtype=np.int32) for length in lengths.tolist()])


def _cut(lines: Split, workload: Workload, count: int, random: np.random.Generator) -> Split:
    """Lines of `length` + 1 tokens, of the lines one behind the other, from the start again where they end."""
    tokens = np.resize(lines.tokens, count * (workload.length + 1))
    return _joined(list(tokens.reshape(count, -1)))


def _joined(lines: list[np.ndarray]) -> Split:
    offsets = np.concatenate([[0], np.cumsum([len(line) for line in lines])]).astype(np.int64)
    return Split(np.concatenate(lines).astype(np.int32), offsets)
