"""Sentences whose words bear one tag each: what every tagged corpus shares, and how it is kept in a `Corpus`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reprise.data.corpus import UNKNOWN, Corpus, Split, offsets_of
from reprise.errors import UserError

SPLITS = ("train", "valid", "test")
KINDS = ("single", "ambiguous", "unseen")
"""Kinds of words: with one tag in training, with several, or not in training at all."""

Tagged = Sequence[tuple[str, str]]
"""A sentence: (word, tag) in the order of the text."""


def corpus_of(
    name: str, splits: Mapping[str, Sequence[Tagged]], minimum_count: int, label: str, facts: Mapping[str, Any]
) -> Corpus:
    """Corpus of sentences without an end mark (facts["boundaries"] is "none"; `offsets` know them).

    The vocabulary is `<unk>` and the words that training has at least `minimum_count` times, by decreasing training
    frequency, ties by first appearance; `<unk>` stands for all others and is counted with them. Extra, a split each:

    * tags.<split> (n,) int32: the number of each word's tag in facts["tags"];
    * kinds.<split> (n,) int32: the number of its kind in `KINDS`, by the words as they are spelt, before `<unk>`;
    * labels.<split> (sentences,) int32: 1 where the tag `label` occurs in the sentence, else 0.

    Raises UserError for a split without a sentence, a sentence without a word, and a label that no sentence has.
    """
    for split, sentences in splits.items():
        if not sentences or not all(sentences):
            raise UserError(f"{name}: the split {split} has no sentence, or one without words; choose other sizes")
    seen = _tags_by_word(splits["train"])
    ids, counts = _vocabulary(splits["train"], minimum_count)
    names = sorted({tag for sentences in splits.values() for sentence in sentences for _, tag in sentence})
    if label not in names:
        raise UserError(f"{name}: no word is tagged {label}, which the label of sentences asks for")
    tags = {tag: i for i, tag in enumerate(names)}
    kinds = {word: int(len(found) > 1) for word, found in seen.items()}
    made: dict[str, Split] = {}
    extra: dict[str, np.ndarray] = {}
    for split, sentences in splits.items():
        words = [pair for sentence in sentences for pair in sentence]
        tokens = np.array([ids.get(word, ids[UNKNOWN]) for word, _ in words], np.int32)
        made[split] = Split(tokens, offsets_of(map(len, sentences)))
        extra[f"tags.{split}"] = np.array([tags[tag] for _, tag in words], np.int32)
        extra[f"kinds.{split}"] = np.array([kinds.get(word, KINDS.index("unseen")) for word, _ in words], np.int32)
        extra[f"labels.{split}"] = np.array([any(tag == label for _, tag in s) for s in sentences], np.int32)
    counted = {
        "boundaries": "none",
        "vocabulary": len(ids),
        "tags": names,
        "label": f"has a word tagged {label}",
        "sentences": {split: len(sentences) for split, sentences in splits.items()},
        "tokens": {split: len(data.tokens) for split, data in made.items()},
        "labelled": {split: int(extra[f"labels.{split}"].sum()) for split in splits},
        "unknown": {split: int((data.tokens == ids[UNKNOWN]).sum()) for split, data in made.items()},
        "kinds": {
            split: dict(zip(KINDS, np.bincount(extra[f"kinds.{split}"], minlength=len(KINDS)).tolist(), strict=True))
            for split in splits
        },
    }
    return Corpus(name, made, list(ids), counts, counted | dict(facts), extra=extra)


def _tags_by_word(sentences: Sequence[Tagged]) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for sentence in sentences:
        for word, tag in sentence:
            found[word].add(tag)
    return found


def _vocabulary(sentences: Sequence[Tagged], minimum_count: int) -> tuple[dict[str, int], np.ndarray]:
    """Word -> id, and the training counts by id."""
    every = Counter(word for sentence in sentences for word, _ in sentence)
    if UNKNOWN in every:
        raise UserError(f"a text holds the word {UNKNOWN}, which stands for words that are too rare")
    counts = {UNKNOWN: sum(n for n in every.values() if n < minimum_count)}
    counts |= {word: n for word, n in every.items() if n >= minimum_count}
    ranked = sorted(counts, key=counts.__getitem__, reverse=True)  # stable: ties stay in the order of appearance
    return {word: i for i, word in enumerate(ranked)}, np.array([counts[word] for word in ranked], np.int64)


@dataclass(frozen=True)
class Baseline:
    """Tagging without context: the most frequent tag of every word of the vocabulary in training, (V,) int32."""

    tags: np.ndarray

    @classmethod
    def of(cls, corpus: Corpus) -> Baseline:
        """Ties go to the first tag in the alphabet; a word that training lacks takes the most frequent tag of all."""
        tokens, tags = corpus.splits["train"].tokens, corpus.extra["tags.train"]
        counts = np.zeros((len(corpus.vocabulary), len(corpus.facts["tags"])), np.int64)
        np.add.at(counts, (tokens, tags), 1)
        counts[counts.sum(1) == 0] = counts.sum(0)
        return cls(counts.argmax(1).astype(np.int32))

    def of_words(self, tokens: np.ndarray) -> np.ndarray:
        """Words (n,) -> tags (n,)."""
        return self.tags[tokens]
