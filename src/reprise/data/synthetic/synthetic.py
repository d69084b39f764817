"""Text of known entropy: a language model's cross-entropy can be held to the truth, offline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reprise.data import options as options_
from reprise.data.corpus import SENTENCE_END, Corpus
from reprise.data.synthetic.markov import Chain, entropy, make_chain
from reprise.data.text import words as words_
from reprise.files import write_if_changed

OPTIONS: dict[str, Any] = {
    "vocabulary_size": 1000,  # </s> included
    "training_sentences": 4000,
    "validation_sentences": 400,
    "test_sentences": 400,
    "seed": 1,
}
SPLITS = {"train": "training", "valid": "validation", "test": "test"}


def generate(options: Mapping[str, Any]) -> tuple[Chain, dict[str, list[int]]]:
    """The source and, for every split, its word numbers (0 is `</s>`).

    Raises UserError for unknown options and sizes too small to make a source.
    """
    options = options_.resolve(options, OPTIONS, "synthetic")
    options_.at_least(options, "vocabulary_size", 16, "synthetic")
    for word in SPLITS.values():
        options_.at_least(options, f"{word}_sentences", 1, "synthetic")
    source = make_chain(options["vocabulary_size"], options["seed"])
    return source, {
        split: source.sample(options[f"{word}_sentences"], options["seed"], i)
        for i, (split, word) in enumerate(SPLITS.items())
    }


def prepare(raw: Path, options: Mapping[str, Any]) -> Corpus:
    """Corpus of generated text, which is also written to `raw/synthetic.{train,valid,test}.txt`.

    The files show the latest preparation to a reader; no corpus is read from them. Facts, in nats
    per token with `</s>` counted: `entropy_rate_nats`, sum_i pi_i H(P_i), the least cross-entropy
    that a model can expect; `unigram_entropy_nats`, H(pi), the same without context;
    `source_nats`, the cross-entropy of the source itself on each split. Raises UserError for
    unknown options and sizes too small to make a source.
    """
    source, drawn = generate(options)
    paths = {split: raw / f"synthetic.{split}.txt" for split in SPLITS}
    for split, path in paths.items():
        write_if_changed(path, source.text(drawn[split]))
    words = {split: [source.words[j].encode() for j in drawn[split]] for split in SPLITS}
    counted = Counter(words["train"])
    for word in source.words:
        counted.setdefault(word.encode(), 0)  # rare words may miss the training text
    ranked = words_.rank(counted)
    ids = words_.index(ranked)
    splits = {split: words_.encode_sentences(words[split], ids, paths[split]) for split in SPLITS}
    pi = source.stationary()
    facts = {
        "tokens": {split: len(data.tokens) for split, data in splits.items()},
        "sentences": {split: data.sentences for split, data in splits.items()},
        "characters": {split: words_.characters(words[split], data.sentences) for split, data in splits.items()},
        "vocabulary": len(ranked),
        "boundaries": SENTENCE_END,
        "entropy_rate_nats": _rounded(source.entropy_rate()),
        "unigram_entropy_nats": _rounded(entropy(pi)),
        "mean_sentence_tokens": _rounded(1.0 / pi[0]),
        "source_nats": {split: _rounded(source.cross_entropy(drawn[split])) for split in SPLITS},
    }
    return Corpus(
        name="synthetic",
        splits=splits,
        vocabulary=[word.decode() for word in ranked],
        counts=np.array([counted[word] for word in ranked], np.int64),
        facts=facts,
    )


def _rounded(value: Any) -> float:
    return round(float(value), 9)  # the digits on which linear-algebra libraries agree
