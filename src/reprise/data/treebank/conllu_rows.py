"""Sentences of a treebank in the CoNLL-U format (https://universaldependencies.org/format.html).

The package `conllu` reads the rows. It accepts missing or padded columns, wrong ids, and heads that are invalid or
cyclic. This module refuses them with file and line.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from conllu.exceptions import ParseException
from conllu.parser import DEFAULT_FIELD_PARSERS, DEFAULT_FIELDS, parse_line, parse_nullable_value

from reprise.data.raw import make_unreadable_error, read_lines
from reprise.errors import UserError

TAB = "\t"
COLUMNS = 10
Features = tuple[tuple[str, str], ...]
"""(name, value) pairs sorted by name, for example (("Gender", "Fem"), ("Number", "Sing")): they are a set."""


@dataclass(frozen=True, slots=True)
class Row:
    """A word, or a range: the surface form ("du") that stands before the words it is made of ("de", "le").

    `head` is the number of the head in the sentence, from 1, and 0 for the root. It and `deprel` are None if the
    treebank leaves them out. A range has neither, its `upos` is "_", its `features` are empty, its `lemma` is None.
    """

    form: str
    lemma: str | None
    upos: str
    features: Features
    head: int | None
    deprel: str | None
    is_range: bool

    def feature(self, name: str) -> str | None:
        """Return the value of a feature; None where the word has none of that name."""
        return next((value for key, value in self.features if key == name), None)


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words and ranges in the order of the file; empty nodes (8.1) are no part of the text and are left out."""

    rows: tuple[Row, ...]

    @property
    def words(self) -> tuple[Row, ...]:
        """Return the words alone: word number i of the file is `words[i - 1]`."""
        return tuple(row for row in self.rows if not row.is_range)


@dataclass(frozen=True)
class Treebank:
    """A file's sentences and its number of lines: rows, comments and the blank lines after sentences."""

    sentences: list[Sentence]
    lines: int


def read_treebank(path: Path, reserved: str = "") -> Treebank:
    """Return the sentences of a `.conllu` or `.conllu.gz` file.

    Args:
        path: the file.
        reserved: a form, in lower case, that stands for something else in the corpus.

    Raises:
        UserError: as `read_lines`, and, with the line, where the file is no CoNLL-U or holds the reserved form.
    """
    lines = read_lines(path)
    blocks = groupby(enumerate(lines, start=1), key=lambda numbered: bool(numbered[1]))
    sentences = [_parse_sentence(list(block), path, reserved) for holds, block in blocks if holds]
    return Treebank(sentences, len(lines))


def _parse_sentence(block: list[tuple[int, str]], path: Path, reserved: str) -> Sentence:
    """Return the sentence of a block of lines with their numbers."""

    def make_error(number: int, problem: str) -> UserError:
        return make_unreadable_error(path, problem, number)

    rows: list[tuple[int, Row]] = []
    words, covered = 0, (0, 0)  # words read, and the last word of a range with the line that says so
    for number, line in block:
        if line.startswith("#"):
            continue
        try:
            token = _parse_token(line)
        except ParseException as error:
            raise make_error(number, str(error)) from None
        match token["id"]:
            case int(i) if i == words + 1:
                words += 1
            case (int(first), "-", int(last)) if first == words + 1 > covered[0]:
                covered = (last, number)
            case (int(before), ".", int()) if before == words:
                continue
            case _:
                raise make_error(number, f"the id {line.partition(TAB)[0]!r} where {words + 1} is due")
        if token["form"].lower() == reserved:
            raise make_error(number, f"the form {token['form']}, which stands for something else in the corpus")
        lemma, deprel = (parse_nullable_value(token[column]) for column in ("lemma", "deprel"))
        is_range = isinstance(token["id"], tuple)
        row = Row(token["form"], lemma, token["upos"], token["feats"], token["head"], deprel, is_range)
        rows.append((number, row))
    if not words:
        raise make_error(block[0][0], "a sentence without words")
    if covered[0] > words:
        raise make_error(covered[1], f"a range up to {covered[0]} in a sentence of {words} words")
    for number, row in rows:
        if row.head is not None and not 0 <= row.head <= words:
            raise make_error(number, f"the head {row.head} in a sentence of {words} words")
    sentence = Sentence(tuple(row for _, row in rows))
    if circle := _find_cycle([word.head for word in sentence.words]):
        raise make_error([number for number, row in rows if not row.is_range][circle - 1], "heads that form a circle")
    return sentence


def _parse_token(line: str) -> dict[str, Any]:
    """Parse a line of columns; `ParseException` where it is no CoNLL-U."""
    columns = line.split(TAB)
    if len(columns) != COLUMNS:
        raise ParseException(f"{len(columns)} columns instead of {COLUMNS}")
    for name, column in zip(DEFAULT_FIELDS, columns, strict=True):
        if not column or column != column.strip():
            raise ParseException(f"the column {name.upper()} is {'padded with blanks' if column else 'empty'}")
        if "  " in column:  # conllu would take it for the end of a column
            raise ParseException(f"two blanks in a row in the column {name.upper()}")
    return parse_line(line, DEFAULT_FIELDS, _PARSERS)


def _find_cycle(heads: Sequence[int | None]) -> int | None:
    """Return the number, from 1, of a word whose heads lead back to it; None where there is none."""
    passed_by = [0] * len(heads)  # the word from which a walk up the tree came by first
    for start in range(1, len(heads) + 1):
        word: int | None = start
        while word and not passed_by[word - 1]:
            passed_by[word - 1] = start
            word = heads[word - 1]
        if word and passed_by[word - 1] == start:
            return word
    return None


@cache
def _parse_features(text: str) -> Features:
    if text == "_":
        return ()
    pairs = [part.partition("=")[::2] for part in text.split("|")]
    parts = [part for pair in pairs for part in pair]
    if len(dict(pairs)) < len(pairs) or text.count("=") != len(pairs) or not all(map(_is_filled, parts)):
        raise ParseException(f"Failed parsing field 'feats': {text!r} is no list of Name=Value")
    return tuple(sorted((name, ",".join(sorted(value.split(",")))) for name, value in pairs))


def _is_filled(text: str) -> bool:
    return text not in ("", "_") and not any(map(str.isspace, text))


_PARSERS: dict[str, Any] = {
    **DEFAULT_FIELD_PARSERS,
    "feats": lambda columns, i: _parse_features(columns[i]),
    **dict.fromkeys(("deps", "misc"), lambda columns, i: columns[i]),  # nothing here reads them
}
