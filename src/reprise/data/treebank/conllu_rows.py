"""Sentences of a treebank in the CoNLL-U format (https://universaldependencies.org/format.html).

The package `conllu` reads the rows; what it lets pass (missing columns, ids out of order, heads outside the sentence)
is refused here, with file and line.
"""

from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from conllu.exceptions import ParseException
from conllu.parser import DEFAULT_FIELD_PARSERS, DEFAULT_FIELDS, parse_dict_value, parse_line, parse_nullable_value

from reprise.data.raw import read_lines
from reprise.errors import UserError

COLUMNS = 10
Features = tuple[tuple[str, str], ...]
"""(name, value) pairs in the order of the file, for example (("Gender", "Fem"), ("Number", "Sing"))."""


@dataclass(frozen=True, slots=True)
class Row:
    """A word, or a range: the surface form ("du") that stands before the words it is made of ("de", "le").

    `head` is the number of the head in the sentence, from 1, and 0 for the root; it and `deprel` are None where the
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
        return next((value for key, value in self.features if key == name), None)


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words and ranges in the order of the file; empty nodes (8.1) are no part of the text and are left out."""

    rows: tuple[Row, ...]

    @property
    def words(self) -> tuple[Row, ...]:
        """The words alone: word number i of the file is `words[i - 1]`."""
        return tuple(row for row in self.rows if not row.is_range)


@dataclass(frozen=True)
class Treebank:
    """A file's sentences and its number of lines: rows, comments and the blank lines after sentences."""

    sentences: list[Sentence]
    lines: int


def read_treebank(path: Path) -> Treebank:
    """The sentences of a `.conllu` or `.conllu.gz` file, with line ends of either kind.

    Raises UserError, naming file and line, where the file is missing, empty, damaged, not UTF-8 or no CoNLL-U.
    """
    lines = read_lines(path)
    blocks = groupby(enumerate(lines, start=1), key=lambda numbered: bool(numbered[1]))
    sentences = [_sentence(list(block), path) for holds, block in blocks if holds]
    if not sentences:
        raise UserError(f"{path}: holds no sentence; fetch it again")
    return Treebank(sentences, len(lines))


def _sentence(block: list[tuple[int, str]], path: Path) -> Sentence:
    """The sentence of a block of lines with their numbers."""

    def wrong(number: int, problem: str) -> UserError:
        return UserError(f"{path}: line {number}: {problem}; correct the row, or fetch the file again")

    rows: list[tuple[int, Row]] = []
    words, covered = 0, (0, 0)  # words read, and the last word of a range with the line that says so
    for number, line in block:
        if line.startswith("#"):
            continue
        if (columns := line.count("\t") + 1) != COLUMNS:
            raise wrong(number, f"{columns} columns instead of {COLUMNS}")
        if "  " in line:  # conllu would take it for the end of a column
            raise wrong(number, "two blanks in a row")
        try:
            token = parse_line(line, DEFAULT_FIELDS, _PARSERS)
        except ParseException as error:
            raise wrong(number, str(error)) from None
        match token["id"]:
            case int(i) if i == words + 1:
                words += 1
            case (int(first), "-", int(last)) if first == words + 1 > covered[0]:
                covered = (last, number)
            case (int(before), ".", int()) if before == words:
                continue
            case _:
                raise wrong(number, f"the id {line.partition(chr(9))[0]!r} where {words + 1} is due")
        if not token["form"].strip():
            raise wrong(number, "a row without a form")
        lemma, deprel = (parse_nullable_value(token[column]) for column in ("lemma", "deprel"))
        is_range = isinstance(token["id"], tuple)
        row = Row(token["form"], lemma, token["upos"], token["feats"], token["head"], deprel, is_range)
        rows.append((number, row))
    if not words:
        raise wrong(block[0][0], "a sentence without words")
    if covered[0] > words:
        raise wrong(covered[1], f"a range up to {covered[0]} in a sentence of {words} words")
    for number, row in rows:
        if row.head is not None and not 0 <= row.head <= words:
            raise wrong(number, f"the head {row.head} in a sentence of {words} words")
    return Sentence(tuple(row for _, row in rows))


@cache
def _features(text: str) -> Features:
    pairs = parse_dict_value(text)
    if pairs is None:
        return ()
    if len(pairs) < text.count("|") + 1 or not all(pairs.values()):
        raise ParseException(f"Failed parsing field 'feats': {text!r} is no list of Name=Value")
    return tuple((name, str(value)) for name, value in pairs.items())


_PARSERS: dict[str, Any] = {
    **DEFAULT_FIELD_PARSERS,
    "feats": lambda columns, i: _features(columns[i]),
    **dict.fromkeys(("deps", "misc"), lambda columns, i: columns[i]),  # nothing here reads them
}
