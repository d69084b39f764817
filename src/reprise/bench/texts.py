"""The text of a benchmark: a prepared corpus if there is one, else random words like it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reprise.bench.task import BLOCK, LENGTH, Workload
from reprise.data.corpus import SENTENCE_END, Corpus, Split
from reprise.engines.rntn.subsequences import Subsequences, cut
from reprise.errors import UserError

CORPORA = Path("data/corpora")

SENTENCE_MEAN, SENTENCE_DEVIATION = 22.1, 10.1
"""Words in a sentence of the training text of the Penn Treebank, </s> included."""

# A Zipf-Mandelbrot law: the probability of the word of rank r is as 1 / (r + 2.7)**1.05.
_SHIFT, _EXPONENT = 2.7, 1.05


def text_for(workload: Workload, count: int, corpora: Path = CORPORA) -> tuple[Subsequences, str]:
    """`count` subsequences, or the whole blocks that the text is enough for, and where they come from.

    Unless the workload asks for sentences they are ignored, and all subsequences have LENGTH words.
    """
    found = _corpus(workload.dataset, workload.vocabulary, corpora)
    if found is None:
        split, start, origin = _random(workload.vocabulary, count), 0, "random words of a Zipf-Mandelbrot law"
    else:
        path, corpus = found
        split, origin = corpus.splits["train"], f"training text of {path.as_posix()}"
        start = corpus.vocabulary.index(SENTENCE_END) if SENTENCE_END in corpus.vocabulary else None
    sentences = workload.sentences and start is not None
    data = cut(split, start if sentences else None, LENGTH, carry=not sentences)
    return data.slice(0, min(count, len(data)) // BLOCK * BLOCK), origin


def running_words(dataset: str, vocabulary: int, count: int, corpora: Path = CORPORA) -> tuple[np.ndarray, str]:
    """The first `count` words of the training text, int32, and where they come from; random ones without a corpus."""
    found = _corpus(dataset, vocabulary, corpora)
    if found is not None and len(found[1].splits["train"].tokens) >= count:
        path, corpus = found
        return corpus.splits["train"].tokens[:count], f"training text of {path.as_posix()}"
    return _random(vocabulary, 1 + count // LENGTH).tokens[:count], "random words of a Zipf-Mandelbrot law"


def _corpus(dataset: str, vocabulary: int, corpora: Path) -> tuple[Path, Corpus] | None:
    """A corpus whose vocabulary has this size, or up to a tenth less."""
    for path in sorted(corpora.glob(f"{dataset}-*.npz")):
        try:
            corpus = Corpus.load(path)
        except UserError:
            continue
        if 0.9 * vocabulary <= len(corpus.vocabulary) <= vocabulary:
            return path, corpus
    return None


def _random(vocabulary: int, count: int) -> Split:
    """Enough sentences for `count` subsequences; the lengths follow a gamma law, word 0 ends each."""
    random = np.random.default_rng(0)
    shape = (SENTENCE_MEAN / SENTENCE_DEVIATION) ** 2
    # A subsequence has LENGTH words at most, so this many sentences have enough of them.
    sentences = 1 + 2 * count * LENGTH // int(SENTENCE_MEAN)
    lengths = random.gamma(shape, SENTENCE_MEAN / shape, sentences).round().clip(1).astype(np.int64)
    weights = (np.arange(1, vocabulary + 1) + _SHIFT) ** -_EXPONENT
    tokens = random.choice(vocabulary, lengths.sum(), p=weights / weights.sum()).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens[offsets[1:] - 1] = 0
    return Split(tokens, offsets)
