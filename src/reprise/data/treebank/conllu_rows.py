"""Sentences of a treebank in the CoNLL-U format (https://universaldependencies.org/format.html).

The package `conllu` reads the rows; what it lets pass (missing columns, ids out of order, heads outside the sentence)
is refused here, with file and line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import conllu
from conllu.exceptions import ParseException
from conllu.parser import parse_dict_value, parse_nullable_value

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
    sentences = [_sentence(block, start, path) for start, block in _blocks(lines)]
    if not sentences:
        raise UserError(f"{path}: holds no sentence; fetch it again")
    return Treebank(sentences, len(lines))


def _blocks(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The lines of each sentence, and the number of the first of them."""
    block: list[str] = []
    for number, line in enumerate([*lines, ""], start=1):
        if line:
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _sentence(block: list[str], start: int, path: Path) -> Sentence:
    numbered = [(start + i, line) for i, line in enumerate(block) if not line.startswith("#")]
    tokens = _parse(numbered, path)
    rows = []
    words, covered = 0, (0, start)  # words read, and the last word of a range with the line that says so
    for (number, line), token in zip(numbered, tokens, strict=True):
        match token["id"]:
            case int(i) if i == words + 1:
                words += 1
            case (int(first), "-", int(last)) if first == words + 1 > covered[0]:
                covered = (last, number)
            case (int(before), ".", int()) if before == words:
                continue
            case _:
                raise _wrong(path, number, f"the id {line.partition(chr(9))[0]!r} where {words + 1} is due")
        rows.append((number, _row(token)))
    if not words:
        raise _wrong(path, start, "a sentence without words")
    if covered[0] > words:
        raise _wrong(path, covered[1], f"a range up to {covered[0]} in a sentence of {words} words")
    for number, row in rows:
        if row.head is not None and not 0 <= row.head <= words:
            raise _wrong(path, number, f"the head {row.head} in a sentence of {words} words")
        if not row.form.strip():
            raise _wrong(path, number, "a row without a form")
    return Sentence(tuple(row for _, row in rows))


def _parse(numbered: list[tuple[int, str]], path: Path) -> list[conllu.Token]:
    """The rows of a sentence as the package parses them; an error names the row that it cannot read."""
    for number, line in numbered:
        if (columns := line.count("\t") + 1) != COLUMNS:
            raise _wrong(path, number, f"{columns} columns instead of {COLUMNS}")
        if "  " in line:  # conllu would take it for the end of a column
            raise _wrong(path, number, "two blanks in a row")
    try:
        return conllu.parse("\n".join(line for _, line in numbered), field_parsers=_PARSERS)[0] if numbered else []
    except ParseException:
        for number, line in numbered:
            try:
                conllu.parse(line, field_parsers=_PARSERS)
            except ParseException as error:
                raise _wrong(path, number, str(error)) from None
        raise


@cache
def _features(text: str) -> Features:
    pairs = parse_dict_value(text)
    if pairs is None:
        return ()
    if len(pairs) < text.count("|") + 1 or not all(pairs.values()):
        raise ParseException(f"Failed parsing field 'feats': {text!r} is no list of Name=Value")
    return tuple((name, str(value)) for name, value in pairs.items())


_PARSERS: dict[str, Any] = {
    "feats": lambda columns, i: _features(columns[i]),
    # Nothing here reads them: they are left as they stand.
    "deps": lambda columns, i: columns[i],
    "misc": lambda columns, i: columns[i],
}


def _row(token: conllu.Token) -> Row:
    return Row(
        form=token["form"],
        lemma=parse_nullable_value(token["lemma"]),
        upos=token["upos"],
        features=token["feats"],
        head=token["head"],
        deprel=parse_nullable_value(token["deprel"]),
        is_range=isinstance(token["id"], tuple),
    )


def _wrong(path: Path, line: int, problem: str) -> UserError:
    return UserError(f"{path}: line {line}: {problem}; correct the row, or fetch the file again")
