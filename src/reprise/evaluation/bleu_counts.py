"""Counts that BLEU is computed from, sentence by sentence, with one reference.

Source: Papineni et al., "BLEU: a method for automatic evaluation of machine translation" (ACL 2002).

Records hold these counts and no references, so that no corpus is copied into them. When records are collected sacrebleu
computes the score from the counts (`reprise.evidence.bleu`). A test holds the counts to sacrebleu's own.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from reprise.data.pairs.mteval import tokenise_13a

MAX_ORDER = 4
TOKENISATION = "13a"


def count_bleu(hypotheses: Iterable[str], references: Iterable[str], lowercase: bool) -> dict[str, Any]:
    """Count words of hypothesis and reference, and n-grams in common (`matches_1` to `_4`): lists, a number a sentence.

    An n-gram counts as often as it stands in both. `tokenisation` and `lowercase` say how words were cut.
    """
    names = ("hypothesis_words", "reference_words", *(f"matches_{n}" for n in range(1, MAX_ORDER + 1)))
    rows = [
        _count_matches(*(tokenise_13a(text.lower() if lowercase else text) for text in both))
        for both in zip(hypotheses, references, strict=True)
    ]
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    return {"tokenisation": TOKENISATION, "lowercase": lowercase, **columns}


def _count_matches(hypothesis: list[str], reference: list[str]) -> list[int]:
    matches = [(_count_ngrams(hypothesis, n) & _count_ngrams(reference, n)).total() for n in range(1, MAX_ORDER + 1)]
    return [len(hypothesis), len(reference), *matches]


def _count_ngrams(words: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))
