"""Texts with a sentence a line as corpora of words: token ids are ranks by training frequency."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from reprise.data.corpus import SENTENCE_END, Corpus, Split, ranked
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
    words = text.replace(b"\n", b" " + _END + b" ").split()
    if words.count(_END) != text.count(b"\n"):
        raise UserError(f"{path}: holds the word {SENTENCE_END}, which marks sentence ends")
    return words


def word_corpus(
    name: str, words: Mapping[str, list[bytes]], paths: Mapping[str, Path], rare: Iterable[str] = ()
) -> Corpus:
    """Corpus of the words of each split as `read_sentences` gives them; the vocabulary is that of the split `train`.

    Words of `rare` are part of the vocabulary, also where the training text lacks them. Facts: tokens, sentences and
    characters a split, vocabulary. A separator, blank or line end, is a character, and `</s>` none. Raises UserError,
    naming the path, for a word outside the vocabulary: such texts are closed.
    """
    counted = Counter(words["train"])
    for word in rare:
        counted.setdefault(word.encode(), 0)
    counts = ranked(counted)
    ids = {word: i for i, word in enumerate(counts)}
    splits, characters = {}, {}
    for split, path in paths.items():
        try:
            tokens = np.fromiter(map(ids.__getitem__, words[split]), np.int32, len(words[split]))
        except KeyError as error:
            raise UserError(f"{path}: {error.args[0].decode()!r} is not in the training text's vocabulary") from None
        splits[split] = Split.ended_by(tokens, ids[_END])
        length = len(b" ".join(words[split]).decode()) + 1
        characters[split] = length - splits[split].sentences * (len(_END) + 1)
    spelled = {word.decode(): count for word, count in counts.items()}
    return Corpus.of(name, splits, spelled, SENTENCE_END, {"characters": characters})
