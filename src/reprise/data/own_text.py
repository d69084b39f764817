"""A text of the user's own as the test text of a corpus, read as the corpus reads its own."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from reprise.data.corpus import SENTENCE_END, SPLITS, UNKNOWN, Corpus, Split
from reprise.data.raw import normalise_text
from reprise.data.text.books import clean_text
from reprise.data.text.character_lines import LINES_SPLIT, TEST, cut_lines, find_tokens, normalise_lines
from reprise.errors import UserError

_UNUSED = 3
"""The part of replaced test lines: no fold uses them."""
OWN_TEST_SPLITS = ("test", "test1")
"""Splits that hold the user's text: `test`, or `test1` for document 004."""


def replace_test_text(corpus: Corpus, path: Path) -> tuple[Corpus, str]:
    """Replace a corpus's test text by the text of a file.

    Args:
        corpus: Words, lines of symbols in folds, types of a treebank, or characters.
        path: The text, in UTF-8, a sentence or line a line.

    Returns:
        The corpus with the other test text, and a line that says how it was read.

    Raises:
        UserError: The file is no text, is empty or holds a word that the model does not know. Or the corpus holds tags
            or translations of its test sentences, which a text alone lacks.
    """
    text = _read(path)
    if "part" in corpus.extra:
        return _replace_lines(corpus, path, text)
    if "licence" in corpus.extra:
        return _replace_characters(corpus, path, clean_text(text))
    if "tag_indptr" in corpus.extra:
        return _replace_types(corpus, path, text)
    if corpus.splits.keys() != {*SPLITS} or any(name.partition(".")[2] in SPLITS for name in corpus.extra):
        raise UserError(f"--text {path}: this model is not measured on a text alone; omit --text")
    if all(len(symbol) == 1 for symbol in corpus.vocabulary):
        return _replace_characters(corpus, path, text)
    return _replace_words(corpus, path, text)


def _read(path: Path) -> str:
    try:
        text = normalise_text(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"--text {path}: no such file; name another") from None
    except IsADirectoryError:
        raise UserError(f"--text {path}: is a folder; name a file") from None
    except UnicodeDecodeError:
        raise UserError(f"--text {path}: is no text in UTF-8; name another file") from None
    if not text.strip():
        raise UserError(f"--text {path}: has no words; name another file")
    return text


def _split_words(text: str) -> list[list[str]]:
    return [words for line in text.split("\n") if (words := line.split())]


def _replace_words(corpus: Corpus, path: Path, text: str) -> tuple[Corpus, str]:
    lines, vocabulary = _split_words(text), {*corpus.vocabulary}
    unknown = [word for line in lines for word in line if word not in vocabulary]
    if UNKNOWN not in vocabulary:
        _require_in_vocabulary(path, unknown)
    end = [SENTENCE_END] if corpus.boundaries == SENTENCE_END else []
    own = _encode(corpus, [[word if word in vocabulary else UNKNOWN for word in line] + end for line in lines])
    description = f"{path}: {sum(map(len, lines))} words in {len(lines)} lines; {len(unknown)} are read as {UNKNOWN}"
    return replace(corpus, splits={**corpus.splits, "test": own}), description


def _replace_lines(corpus: Corpus, path: Path, text: str) -> tuple[Corpus, str]:
    """Replace every fold's test lines by lines of 27 symbols, or of pairs of these."""
    lines = [line for line in normalise_lines(text.split("\n")) if len(line) > 1]
    if not lines:
        raise UserError(f"--text {path}: has no line of two letters a to z; name another file")
    own = cut_lines(lines, find_tokens(corpus.vocabulary))
    every, part = corpus.splits[LINES_SPLIT], corpus.extra["part"]
    joined = Split(np.append(every.tokens, own.tokens), np.append(every.offsets, every.offsets[-1] + own.offsets[1:]))
    own_part = np.full((len(part), len(lines)), TEST, part.dtype)
    part = np.hstack([np.where(part == TEST, _UNUSED, part).astype(part.dtype), own_part])
    changed = replace(corpus, splits={**corpus.splits, LINES_SPLIT: joined}, extra={**corpus.extra, "part": part})
    return changed, f"{path}: {len(lines)} lines, in small letters; all that is no letter a to z is read as a blank"


def _replace_types(corpus: Corpus, path: Path, text: str) -> tuple[Corpus, str]:
    """Replace both test texts by words; the pairs that agreement is judged by go with these."""
    words, vocabulary = text.lower().split(), {*corpus.vocabulary}
    _require_in_vocabulary(path, [word for word in words if word not in vocabulary])
    own = _encode(corpus, [words])
    extra = {name: array for name, array in corpus.extra.items() if not name.startswith("agreement_")}
    changed = replace(corpus, splits={**corpus.splits, "test1": own, "test2": own}, extra=extra)
    return changed, f"{path}: {len(words)} words; the first ones, as many as a window has, are only read"


def _replace_characters(corpus: Corpus, path: Path, text: str) -> tuple[Corpus, str]:
    vocabulary = {*corpus.vocabulary}
    _require_in_vocabulary(path, [symbol for symbol in text if symbol not in vocabulary])
    if len(text) < 2:
        raise UserError(f"--text {path}: has fewer than two characters; name another file")
    changed = replace(corpus, splits={**corpus.splits, "test": _encode(corpus, [text])})
    return changed, f"{path}: {len(text)} characters; the first is only read"


def _require_in_vocabulary(path: Path, unknown: Sequence[str]) -> None:
    if unknown:
        raise UserError(f"--text {path}: the model does not know {unknown[0]!r}; omit it")


def _encode(corpus: Corpus, lines: Sequence[Sequence[str]]) -> Split:
    numbers = {word: i for i, word in enumerate(corpus.vocabulary)}
    return Split.from_id_lists([[numbers[word] for word in line] for line in lines])
