"""text8: the first 10**8 bytes of cleaned English Wikipedia, without sentence breaks.

Document 001, section 4, splits it 90/5/5 and turns words that occur fewer than 10 times into
`<unk>`, which it says leaves 37,751 words; over which part they are counted it does not say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reprise.data.corpus import UNKNOWN, Corpus, Split
from reprise.data.raw import read_bytes
from reprise.data.text import words as words_
from reprise.errors import UserError
from reprise.options import COUNT, Options

TOKENS = "words of running text without sentences, rare ones as <unk>"
OPTIONS: Options = {
    "minimum_count": COUNT,
    "vocabulary_rule": ("train-at-least-10", "all-at-least-10", "train-more-than-10", "top-37750"),
}
SPLITS = ("train", "valid", "test")
_RULE = re.compile(r"(train-at-least|all-at-least|train-more-than|top)-([1-9][0-9]*)")
_UNKNOWN = UNKNOWN.encode()
_CHUNK = 1 << 22  # bytes split into words at a time: text8's 17 million would take over 1 GB


def prepare(raw: Path, options: Mapping[str, Any]) -> Corpus:
    """Corpus of `raw/text8`, cut by bytes 90/5/5 at the next word boundary.

    Each split is one stretch without `</s>` (facts["boundaries"] = "none"): a model reads
    tokens[:-1] and predicts tokens[1:], so the first word of a split is not predicted.
    Options: `vocabulary_rule`, one of train-at-least-N, all-at-least-N (counted over all three
    parts), train-more-than-N, with N = `minimum_count`, or top-N, the N most frequent words of
    the training part. `<unk>` is a word of the vocabulary in every case.
    Raises UserError for a missing file, or options that contradict each other.
    """
    kind, number = parse_rule(options)
    text = read_bytes(raw / "text8")
    bounds = cuts(text)
    counted = [_count(text, *bound) for bound in bounds]
    merged = vocabulary(counted, kind, number)
    ranked = words_.rank(merged)
    ids = words_.index(ranked)
    splits, facts = {}, {"boundaries": "none", "vocabulary": len(ranked)}
    for split, bound in zip(SPLITS, bounds, strict=True):
        tokens = _encode(text, *bound, ids)
        splits[split] = Split(tokens, np.array([0, len(tokens)], np.int64))
    unknown = ids[_UNKNOWN]
    facts["tokens"] = {split: len(data.tokens) for split, data in splits.items()}
    facts["sentences"] = {split: 1 for split in splits}
    facts["words"] = sum(facts["tokens"].values())
    facts["characters"] = {split: b - a for split, (a, b) in zip(SPLITS, bounds, strict=True)}
    facts["unk_share"] = {split: data.share_of(unknown) for split, data in splits.items()}
    return Corpus(
        name="text8",
        splits=splits,
        vocabulary=[word.decode() for word in ranked],
        counts=np.array([merged[word] for word in ranked], np.int64),
        facts=facts,
    )


def parse_rule(options: Mapping[str, Any]) -> tuple[str, int]:
    """Kind and number of `vocabulary_rule`; UserError where `minimum_count` says another number."""
    rule, least = options["vocabulary_rule"], options["minimum_count"]
    match = _RULE.fullmatch(rule)
    if not match:
        raise UserError(
            f"dataset text8: option vocabulary_rule: {rule!r} is none of"
            " train-at-least-N, all-at-least-N, train-more-than-N, top-N"
        )
    kind, number = match[1], int(match[2])
    if kind != "top" and number != least:
        raise UserError(
            f"dataset text8: vocabulary_rule {rule} and minimum_count {least} disagree; write minimum_count: {number}"
        )
    return kind, number


def cuts(text: bytes) -> list[tuple[int, int]]:
    """Bounds in bytes of the three parts: 90 %, 95 % and 100 %, each moved on to a word's end."""
    places = [0]
    for percent in (90, 95):
        place = max(len(text) * percent // 100, places[-1])
        if 0 < place < len(text) and text[place - 1 : place] != b" ":
            place = text.find(b" ", place)
        places.append(place if place >= 0 else len(text))
    places.append(len(text))
    return list(zip(places[:-1], places[1:], strict=True))


def vocabulary(counted: list[Counter[bytes]], kind: str, number: int) -> dict[bytes, int]:
    """Training counts of the kept words and of `<unk>`, in the order of first appearance.

    `counted` are the word counts of train, valid and test in the order of appearance.
    """
    train = counted[0]
    if kind == "top":
        kept = set(words_.rank(train)[:number])
    elif kind == "all-at-least":
        total = sum(counted, Counter())
        kept = {word for word, count in total.items() if count >= number}
    else:
        least = number if kind == "train-at-least" else number + 1
        kept = {word for word, count in train.items() if count >= least}
    merged: dict[bytes, int] = {}
    for word, count in train.items():
        key = word if word in kept else _UNKNOWN
        merged[key] = merged.get(key, 0) + count
    merged.setdefault(_UNKNOWN, 0)
    for word in (word for part in counted[1:] for word in part):  # kept, but not seen in training
        if word in kept:
            merged.setdefault(word, 0)
    return merged


def _chunks(text: bytes, start: int, stop: int) -> Iterator[list[bytes]]:
    while start < stop:
        end = text.find(b" ", min(start + _CHUNK, stop), stop)
        end = stop if end < 0 else end
        yield text[start:end].split()
        start = end


def _count(text: bytes, start: int, stop: int) -> Counter[bytes]:
    counted: Counter[bytes] = Counter()
    for words in _chunks(text, start, stop):
        counted.update(words)
    return counted


def _encode(text: bytes, start: int, stop: int, ids: dict[bytes, int]) -> np.ndarray:
    unknown = ids[_UNKNOWN]
    parts = [np.zeros(0, np.int32)]
    for words in _chunks(text, start, stop):
        parts.append(np.array([ids.get(word, unknown) for word in words], np.int32))
    return np.concatenate(parts)
