"""Words to ranks: what every word corpus shares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from reprise.catalogue.spec import how_to_fetch
from reprise.data.corpus import SENTENCE_END, Split
from reprise.errors import UserError

_END = SENTENCE_END.encode()


def read_text(path: Path) -> bytes:
    """A raw text; UserError where it is missing or empty."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path}: no such raw file; {how_to_fetch(path.parent)}") from None
    if not text.strip():
        raise UserError(f"{path}: empty; fetch it again")
    return text


def read_sentences(path: Path) -> list[bytes]:
    """Words of a text with a sentence a line, `</s>` after each; words are cut at ASCII blanks.

    Raises UserError where the file is missing or empty, is not UTF-8 or holds `</s>` itself.
    """
    text = read_text(path)
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 at byte {error.start}; fetch it again") from None
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
