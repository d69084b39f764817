"""A log-linear language model's knowledge of its vocabulary before training: features of types and their background.

Dymetman and Xiao, "Log-Linear RNNs" (arXiv:1607.02467v2), section 5.2: a type's vector is the boolean union of the
vectors of all its tokens. It tells which of the M most frequent types it is (TOPFORM:word), or that it is none of them
(TOPFORM:@notTop). It also tells its POS and morphological tags.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reprise.data.corpus import Corpus, pack_sparse_rows
from reprise.errors import UserError

NOT_TOP = "@notTop"


@dataclass(frozen=True)
class BooleanCSR:
    """A boolean matrix of n rows: row r has ones in the columns indices[indptr[r]:indptr[r + 1]], which increase."""

    indptr: np.ndarray  # (n + 1,) int64
    indices: np.ndarray  # (ones,) int64
    columns: int

    @property
    def rows(self) -> np.ndarray:
        """Return the row of each one, (ones,) int64."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def row(self, number: int) -> np.ndarray:
        """Return the columns that have a one in a row, (ones,) int64."""
        return self.indices[self.indptr[number] : self.indptr[number + 1]]

    def dense(self) -> np.ndarray:
        """Return (n, columns) bool."""
        matrix = np.zeros((len(self.indptr) - 1, self.columns), bool)
        matrix[self.rows, self.indices] = True
        return matrix

    @classmethod
    def from_dense(cls, dense: np.ndarray) -> BooleanCSR:
        """Return the ones of a matrix (n, columns)."""
        indptr, indices = pack_sparse_rows(dense)
        return cls(indptr, indices.astype(np.int64), dense.shape[1])

    @classmethod
    def identity(cls, size: int) -> BooleanCSR:
        """Return the one-hot vectors of `size` types."""
        return cls(np.arange(size + 1), np.arange(size), size)


@dataclass(frozen=True)
class Features:
    """Hold psi = phi: F boolean features of each of V types. `names` (F,) are TOPFORM:… first, then the tags.

    `identities` counts the TOPFORM features, M + 1 or 0. `top[t]` (V,) is the number of type t's TOPFORM feature.
    """

    names: list[str]
    matrix: BooleanCSR
    identities: int
    top: np.ndarray

    def list_names(self, number: int) -> list[str]:
        """Return the names of a type's features."""
        return [self.names[i] for i in self.matrix.row(number)]


@dataclass(frozen=True)
class Lexicon:
    """V types and K tags: counts (V,) and tags (V rows, K columns), in the entire corpus and in the training text."""

    types: list[str]
    tags: list[str]
    counts: Mapping[str, np.ndarray]  # of "corpus" and of "train"
    tags_of: Mapping[str, BooleanCSR]  # likewise

    def __len__(self) -> int:
        return len(self.types)

    @classmethod
    def from_corpus(cls, corpus: Corpus) -> Lexicon:
        """Return the lexicon of a corpus.

        Raises:
            UserError: It has no tags.
        """
        if "tag_indptr" not in corpus.extra or "tags" not in corpus.facts:
            raise UserError(f"corpus {corpus.name}: has no tags; choose a treebank or synthetic-tags")
        tags, extra = corpus.facts["tags"], corpus.extra
        tags_of = {
            source: BooleanCSR(extra[f"{prefix}_indptr"], extra[f"{prefix}_indices"].astype(np.int64), len(tags))
            for source, prefix in (("corpus", "tag"), ("train", "train_tag"))
        }
        return cls(corpus.vocabulary, tags, {"corpus": extra["corpus_counts"], "train": corpus.counts}, tags_of)

    @classmethod
    def from_sizes(cls, types: int, tags: int = 0) -> Lexicon:
        """Return a lexicon of sizes alone: every type occurs once and has no tag. For counting parameters."""
        no_tags = BooleanCSR(np.zeros(types + 1, np.int64), np.zeros(0, np.int64), tags)
        names, once = [str(i) for i in range(types)], np.ones(types, np.int64)
        labels = [f"tag:{i}" for i in range(tags)]
        return cls(names, labels, {"corpus": once, "train": once}, {"corpus": no_tags, "train": no_tags})

    def make_features(self, source: str, top_types: int, word_identity: bool) -> Features:
        """Return the features of all types, known from `source`: the entire "corpus" (as in the paper) or "train".

        The M = `top_types` most frequent types of the source have a feature of their own; the others share @notTop.
        Without `word_identity` there is no TOPFORM feature at all: tags alone tell types apart. From "train", a type
        that the training text lacks has no tag. It has @notTop alone, or, if M exceeds the types of that text, a
        TOPFORM of its own.

        Raises:
            UserError: M exceeds V.
        """
        V, M = len(self), top_types
        if not 0 <= M <= V:
            raise UserError(f"top_types: {M} is not between 0 and the corpus's {V} types; change it")
        tags = self.tags_of[source]
        if not word_identity:
            return Features(list(self.tags), tags, 0, np.zeros(V, np.int64))
        order = np.argsort(-self.counts[source], kind="stable")[:M]
        top = np.full(V, M, np.int64)
        top[order] = np.arange(M)
        ends = tags.indptr + np.arange(V + 1)
        indices = np.empty(ends[-1], np.int64)
        indices[ends[:-1]] = top
        indices[np.arange(len(tags.indices)) + tags.rows + 1] = tags.indices + M + 1
        names = [f"TOPFORM:{self.types[i]}" for i in order] + [f"TOPFORM:{NOT_TOP}", *self.tags]
        return Features(names, BooleanCSR(ends, indices, len(names)), M + 1, top)

    def compute_log_background(self, name: str) -> np.ndarray:
        """Return log b (V,), float64, nats.

        "none": b = 1. "corpus": the relative frequencies in the entire corpus, test text included, as in the paper.
        "train": those in the training text after one is added to the count of every type.
        """
        if name == "none":
            return np.zeros(len(self))
        counts = self.counts[name].astype(np.float64) + (name == "train")
        return np.log(counts) - np.log(counts.sum())
