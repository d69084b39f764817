"""Texts with a sentence a line as corpora of words: token ids are ranks by training frequency."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from reprise.data.corpus import SENTENCE_END, Corpus, Split, rank_by_count
from reprise.data.raw import make_unreadable_error, read_lines

_END = SENTENCE_END.encode()


def read_sentences(path: Path) -> list[bytes]:
    """Return the words of a text with a sentence a line, `</s>` after each; words are cut at ASCII blanks.

    Raises:
        UserError: as `read_lines`, and where the text holds `</s>` itself.
    """
    words: list[bytes] = []
    for number, line in enumerate(read_lines(path), start=1):
        sentence = line.encode().split()
        if _END in sentence:
            raise make_unreadable_error(
                path, f"holds the word {SENTENCE_END}, which marks the ends of sentences", number
            )
        words += sentence
        words.append(_END)
    return words


def make_word_corpus(
    name: str, words: Mapping[str, list[bytes]], paths: Mapping[str, Path], extra_words: Iterable[str] = ()
) -> Corpus:
    """Return the corpus of the words of each split, as `read_sentences` gives them; `train` has the vocabulary.

    `extra_words` are part of the vocabulary, also where the training text lacks them. Facts: tokens, sentences and
    characters a split, vocabulary. A separator, blank or line end, is a character, and `</s>` none.

    Raises:
        UserError: for a word outside the vocabulary, with the path: such texts are closed.
    """
    counted = Counter(words["train"])
    for word in extra_words:
        counted.setdefault(word.encode(), 0)
    counts = rank_by_count(counted)
    ids = {word: i for i, word in enumerate(counts)}
    splits, characters = {}, {}
    for split, path in paths.items():
        try:
            tokens = np.fromiter(map(ids.__getitem__, words[split]), np.int32, len(words[split]))
        except KeyError as error:
            raise make_unreadable_error(
                path, f"{error.args[0].decode()!r} is not in the training text's vocabulary"
            ) from None
        splits[split] = Split.from_ended_sentences(tokens, ids[_END])
        # Each word brings the separator behind it, and so does the line end of a blank line.
        lengths = np.diff(splits[split].offsets)
        letters = len(b"".join(words[split]).decode()) - len(lengths) * len(_END)
        characters[split] = letters + int(np.maximum(lengths - 1, 1).sum())
    spelled = {word.decode(): count for word, count in counts.items()}
    return Corpus.from_counts(name, splits, spelled, SENTENCE_END, {"characters": characters})
