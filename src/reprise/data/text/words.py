"""Words to ranks: what every word corpus shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from reprise.data.corpus import SENTENCE_END, Corpus, Split
from reprise.data.raw import read_text
from reprise.errors import UserError

SENTENCES = "words and a </s> at the end of every sentence"
"""Tokens are words and the ends of sentences."""
_END = SENTENCE_END.encode()


def read_sentences(path: Path) -> list[bytes]:
    """Words of a text with a sentence a line, `</s>` after each; words are cut at ASCII blanks.

    Raises UserError where the file is missing or empty, is not UTF-8 or holds `</s>` itself.
    """
    text = read_text(path).encode()
    if not text.endswith(b"\n"):
        text += b"\n"
    lines = text.count(b"\n")
    words = text.replace(b"\n", b" " + _END + b" ").split()
    if words.count(_END) != lines:
        raise UserError(f"{path}: holds the word {SENTENCE_END}, which marks sentence ends")
    return words


def rank(counts: Mapping[bytes, int]) -> list[bytes]:
    """Words by decreasing count; ties keep the mapping's order, which is that of appearance."""
    return sorted(counts, key=counts.__getitem__, reverse=True)


def index(vocabulary: Iterable[bytes]) -> dict[bytes, int]:
    """Word -> token id, which is its rank minus 1."""
    return {word: i for i, word in enumerate(vocabulary)}


def encode_sentences(words: list[bytes], ids: Mapping[bytes, int], path: Path) -> Split:
    """Token ids and bounds of words that `read_sentences` gave.

    Raises UserError for a word outside the vocabulary: such texts are closed.
    """
    try:
        tokens = np.fromiter(map(ids.__getitem__, words), np.int32, len(words))
    except KeyError as error:
        word = error.args[0].decode()
        raise UserError(f"{path}: {word!r} is not in the training text's vocabulary") from None
    ends = np.flatnonzero(tokens == ids[_END]) + 1
    return Split(tokens, np.concatenate([np.zeros(1, np.int64), ends.astype(np.int64)]))


def characters(words: list[bytes], ends: int) -> int:
    """Characters of the text, one separator (blank or line end) after each word, `</s>` being none.

    `ends` is the number of `</s>` among the words.
    """
    return len(b" ".join(words).decode()) + 1 - ends * (len(_END) + 1)


def word_corpus(
    name: str, words: Mapping[str, list[bytes]], paths: Mapping[str, Path], rare: Iterable[str] = ()
) -> Corpus:
    """Corpus of the words of each split as `read_sentences` gives them; the vocabulary is that of the split `train`.

    Words of `rare` are part of the vocabulary, also where the training text lacks them. Facts: tokens, sentences and
    characters a split, vocabulary. Raises UserError, naming the path, for a word outside the vocabulary.
    """
    counted = Counter(words["train"])
    for word in rare:
        counted.setdefault(word.encode(), 0)
    ranked = rank(counted)
    ids = index(ranked)
    splits = {split: encode_sentences(words[split], ids, path) for split, path in paths.items()}
    facts = {
        "tokens": {split: len(data.tokens) for split, data in splits.items()},
        "sentences": {split: data.sentences for split, data in splits.items()},
        "characters": {split: characters(words[split], data.sentences) for split, data in splits.items()},
        "vocabulary": len(ranked),
        "boundaries": SENTENCE_END,
    }
    counts = np.array([counted[word] for word in ranked], np.int64)
    return Corpus(name, splits, [word.decode() for word in ranked], counts, facts)
