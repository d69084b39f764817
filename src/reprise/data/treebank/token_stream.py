"""A treebank as one stream of tokens: types by decreasing frequency, and the tags that each type bears."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from reprise.data.corpus import Split, offsets_of, sparse_rows
from reprise.data.treebank.conllu_rows import Row, Sentence
from reprise.errors import UserError

NIL = "@nil"
"""The one type of the lines that are no rows; its POS tag is NIL, after Table 3 of document 004."""
_NIL_ROW = Row(NIL, None, "NIL", (), None, None, is_range=False)


@dataclass(frozen=True)
class Stream:
    """N tokens of S sentences in the order of the files, V types, K tags, A analyses (a POS tag with features).

    `vocabulary` (V types) is sorted by decreasing frequency in the whole stream, ties by first appearance. `tags` are
    "POS:NOUN", …, then "Gender:Fem", …, each part in alphabetical order.
    """

    vocabulary: list[str]
    tokens: np.ndarray  # (N,) int32
    offsets: np.ndarray  # (S + 1,) int64
    is_word: np.ndarray  # (N,) bool: neither a range nor NIL
    analyses: np.ndarray  # (N,) int32
    tags: list[str]
    tags_of_analysis: np.ndarray  # (A, K) bool

    @property
    def counts(self) -> np.ndarray:
        """(V,) int64: tokens of every type."""
        return np.bincount(self.tokens, minlength=len(self.vocabulary))

    def places(self, sentences: np.ndarray) -> np.ndarray:
        """Where the tokens of these sentences stand in the stream, one after the other; int64."""
        bounds = [np.arange(self.offsets[i], self.offsets[i + 1]) for i in sentences]
        return np.concatenate([np.zeros(0, np.int64), *bounds])

    def take(self, sentences: np.ndarray) -> Split:
        """These sentences as a split."""
        lengths = np.diff(self.offsets)[sentences]
        return Split(self.tokens[self.places(sentences)], offsets_of(lengths))

    def word_places(self, sentences: np.ndarray) -> list[np.ndarray]:
        """For each of these sentences the places of its words among the tokens of `take(sentences)`; int64."""
        starts = self.take(sentences).offsets
        words = [np.flatnonzero(self.is_word[self.offsets[i] : self.offsets[i + 1]]) for i in sentences]
        return [start + found for start, found in zip(starts, words, strict=False)]

    def tags_of_types(self, places: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The boolean union of the tags of all tokens of a type, over these places or everywhere (section 5.2).

        As `sparse_rows` of types by tags; a type that does not occur there has none.
        """
        tokens, analyses = self.tokens, self.analyses
        if places is not None:
            tokens, analyses = tokens[places], analyses[places]
        borne = np.zeros((len(self.vocabulary), len(self.tags)), bool)
        seen = np.unique(np.stack([tokens, analyses], axis=1), axis=0)
        np.logical_or.at(borne, seen[:, 0], self.tags_of_analysis[seen[:, 1]])
        return sparse_rows(borne)

    def tokens_with_tag(self) -> np.ndarray:
        """(K,) int64: how many tokens of the stream bear each tag."""
        by_analysis = np.bincount(self.analyses, minlength=len(self.tags_of_analysis))
        return by_analysis @ self.tags_of_analysis.astype(np.int64)


def make_stream(sentences: Iterable[Sentence], accounting: str) -> Stream:
    """The stream of all sentences under one of the accountings of `reprise.data.treebank.ud_french`, in lower case."""
    ids: dict[str, int] = {}
    numbers: dict[tuple[str, ...], int] = {}
    tokens, analyses, is_word, lengths = [], [], [], []
    for sentence in sentences:
        rows = [row for row in sentence.rows if accounting != "words" or not row.is_range]
        if accounting == "rows":
            rows = [_NIL_ROW, _NIL_ROW, *rows, _NIL_ROW]
        lengths.append(len(rows))
        for row in rows:
            form = row.form.lower()
            if form == NIL and row is not _NIL_ROW:
                raise UserError(f"a treebank holds the form {NIL}, which stands for lines that are no rows")
            tokens.append(ids.setdefault(form, len(ids)))
            tags = (f"POS:{row.upos}", *(f"{name}:{value}" for name, value in row.features))
            analyses.append(numbers.setdefault(tags, len(numbers)))
            is_word.append(not row.is_range and row is not _NIL_ROW)
    order = np.argsort(-np.bincount(tokens), kind="stable")  # stable: ties stay in the order of appearance
    rank = np.argsort(order).astype(np.int32)
    forms = list(ids)
    tags = sorted({tag for analysis in numbers for tag in analysis}, key=lambda tag: (not tag.startswith("POS:"), tag))
    borne = np.array([[tag in analysis for tag in tags] for analysis in numbers], bool)
    return Stream(
        vocabulary=[forms[i] for i in order],
        tokens=rank[tokens],
        offsets=offsets_of(lengths),
        is_word=np.array(is_word, bool),
        analyses=np.array(analyses, np.int32),
        tags=tags,
        tags_of_analysis=borne,
    )
