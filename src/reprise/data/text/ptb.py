"""Penn Treebank as preprocessed by Mikolov (Interspeech 2011): 10,000 words, a sentence a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reprise.data import options as options_
from reprise.data.corpus import SENTENCE_END, UNKNOWN, Corpus
from reprise.data.text import words as words_

OPTIONS: dict[str, Any] = {}
SPLITS = ("train", "valid", "test")


def prepare(raw: Path, options: Mapping[str, Any]) -> Corpus:
    """Corpus of `raw/ptb.{train,valid,test}.txt`; `</s>` ends every sentence and is counted.

    The vocabulary is that of the training text; the other two have no word outside it. Facts:
    tokens, sentences and characters a split, vocabulary, unk_share.
    Raises UserError for missing files, unknown options, or words outside the vocabulary.
    """
    options_.resolve(options, OPTIONS, "ptb")
    return read_texts("ptb", {split: raw / f"ptb.{split}.txt" for split in SPLITS})


def read_texts(name: str, paths: Mapping[str, Path]) -> Corpus:
    """Word corpus of texts in PTB's format, a path a split, one of them `train`."""
    words = {split: words_.read_sentences(path) for split, path in paths.items()}
    counted = Counter(words["train"])
    ranked = words_.rank(counted)
    ids = words_.index(ranked)
    splits = {split: words_.encode_sentences(words[split], ids, path) for split, path in paths.items()}
    unknown = ids.get(UNKNOWN.encode(), -1)
    facts = {
        "tokens": {split: len(data.tokens) for split, data in splits.items()},
        "sentences": {split: data.sentences for split, data in splits.items()},
        "characters": {split: words_.characters(words[split], data.sentences) for split, data in splits.items()},
        "vocabulary": len(ranked),
        "unk_share": {split: round(float(np.mean(data.tokens == unknown)), 9) for split, data in splits.items()},
        "boundaries": SENTENCE_END,
    }
    return Corpus(
        name=name,
        splits=splits,
        vocabulary=[word.decode() for word in ranked],
        counts=np.array([counted[word] for word in ranked], np.int64),
        facts=facts,
    )
