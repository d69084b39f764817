"""Preparations of the datasets and their options: what the configuration may name under `prepare`."""

from __future__ import annotations

from dataclasses import dataclass, field

from reprise.config.options import COUNT, NATURAL, Options, at_least


@dataclass(frozen=True)
class Preparation:
    """A module under `reprise.data`, the options an experiment gives it, and whether it leaves a corpus file.

    `corpus=False` is for data made while training, batch by batch: then the options go to the protocol.
    """

    options: Options = field(default_factory=dict)
    corpus: bool = True


_FOLDED_LINES: Options = {"tokens": ("characters", "bigrams"), "folds": at_least(2), "fold_seed": int}
_GENERATED: Options = {"vocabulary_size": at_least(16), "training_sentences": COUNT, "seed": int}

PREPARATIONS: dict[str, Preparation] = {
    "palindromes": Preparation({"length": at_least(2)}, corpus=False),
    "names": Preparation({"names": at_least(2), "filler": NATURAL}, corpus=False),
    "none": Preparation(corpus=False),
    "ptb": Preparation(),
    "text8": Preparation(
        {
            "minimum_count": COUNT,
            "vocabulary_rule": ("train-at-least-10", "all-at-least-10", "train-more-than-10", "top-37750"),
        }
    ),
    "wsj_characters": Preparation(_FOLDED_LINES),
    "synthetic_lines": Preparation({**_FOLDED_LINES, "lines": COUNT}),
    "ud_french": Preparation(
        {
            "accounting": ("rows", "surface", "words"),
            "validation": ("last", "random"),
            "validation_sentences": COUNT,
        }
    ),
    "synthetic": Preparation(_GENERATED),
    "books": Preparation(),
    "synthetic_prose": Preparation({**_GENERATED, "licence_sentences": COUNT}),
    "synthetic_tags": Preparation({**_GENERATED, "training_sentences": at_least(10)}),
    "multi30k": Preparation({"pairs": COUNT, "lowercase": bool, "minimum_count": COUNT}),
    "synthetic_pairs": Preparation({**_GENERATED, "training_sentences": at_least(10), "most_words": at_least(2)}),
    "ud_tags": Preparation({"minimum_count": COUNT, "validation_sentences": COUNT}),
    "synthetic_tagged": Preparation(
        {**_GENERATED, "vocabulary_size": at_least(32), "training_sentences": at_least(10)}
    ),
}
