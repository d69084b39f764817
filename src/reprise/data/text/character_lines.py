"""Lines of 27 symbols in folds: the corpora of document 000 (section 4), whatever text they are made from."""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from reprise.data.corpus import Corpus, Split
from reprise.data.synthetic.markov import shuffle_values
from reprise.errors import UserError
from reprise.options import Values

CHARACTERS = [" ", *"abcdefghijklmnopqrstuvwxyz"]
BIGRAMS = [a + b for a in CHARACTERS[1:] for b in CHARACTERS[1:]]
LINES_SPLIT = "lines"
LINE = "line"
"""The fact `boundaries` of these corpora."""
TRAIN, VALID, TEST = 0, 1, 2
"""Values of `extra["part"]`."""
VALIDATION_DIVISOR = 10
"""One in so many of the lines that a fold is not tested on chooses the epoch: document 000, section 4."""
MAX_COMMON_LENGTH = 13
"""Letters of the longest words that are not called rare (section 5)."""

_CUTS = {"characters": re.compile(r"[ a-z]"), "bigrams": re.compile(r" |[a-z]{1,2}")}
# Streams of the random order of lines: 1 for the folds, 2 + k for the validation lines of fold k.
_FOLDS, _VALIDATION_LINES = 1, 2


def normalise_lines(lines: Iterable[str]) -> list[str]:
    """Replace all but letters by spaces, join runs of spaces, and lower-case, as the paper does (section 4).

    Remove spaces at line ends (assumption `line-ends`).
    """
    return [re.sub(r"[^A-Za-z]+", " ", line).strip().lower() for line in lines]


def cut_lines(lines: list[str], tokens: str) -> Split:
    """Cut lines into characters, or into the bigrams of section 4.2.

    These are pairs of letters that neither overlap nor leave a word, single letters where one is left over, and spaces:
    "state art" is st, at, e, space, ar, t. Ids are places in CHARACTERS + BIGRAMS.
    """
    ids = {symbol: i for i, symbol in enumerate(CHARACTERS + BIGRAMS)}
    return Split.from_id_lists([[ids[symbol] for symbol in _CUTS[tokens].findall(line)] for line in lines])


def find_tokens(vocabulary: Sequence[str]) -> str:
    """Return what a corpus with this vocabulary is cut into: "characters" or "bigrams"."""
    return "characters" if len(vocabulary) == len(CHARACTERS) else "bigrams"


def assign_folds(lines: int, folds: int, seed: int) -> np.ndarray:
    """Assign lines to folds, (folds, lines) uint8 of TRAIN, VALID and TEST: every line is tested in one fold.

    The lines are put in a random order and cut into `folds` parts whose sizes differ by one at most. Fold k is tested
    on part k. A tenth of its other lines, drawn anew for each fold, is for validation.

    Raises:
        UserError: There are too few lines.
    """
    if folds < 2 or lines < 10 * folds:
        raise UserError(
            f"{lines} lines cannot be cut into {folds} folds; ask for at least 2, of at least 10 lines each"
        )
    order = shuffle_values(np.arange(lines), seed, _FOLDS)
    part = np.full((folds, lines), TRAIN, np.uint8)
    for k, tested in enumerate(np.array_split(order, folds)):
        part[k, tested] = TEST
        others = shuffle_values(np.flatnonzero(part[k] == TRAIN), seed, _VALIDATION_LINES + k)
        part[k, others[: round(len(others) / VALIDATION_DIVISOR)]] = VALID
    return part


def make_line_corpus(name: str, text: Iterable[str], options: Values) -> Corpus:
    """Return the corpus of a text's lines: one split, `lines`, in their order; `extra["part"]` as of `assign_folds`.

    Options: `tokens`, "characters" (27) or "bigrams" (703 symbols, all that are possible); `folds`; `fold_seed`. The
    lines and their folds are the same under either kind of tokens. The facts hold the median length of a line in
    characters and in bigrams, and the share of words longer than 13 letters.

    Raises:
        UserError: There is too little text.
    """
    normal = normalise_lines(text)
    lines = [line for line in normal if line]
    kinds = {tokens: cut_lines(lines, tokens) for tokens in _CUTS}
    split = kinds[options["tokens"]]
    vocabulary = CHARACTERS if options["tokens"] == "characters" else CHARACTERS + BIGRAMS
    part = assign_folds(split.sentence_count, options["folds"], options["fold_seed"])
    median = {kind: float(np.median(np.diff(data.offsets))) for kind, data in kinds.items()}
    words = " ".join(lines).split()
    types = set(words)
    long = {
        f"share_of_{kind}": round(sum(len(word) > MAX_COMMON_LENGTH for word in counted) / len(counted), 9)
        for kind, counted in (("words", words), ("types", types))
    }
    facts = {
        "lines": split.sentence_count,
        "dropped_lines": len(normal) - len(lines),
        "characters": {LINES_SPLIT: len(kinds["characters"].tokens)},
        "median_length": median,
        "shortening_by_bigrams": round(1 - median["bigrams"] / median["characters"], 9),
        "observed_symbols": {kind: len(np.unique(data.tokens)) for kind, data in kinds.items()},
        "words": len(words),
        "word_types": len(types),
        "long_words": {"longer_than": MAX_COMMON_LENGTH, **long},
    }
    counts = dict(zip(vocabulary, np.bincount(split.tokens, minlength=len(vocabulary)).tolist(), strict=True))
    return Corpus.from_counts(name, {LINES_SPLIT: split}, counts, LINE, facts, {"part": part}, sentences="lines")
