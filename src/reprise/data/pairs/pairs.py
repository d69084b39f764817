"""A parallel text as a corpus: sentences of a target language, each with its source, and their two vocabularies.

`Corpus.vocabulary`, `splits` and `counts` are those of the target, whose sentences end with `</s>`; the source stands
in the corpus's extra arrays. Sentence i of a split is the translation of sentence i of the same split of the source.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reprise.data.corpus import SENTENCE_END, SPLITS, UNKNOWN, Corpus, Split, compute_unk_shares, rank_by_count

_WORDS, _LINES = "source_words", "test_{side}_lines"

Pair = tuple[list[str], list[str]]
"""Words of a source sentence and of its translation."""


@dataclass(frozen=True)
class SourceText:
    """The source language of a parallel corpus; its sentences have no sign at their ends."""

    vocabulary: list[str]
    splits: dict[str, Split]


def make_parallel_corpus(
    name: str,
    pairs: Mapping[str, Sequence[Pair]],
    lines: Sequence[tuple[str, str]],
    minimum_count: int,
    lowercase: bool,
) -> Corpus:
    """Return the corpus of the pairs of train, valid and test; `lines` are the test pairs' texts, source and target.

    Either vocabulary has the words that stand in the training text at least `minimum_count` times, and `<unk>` for all
    others. Words stand by decreasing count, ties by first appearance. Facts: pairs, tokens and source_tokens a split;
    vocabulary and source_vocabulary; the share of `<unk>` in either; `lowercase`. Tokens are those of the target,
    `</s>` counted, as the model predicts them. Texts must not hold `</s>` or `<unk>` as words.
    """
    sources = {split: [source for source, _ in pairs[split]] for split in SPLITS}
    targets = {split: [[*target, SENTENCE_END] for _, target in pairs[split]] for split in SPLITS}
    source_counts, x = _encode(sources, minimum_count)
    target_counts, y = _encode(targets, minimum_count)
    extra = {_WORDS: _pack(list(source_counts))}
    for i, side in enumerate(("source", "target")):
        extra[_LINES.format(side=side)] = _pack([line[i] for line in lines])
    for split, data in x.items():
        extra |= {f"source_tokens.{split}": data.tokens, f"source_offsets.{split}": data.offsets}
    facts = {
        "lowercase": lowercase,
        "source_tokens": {split: len(data.tokens) for split, data in x.items()},
        "source_vocabulary": len(source_counts),
        "unk_share": compute_unk_shares(y, target_counts),
        "source_unk_share": compute_unk_shares(x, source_counts),
    }
    return Corpus.from_counts(name, y, target_counts, SENTENCE_END, facts, extra, sentences="pairs")


def get_source(corpus: Corpus) -> SourceText:
    """Return the source side of a corpus that `make_parallel_corpus` made."""
    extra = corpus.extra
    splits = {split: Split(extra[f"source_tokens.{split}"], extra[f"source_offsets.{split}"]) for split in SPLITS}
    return SourceText(_unpack(extra[_WORDS]), splits)


def get_test_lines(corpus: Corpus) -> list[tuple[str, str]]:
    """Return the texts of the test pairs, source and target, as they were before words were cut."""
    sides = (_unpack(corpus.extra[_LINES.format(side=side)]) for side in ("source", "target"))
    return list(zip(*sides, strict=True))


def is_parallel(corpus: Corpus) -> bool:
    """Return whether the corpus has pairs of sentences."""
    return _WORDS in corpus.extra


def _encode(
    texts: Mapping[str, Sequence[Sequence[str]]], minimum_count: int
) -> tuple[dict[str, int], dict[str, Split]]:
    """Return words and their counts, the most frequent first, and the tokens of each split.

    `<unk>` has the count of all that are left out.
    """
    counted = Counter(word for sentence in texts["train"] for word in sentence)
    frequent = {word: n for word, n in counted.items() if n >= minimum_count or word == SENTENCE_END}
    frequent[UNKNOWN] = counted.total() - sum(frequent.values())
    counts = rank_by_count(frequent)
    return counts, {split: Split.from_sentences(sentences, counts) for split, sentences in texts.items()}


def _pack(texts: Sequence[str]) -> np.ndarray:
    """Return texts without line feeds as one array of bytes."""
    return np.frombuffer("\n".join(texts).encode(), np.uint8)


def _unpack(data: np.ndarray) -> list[str]:
    return data.tobytes().decode().split("\n")
