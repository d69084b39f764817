"""text8: the first 10**8 bytes of cleaned English Wikipedia, without sentence breaks.

Document 001, section 4, splits it 90/5/5 and turns words that occur fewer than 10 times into `<unk>`. It says that
37,751 words are left, but not over which part they are counted.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path

import numpy as np

from reprise.data.corpus import SPLITS, UNKNOWN, Corpus, Split, compute_unk_shares, rank_by_count
from reprise.data.raw import read_text
from reprise.errors import UserError
from reprise.options import Values

_UNKNOWN = UNKNOWN.encode()
_BLANK = re.compile(rb"\s")
_CHUNK = 1 << 22  # bytes split into words at a time: text8's 17 million would take over 1 GB


def prepare(raw: Path, options: Values) -> Corpus:
    """Return the corpus of `raw/text8`, cut by bytes 90/5/5 at the next word boundary.

    Each split is one stretch without `</s>` (facts["boundaries"] = "none"). A model reads tokens[:-1] and predicts
    tokens[1:], so the first word of a split is not predicted. Option `vocabulary_rule` is train-at-least-N,
    all-at-least-N (counted over all three parts) or train-more-than-N, with N = `minimum_count`. Or it is top-N: the N
    most frequent words of the training part. `<unk>` is a word of the vocabulary in every case.

    Raises:
        UserError: The file is missing, or options contradict each other.
    """
    rule, least = options["vocabulary_rule"], options["minimum_count"]
    kind, _, number = rule.rpartition("-")
    if kind != "top" and int(number) != least:
        raise UserError(
            f"dataset {raw.name}: vocabulary_rule {rule} and minimum_count {least} disagree; "
            f"write minimum_count: {number}"
        )
    text = read_text(raw / "text8").encode()
    parts = {split: text[a:b] for split, (a, b) in zip(SPLITS, pairwise(find_cuts(text)), strict=True)}
    counts = rank_by_count(
        select_vocabulary([Counter(_iterate_words(part)) for part in parts.values()], kind, int(number))
    )
    ids = {word: i for i, word in enumerate(counts)}
    unknown = ids[_UNKNOWN]
    splits = {
        split: Split.from_tokens(np.fromiter((ids.get(word, unknown) for word in _iterate_words(part)), np.int32))
        for split, part in parts.items()
    }
    spelled = {word.decode(): count for word, count in counts.items()}
    facts = {
        "words": sum(len(data.tokens) for data in splits.values()),
        "characters": {split: len(part.decode()) for split, part in parts.items()},
        "unk_share": compute_unk_shares(splits, spelled),
    }
    return Corpus.from_counts("text8", splits, spelled, "none", facts)


def find_cuts(text: bytes) -> list[int]:
    """Return the bounds of the three parts: 0, 90 %, 95 % and 100 %, the inner ones moved on to a word's end."""
    places = [0]
    for percent in (90, 95):
        place = max(len(text) * percent // 100, places[-1])
        if 0 < place < len(text) and not text[place - 1 : place].isspace():
            place = _find_next_blank(text, place)
        places.append(place)
    return [*places, len(text)]


def select_vocabulary(counted: list[Counter[bytes]], kind: str, number: int) -> dict[bytes, int]:
    """Count the words of the vocabulary and `<unk>` in training, in the order of first appearance.

    `counted` are the word counts of train, valid and test in the order of appearance.
    """
    train = counted[0]
    if kind == "top":
        vocabulary = set(list(rank_by_count(train))[:number])
    else:
        least = number + (kind == "train-more-than")
        over = sum(counted, Counter()) if kind == "all-at-least" else train
        vocabulary = {word for word, count in over.items() if count >= least}
    merged: dict[bytes, int] = {}
    for word, count in train.items():
        key = word if word in vocabulary else _UNKNOWN
        merged[key] = merged.get(key, 0) + count
    # After them <unk>, where training has no rare word, and words of the vocabulary that it lacks.
    unseen = (word for word in chain(*counted[1:]) if word in vocabulary)
    return {**dict.fromkeys(chain(merged, [_UNKNOWN], unseen), 0), **merged}


def _find_next_blank(text: bytes, start: int) -> int:
    blank = _BLANK.search(text, start)
    return blank.start() if blank else len(text)


def _iterate_words(text: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(text):
        end = _find_next_blank(text, start + _CHUNK)
        yield from text[start:end].split()
        start = end
