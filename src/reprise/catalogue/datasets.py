"""Preparations of the datasets and their options: what the configuration may name under `prepare`."""

from __future__ import annotations

from dataclasses import dataclass, field

from reprise.catalogue.wording import ByOption, Wording
from reprise.options import COUNT, NATURAL, Number, Options, at_least


@dataclass(frozen=True)
class Preparation:
    """A module under `reprise.data`, the options an experiment gives it, and whether it leaves a corpus file.

    `tokens` says what a token of the text is, for whoever reads a loss per token; "" where none is lost on any.
    `corpus=False` is for data made while training, batch by batch: then the options go to the protocol.
    """

    tokens: Wording
    options: Options = field(default_factory=dict)
    corpus: bool = True


_FOLDED_LINES: Options = {"tokens": ("characters", "bigrams"), "folds": at_least(2), "fold_seed": int}
_MOST_WORDS = 100_000
"""Beyond these a generator's tables fill the memory of most machines, and no text of ours needs them."""
_GENERATED: Options = {
    "vocabulary_size": Number(int, at_least=16, at_most=_MOST_WORDS),
    "training_sentences": COUNT,
    "seed": int,
}

_LINE_TOKENS = ByOption(
    "tokens",
    {
        "characters": "small letters and spaces of a line, whose end is no token",
        "bigrams": "pairs of letters within a word, single ones left over, and spaces of a line, whose end is no token",
    },
)
_SENTENCES = "words and a </s> at the end of every sentence"
_CHARACTERS = "characters, blanks among them"
_TARGETS = f"{_SENTENCES} of the target text, rare words as <unk>"

PREPARATIONS: dict[str, Preparation] = {
    "palindromes": Preparation("digits", {"length": at_least(2)}, corpus=False),
    "names": Preparation("words", {"names": at_least(2), "filler": NATURAL}, corpus=False),
    "none": Preparation("", corpus=False),
    "ptb": Preparation(f"{_SENTENCES}, <unk> and N among the words"),
    "text8": Preparation(
        "words of running text without sentences, rare ones as <unk>",
        {
            "minimum_count": COUNT,
            "vocabulary_rule": ("train-at-least-10", "all-at-least-10", "train-more-than-10", "top-37750"),
        },
    ),
    "wsj_characters": Preparation(_LINE_TOKENS, _FOLDED_LINES),
    "synthetic_lines": Preparation(_LINE_TOKENS, {**_FOLDED_LINES, "lines": COUNT}),
    "ud_french": Preparation(
        ByOption(
            "accounting",
            {
                "rows": "lower-cased words and ranges, and three @nil a sentence for the file's lines that are neither",
                "surface": "lower-cased words and ranges",
                "words": "lower-cased words",
            },
        ),
        {
            "accounting": ("rows", "surface", "words"),
            "validation": ("last", "random"),
            "validation_sentences": COUNT,
        },
    ),
    "synthetic": Preparation(_SENTENCES, _GENERATED),
    "books": Preparation(_CHARACTERS),
    "synthetic_prose": Preparation(_CHARACTERS, {**_GENERATED, "licence_sentences": COUNT}),
    "synthetic_tags": Preparation(
        "words and a @nil at the end of every sentence", {**_GENERATED, "training_sentences": at_least(10)}
    ),
    "multi30k": Preparation(_TARGETS, {"pairs": COUNT, "lowercase": bool, "minimum_count": COUNT}),
    "synthetic_pairs": Preparation(
        _TARGETS, {**_GENERATED, "training_sentences": at_least(10), "most_words": at_least(2)}
    ),
    "ud_tags": Preparation(
        "lower-cased words, rare ones as <unk>", {"minimum_count": COUNT, "validation_sentences": COUNT}
    ),
    "synthetic_tagged": Preparation(
        "words, rare ones as <unk>",
        {
            **_GENERATED,
            "vocabulary_size": Number(int, at_least=32, at_most=_MOST_WORDS),
            "training_sentences": at_least(10),
        },
    ),
}
