"""Sentences of a treebank in the CoNLL-U format (https://universaldependencies.org/format.html).

What breaks the format (missing columns, ids out of order, heads outside the sentence) is refused with file and line.
"""

import re
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

from reprise.data.raw import read_lines
from reprise.errors import UserError

COLUMNS = 10
_ID = re.compile(r"([0-9]+)(?:([-.])([0-9]+))?")
_HEAD = re.compile(r"_|[0-9]+")
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
        columns = line.split("\t")
        if len(columns) != COLUMNS:
            raise wrong(number, f"{len(columns)} columns instead of {COLUMNS}")
        place, form, lemma, upos, _, features, head, deprel, *_ = columns
        first, mark, last = found.groups() if (found := _ID.fullmatch(place)) else ("0", "", "")
        if mark == "." and int(first) == words:
            continue
        if int(first) != words + 1 or mark == "." or (mark and int(first) <= covered[0]):
            raise wrong(number, f"the id {place!r} where {words + 1} is due")
        if not form.strip():
            raise wrong(number, "a row without a form")
        if not _HEAD.fullmatch(head):
            raise wrong(number, f"the head {head!r} is no number")
        if (pairs := _pairs(features)) is None:
            raise wrong(number, f"the features {features!r} are no list of Name=Value, each name once")
        if mark:
            covered = (int(last), number)
        else:
            words += 1
        lemma, deprel = (None if value == "_" else value for value in (lemma, deprel))
        number_of_head = None if head == "_" else int(head)
        rows.append((number, Row(form, lemma, upos, pairs, number_of_head, deprel, is_range=bool(mark))))
    if not words:
        raise wrong(block[0][0], "a sentence without words")
    if covered[0] > words:
        raise wrong(covered[1], f"a range up to {covered[0]} in a sentence of {words} words")
    for number, row in rows:
        if row.head is not None and not 0 <= row.head <= words:
            raise wrong(number, f"the head {row.head} in a sentence of {words} words")
    return Sentence(tuple(row for _, row in rows))


@cache
def _pairs(features: str) -> Features | None:
    """Names and values of "Gender=Fem|Number=Sing"; none of "_"; None where it is no such list."""
    if features == "_":
        return ()
    pairs = tuple((name, value) for name, _, value in (part.partition("=") for part in features.split("|")))
    return pairs if all(map(all, pairs)) and len(dict(pairs)) == len(pairs) else None
