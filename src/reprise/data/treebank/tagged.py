"""Sentences whose words bear one tag each: what every tagged corpus shares, and how it is kept in a `Corpus`."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from reprise.data.corpus import UNKNOWN, Corpus, Split, rank_by_count
from reprise.errors import UserError

KINDS = ("single", "ambiguous", "unseen")
"""Kinds of words: with one tag in training, with several, or not in training at all."""

Tagged = Sequence[tuple[str, str]]
"""A sentence: (word, tag) in the order of the text."""


def make_tagged_corpus(
    name: str, splits: Mapping[str, Sequence[Tagged]], minimum_count: int, label: str, facts: Mapping[str, Any]
) -> Corpus:
    """Return the corpus of sentences without an end mark (facts["boundaries"] is "none"; `offsets` know them).

    The vocabulary is `<unk>` and the words that training has at least `minimum_count` times. They are sorted by
    decreasing training frequency, ties by first appearance. `<unk>` stands for all other words and is counted with
    them. Extra, a split each:

    * tags.<split> (n,) int32: the number of each word's tag in facts["tags"];
    * kinds.<split> (n,) int32: the number of its kind in `KINDS`, by the words as they are spelt, before `<unk>`;
    * labels.<split> (sentences,) int32: 1 where the tag `label` occurs in the sentence, else 0.

    Raises:
        UserError: A split has no sentence, a sentence no word, or no sentence the label.
    """
    for split, sentences in splits.items():
        if not sentences or not all(sentences):
            raise UserError(f"{name}: the split {split} has no sentence, or one without words; choose other sizes")
    tags = sorted({tag for sentences in splits.values() for _, tag in chain(*sentences)})
    if label not in tags:
        raise UserError(f"{name}: no word is tagged {label}, which the label of sentences asks for")
    counts = _count_words(splits["train"], minimum_count)
    unknown = list(counts).index(UNKNOWN)
    encoded = {
        split: Split.from_sentences([[word for word, _ in sentence] for sentence in sentences], counts)
        for split, sentences in splits.items()
    }
    extra = _number_tags(splits, tags, label)
    counted_facts = {
        "tags": tags,
        "label": f"has a word tagged {label}",
        "labelled": {split: int(extra[f"labels.{split}"].sum()) for split in splits},
        "unknown": {split: int((data.tokens == unknown).sum()) for split, data in encoded.items()},
        "kinds": {
            split: dict(zip(KINDS, np.bincount(extra[f"kinds.{split}"], minlength=len(KINDS)).tolist(), strict=True))
            for split in splits
        },
    }
    return Corpus.from_counts(name, encoded, counts, "none", counted_facts | dict(facts), extra)


def _count_words(training_sentences: Sequence[Tagged], minimum_count: int) -> dict[str, int]:
    """Count the words of the training text, the most frequent first; `<unk>` takes those below `minimum_count`."""
    counts = Counter(word for word, _ in chain(*training_sentences))
    rare_count = sum(n for n in counts.values() if n < minimum_count)
    return rank_by_count({UNKNOWN: rare_count} | {word: n for word, n in counts.items() if n >= minimum_count})


def _number_tags(splits: Mapping[str, Sequence[Tagged]], tags: Sequence[str], label: str) -> dict[str, np.ndarray]:
    """Return the arrays of `make_tagged_corpus`: every split's tags, kinds of words, and labels of sentences."""
    tags_by_word = defaultdict(set)
    for word, tag in chain(*splits["train"]):
        tags_by_word[word].add(tag)
    kinds = {
        word: KINDS.index("single" if len(tags_seen) == 1 else "ambiguous") for word, tags_seen in tags_by_word.items()
    }
    numbers = {tag: i for i, tag in enumerate(tags)}
    arrays: dict[str, np.ndarray] = {}
    for split, sentences in splits.items():
        rows = {
            "tags": [numbers[tag] for _, tag in chain(*sentences)],
            "kinds": [kinds.get(word, KINDS.index("unseen")) for word, _ in chain(*sentences)],
            "labels": [any(tag == label for _, tag in sentence) for sentence in sentences],
        }
        arrays |= {f"{row}.{split}": np.array(values, np.int32) for row, values in rows.items()}
    return arrays


def find_most_frequent_tags(corpus: Corpus) -> np.ndarray:
    """Tag without context: return the most frequent tag in training of every word of the vocabulary, (V,) int32.

    Ties go to the first tag in the alphabet; a word that training lacks takes the most frequent tag of all.
    """
    tokens, tags = corpus.splits["train"].tokens, corpus.extra["tags.train"]
    counts = np.zeros((len(corpus.vocabulary), len(corpus.facts["tags"])), np.int64)
    np.add.at(counts, (tokens, tags), 1)
    counts[counts.sum(1) == 0] = counts.sum(0)
    return counts.argmax(1).astype(np.int32)
