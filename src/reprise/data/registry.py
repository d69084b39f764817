"""Preparations of the datasets and their options: what the configuration may name under `prepare`."""

from __future__ import annotations

from dataclasses import dataclass, field

from reprise.config.options import Options


@dataclass(frozen=True)
class Preparation:
    """A module under `reprise.data`, the options an experiment gives it, and whether it leaves a corpus file.

    `corpus=False` is for data made while training, batch by batch: then the options go to the protocol.
    """

    options: Options = field(default_factory=dict)
    corpus: bool = True


_FOLDED_LINES: Options = {"tokens": ("characters", "bigrams"), "folds": int, "fold_seed": int}

PREPARATIONS: dict[str, Preparation] = {
    "palindromes": Preparation({"length": int}, corpus=False),
    "names": Preparation({"names": int, "filler": int}, corpus=False),
    "none": Preparation(corpus=False),
    "ptb": Preparation(),
    "text8": Preparation(
        {
            "minimum_count": int,
            "vocabulary_rule": ("train-at-least-10", "all-at-least-10", "train-more-than-10", "top-37750"),
        }
    ),
    "wsj_characters": Preparation(_FOLDED_LINES),
    "synthetic_lines": Preparation({**_FOLDED_LINES, "lines": int}),
    "ud_french": Preparation(
        {
            "accounting": ("rows", "surface", "words"),
            "validation": ("last", "random"),
            "validation_sentences": int,
        }
    ),
    "synthetic": Preparation({"vocabulary_size": int, "training_sentences": int, "seed": int}),
    "books": Preparation(),
    "synthetic_prose": Preparation(
        {"vocabulary_size": int, "training_sentences": int, "licence_sentences": int, "seed": int}
    ),
    "synthetic_tags": Preparation({"vocabulary_size": int, "training_sentences": int, "seed": int}),
    "multi30k": Preparation({"pairs": int, "lowercase": bool, "minimum_count": int}),
    "synthetic_pairs": Preparation({"vocabulary_size": int, "training_sentences": int, "most_words": int, "seed": int}),
    "ud_tags": Preparation({"minimum_count": int, "validation_sentences": int}),
    "synthetic_tagged": Preparation({"vocabulary_size": int, "training_sentences": int, "seed": int}),
}
