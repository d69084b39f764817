"""French of the Universal Dependencies as document 004, section 5, uses it: one stream of lower-cased tokens, and for
every type of token the POS tags and features that its tokens bear anywhere in the corpus.

The paper counts 463,069 tokens in release 1.3, which has 401,960 words. 463,069 is the number of lines of its three
files: words, ranges ("du", which stands before its words "de" and "le"), and three other lines a sentence, two comments
before it and a blank one after it. Ranges and these lines bring the POS tags `_` and NIL of the paper's Table 3.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reprise.catalogue.spec import how_to_fetch
from reprise.catalogue.stated import ByOption
from reprise.data.corpus import Corpus, Split, offsets_of, sparse_rows
from reprise.data.treebank.agreement import find_pairs
from reprise.data.treebank.conllu_rows import Row, Sentence, Treebank, read_treebank
from reprise.errors import UserError
from reprise.options import COUNT, Options, Values

TOKENS = ByOption(
    "accounting",
    {
        "rows": "lower-cased words and ranges, and three @nil a sentence for the file's lines that are neither",
        "surface": "lower-cased words and ranges",
        "words": "lower-cased words",
    },
)
OPTIONS: Options = {
    "accounting": ("rows", "surface", "words"),
    "validation": ("last", "random"),
    "validation_sentences": COUNT,
}
PARTS = {"train": "train", "test1": "test", "test2": "dev"}
"""Split -> part of the treebank (the paper's Table 1); the split valid comes out of the treebank's training part."""

NIL = "@nil"
"""The one type of the lines that are no rows; its POS tag is NIL, after Table 3 of document 004."""
_NIL_ROW = Row(NIL, None, "NIL", (), None, None, is_range=False)


def prepare(raw: Path, options: Values) -> Corpus:
    """Corpus of `raw/*-ud-{train,dev,test}.conllu`, each plain or `.gz`; splits train, valid, test1, test2.

    Options: `accounting`, what counts as a token: rows (words, ranges and three `@nil` a sentence), surface (words and
    ranges) or words; `validation`: which `validation_sentences` of the training part are held out, the last ones or a
    fixed random draw.

    No token marks the end of a sentence (facts["boundaries"] is "none"): the text is one stream, whose sentences only
    `offsets` know. The vocabulary, all types of the entire corpus, is sorted by their frequency in it, ties by first
    appearance in train, test, dev, because the paper's features are of "the M most frequent word types appearing in
    the entire corpus" (section 5.2); `counts` are those of the split train. Extra, for V types:

    * corpus_counts (V,) int64, tokens of the entire corpus;
    * tag_indptr (V+1,) int64 and tag_indices int32: type t bears the tags tag_indices[tag_indptr[t]:tag_indptr[t+1]],
      numbers of facts["tags"], in the entire corpus; train_tag_indptr, train_tag_indices: in the split train alone;
    * agreement_*: the minimal pairs that `reprise.data.treebank.agreement` describes.

    Raises UserError for options that make no sense, and files that are missing, ambiguous or no CoNLL-U.
    """
    parts = {split: read_treebank(treebank_file(raw, part)) for split, part in PARTS.items()}
    every = [sentence for part in parts.values() for sentence in part.sentences]
    stream = make_stream(every, options["accounting"])
    chosen = _split_sentences({split: len(part.sentences) for split, part in parts.items()}, options)
    splits = {split: stream.take(sentences) for split, sentences in chosen.items()}
    indptr, indices = stream.tags_of_types()
    train_indptr, train_indices = stream.tags_of_types(stream.places(chosen["train"]))
    tests = {split: (parts[split].sentences, stream.word_places(chosen[split])) for split in ("test1", "test2")}
    pairs, about_pairs = find_pairs(tests, every, {form: i for i, form in enumerate(stream.vocabulary)})
    return Corpus(
        name="ud_french",
        splits=splits,
        vocabulary=stream.vocabulary,
        counts=np.bincount(splits["train"].tokens, minlength=len(stream.vocabulary)),
        facts=_facts(stream, chosen, parts) | {"agreement": about_pairs},
        extra={
            "corpus_counts": stream.counts,
            "tag_indptr": indptr,
            "tag_indices": indices,
            "train_tag_indptr": train_indptr,
            "train_tag_indices": train_indices,
            **pairs,
        },
    )


def treebank_file(raw: Path, part: str) -> Path:
    """The one file of a part: treebanks and releases name theirs differently (fr-ud-dev, fr_gsd-ud-dev).

    Raises UserError where there is none, or more than one.
    """
    found = sorted(p for p in raw.glob(f"*-ud-{part}.*") if p.name.endswith((".conllu", ".conllu.gz")))
    if not found:
        raise UserError(f"{raw}: no file *-ud-{part}.conllu or .conllu.gz; {how_to_fetch(raw)}")
    if len(found) > 1:
        names = ", ".join(p.name for p in found)
        raise UserError(f"{raw}: {names} are all called the part {part}; keep the dataset's own file")
    return found[0]


def _split_sentences(sizes: Mapping[str, int], options: Values) -> dict[str, np.ndarray]:
    """Numbers of the sentences of each split, in the order of the files (train, test, dev); int64."""
    n, held_out = sizes["train"], options["validation_sentences"]
    if held_out >= n:
        raise UserError(
            f"dataset ud_french: option validation_sentences: {held_out} leave nothing of {n} training sentences"
        )
    numbers = list(range(n))
    if options["validation"] == "random":
        # By a hash of the number, so that the draw is the same with every version of every library.
        numbers.sort(key=lambda i: hashlib.sha256(f"validation {i}".encode()).digest())
    valid = np.sort(np.array(numbers[n - held_out :], np.int64))
    splits = {"train": np.setdiff1d(np.arange(n), valid), "valid": valid}
    for split in ("test1", "test2"):
        splits[split] = np.arange(n, n + sizes[split])
        n += sizes[split]
    return splits


def _facts(stream: Stream, chosen: Mapping[str, np.ndarray], parts: Mapping[str, Treebank]) -> dict[str, Any]:
    """The numbers of the paper's Tables 1 to 3, and the treebank's own, which no option changes."""
    tokens, sentences, types = len(stream.tokens), len(stream.offsets) - 1, len(stream.vocabulary)
    places = {split: stream.places(numbers) for split, numbers in chosen.items()}
    types_with_tag = np.bincount(stream.tags_of_types()[1], minlength=len(stream.tags))
    seen = np.bincount(stream.tokens[places["train"]], minlength=types) > 0
    nil = stream.vocabulary.index(NIL) if NIL in stream.vocabulary else -1
    rows = [row for part in parts.values() for sentence in part.sentences for row in sentence.rows]
    return {
        "boundaries": "none",
        "vocabulary": types,
        "sentences": {split: len(numbers) for split, numbers in chosen.items()},
        "tokens": {split: len(where) for split, where in places.items()},
        "words": {split: int(stream.is_word[where].sum()) for split, where in places.items()},
        "unseen_tokens": {split: int((~seen[stream.tokens[where]]).sum()) for split, where in places.items()},
        "corpus": {
            "sentences": sentences,
            "tokens": tokens,
            "nil": int((stream.tokens == nil).sum()),
            "types": types,
            "average_sentence_length": round(tokens / sentences, 9),
            "token_type_ratio": round(tokens / types, 9),
            "types_outside_training": int((~seen).sum()),
        },
        "tags": stream.tags,
        "tag_tokens": dict(zip(stream.tags, stream.tokens_with_tag().tolist(), strict=True)),
        "tag_types": dict(zip(stream.tags, types_with_tag.tolist(), strict=True)),
        "treebank": {
            "sentences": {PARTS[split]: len(part.sentences) for split, part in parts.items()},
            "lines": {PARTS[split]: part.lines for split, part in parts.items()},
            "words": sum(not row.is_range for row in rows),
            "ranges": sum(row.is_range for row in rows),
        },
    }


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
    """The stream of all sentences under an accounting, in lower case."""
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
