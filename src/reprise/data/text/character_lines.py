"""Lines of 27 symbols in folds: the corpora of document 000 (section 4), whatever text they are made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reprise.catalogue.stated import ByOption
from reprise.data.corpus import Corpus, Split, offsets_of
from reprise.data.synthetic.markov import shuffled
from reprise.errors import UserError
from reprise.options import Options, Values, at_least

TOKENS = ByOption(
    "tokens",
    {
        "characters": "small letters and spaces of a line, whose end is no token",
        "bigrams": "pairs of letters within a word, single ones left over, and spaces of a line, whose end is no token",
    },
)
OPTIONS: Options = {"tokens": ("characters", "bigrams"), "folds": at_least(2), "fold_seed": int}
CHARACTERS = [" ", *"abcdefghijklmnopqrstuvwxyz"]
PAIRS = [a + b for a in CHARACTERS[1:] for b in CHARACTERS[1:]]
SPLIT = "lines"
TRAIN, VALID, TEST = 0, 1, 2
"""Values of `extra["part"]`."""
VALIDATION = 10
"""One in so many of the lines that a fold is not tested on chooses the epoch: document 000, section 4."""
LONG = 13
"""Letters of the longest words that are not called rare (section 5)."""

_SPACE, _LINE_END = 0, 27
_CODES = np.zeros(256, np.uint8)
_CODES[ord("a") : ord("z") + 1] = _CODES[ord("A") : ord("Z") + 1] = np.arange(1, 27)
_CODES[ord("\n")] = _LINE_END
_LETTERS = np.frombuffer(b" abcdefghijklmnopqrstuvwxyz", np.uint8)
# Streams of the random order of lines: 1 for the folds, 2 + k for the validation lines of fold k.
_FOLDS, _VALIDATION_LINES = 1, 2


@dataclass(frozen=True)
class Lines:
    """Line i is `symbols[offsets[i]:offsets[i + 1]]`, 0 a space and 1..26 a letter; no line is empty."""

    symbols: np.ndarray  # (n,) uint8
    offsets: np.ndarray  # (lines + 1,) int64
    dropped: int  # lines without a letter

    def text(self) -> list[bytes]:
        """The lines as they would be printed."""
        text = _LETTERS[self.symbols].tobytes()
        return [text[a:b] for a, b in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True)]


def normalise(text: bytes) -> Lines:
    """The paper's preprocessing (section 4): what is no letter becomes a space, a run of spaces becomes one, capitals
    become small letters. Spaces at the ends of a line are taken away, and lines in which nothing is left.

    A letter is one of a..z and A..Z; every byte of another character counts as a space.
    """
    codes = _CODES[np.frombuffer(text if text.endswith(b"\n") else text + b"\n", np.uint8)]
    before = np.concatenate([[_LINE_END], codes[:-1]])
    follows_letter = (before != _SPACE) & (before != _LINE_END)
    codes = codes[(codes != _SPACE) | follows_letter]  # of a run of spaces the first, if it follows a letter
    codes = codes[(codes != _SPACE) | (np.append(codes[1:], _LINE_END) != _LINE_END)]
    ends = np.flatnonzero(codes == _LINE_END)
    lengths = np.diff(ends, prepend=-1) - 1
    kept = lengths[lengths > 0]
    return Lines(codes[codes != _LINE_END], offsets_of(kept), len(lengths) - len(kept))


def pair(lines: Lines) -> Split:
    """Tokens of section 4.2: pairs of letters that neither overlap nor leave a word, a single letter where one is left
    over, and spaces: "state art" is st, at, e, space, ar, t. Ids are places in CHARACTERS + PAIRS.
    """
    s = lines.symbols.astype(np.int32)
    first = np.concatenate([np.ones(1, bool), s[:-1] == _SPACE])
    first[lines.offsets[:-1]] = True
    place = np.arange(len(s))
    place -= np.maximum.accumulate(np.where(first, place, 0))  # in its word; of a space it says nothing
    begins = (s == _SPACE) | (place % 2 == 0)
    # the letter after the first of a pair is at an odd place of the same word
    paired = np.zeros(len(s), bool)
    paired[:-1] = begins[:-1] & (s[:-1] != _SPACE) & ~begins[1:]
    second = np.append(s[1:], 0)
    tokens = np.where(paired, len(CHARACTERS) + 26 * (s - 1) + second - 1, s)[begins]
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(begins)])
    return Split(tokens.astype(np.int32), before[lines.offsets])


def assign_folds(lines: int, folds: int, seed: int) -> np.ndarray:
    """(folds, lines) uint8 of TRAIN, VALID and TEST: every line is tested in one fold.

    The lines are put in a random order and cut into `folds` parts whose sizes differ by one at most; fold k is tested
    on part k. A tenth of its other lines, drawn anew for each fold, is for validation. Raises UserError where there
    are too few lines for that.
    """
    if folds < 2 or lines < 10 * folds:
        raise UserError(
            f"{lines} lines cannot be cut into {folds} folds; ask for at least 2, of at least 10 lines each"
        )
    order = shuffled(np.arange(lines), seed, _FOLDS)
    part = np.full((folds, lines), TRAIN, np.uint8)
    for k, tested in enumerate(np.array_split(order, folds)):
        part[k, tested] = TEST
        others = shuffled(np.flatnonzero(part[k] == TRAIN), seed, _VALIDATION_LINES + k)
        part[k, others[: round(len(others) / VALIDATION)]] = VALID
    return part


def corpus_of(name: str, text: bytes, options: Values) -> Corpus:
    """The corpus of a text: one split, `lines`, in the text's order; `extra["part"]` as `assign_folds` makes it.

    Options: `tokens`, "characters" (27) or "bigrams" (703 symbols, all that are possible); `folds`; `fold_seed`. The
    lines and their folds are the same under either kind of tokens. Facts, among others: the median length of a line in
    characters and in bigrams, and the share of words longer than 13 letters. Raises UserError for too little text.
    """
    lines = normalise(text)
    kinds = {"characters": Split(lines.symbols.astype(np.int32), lines.offsets), "bigrams": pair(lines)}
    split = kinds[options["tokens"]]
    vocabulary = CHARACTERS if options["tokens"] == "characters" else CHARACTERS + PAIRS
    part = assign_folds(split.sentences, options["folds"], options["fold_seed"])
    median = {kind: float(np.median(np.diff(data.offsets))) for kind, data in kinds.items()}
    words = b" ".join(lines.text()).split()
    types = set(words)
    long = {
        f"share_of_{kind}": round(sum(len(word) > LONG for word in found) / len(found), 9)
        for kind, found in (("words", words), ("types", types))
    }
    facts = {
        "boundaries": "line",
        "lines": split.sentences,
        "dropped_lines": lines.dropped,
        "tokens": {SPLIT: len(split.tokens)},
        "characters": {SPLIT: len(lines.symbols)},
        "vocabulary": len(vocabulary),
        "median_length": median,
        "shortening_by_bigrams": round(1 - median["bigrams"] / median["characters"], 9),
        "observed_symbols": {kind: len(np.unique(data.tokens)) for kind, data in kinds.items()},
        "words": len(words),
        "word_types": len(types),
        "long_words": {"longer_than": LONG, **long},
    }
    counts = np.bincount(split.tokens, minlength=len(vocabulary)).astype(np.int64)
    return Corpus(name, {SPLIT: split}, list(vocabulary), counts, facts, extra={"part": part})
