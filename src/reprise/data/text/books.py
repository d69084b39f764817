"""The two books of document 002, part 2, as running text of characters, cleaned as the author's code cleans them.

The files are Project Gutenberg's. Its header and licence, in English, stay part of the text that is learnt. A claim
about the Spanish book rests on that. Their bounds are kept beside the text.
"""

import re
from pathlib import Path

import numpy as np

from reprise.data.corpus import Corpus, Split
from reprise.data.raw import describe_fetching, make_unreadable_error, read_text
from reprise.errors import UserError
from reprise.options import Values

PATTERN = "book_*.txt"
NEIGHBOURS = 100
"""Losses of so many steps before and after one are averaged with its own: a single batch's is noisy."""
_OTHERS = re.compile(r"[^A-Za-z0-9(),.!¿?:;ÁÉÍÓÚáéíóúñÑü\-'`]+")
_WORD = re.compile(r"[^\W\d_]+")
# Project Gutenberg's lines about a book, as it wrote them from 1991 to today, in the text of `clean_text`. They have
# EBook or Etext, "this" or "the", and asterisks or none. The oldest header ends with its "small print".
_HEADER_ENDS = re.compile(
    r"START OF (?:TH(?:IS|E) )?PROJECT GUTENBERG(?:-TM|['’ ]S)? E-?(?:BOOK|TEXT)|END ?THE SMALL PRINT!", re.IGNORECASE
)
_LICENCE_BEGINS = re.compile(
    r"\b(?:END OF|ENDE) (?:TH(?:E|IS)|DIESE[RS]?)? ?(?:IS )?(?:(?:A )?COPYRIGHTED )?PROJE[CK]T GUTENBERG", re.IGNORECASE
)


def prepare(raw: Path, options: Values) -> Corpus:
    """Return the corpus of the one file `book_*.txt` in `raw`: see `make_character_corpus`.

    Extra `licence`, (2,) int64: the text before the first and from the second position on is Project Gutenberg's.

    Raises:
        UserError: for a folder or file that does not hold such a book.
    """
    paths = sorted(raw.glob(PATTERN))
    if len(paths) != 1:
        raise UserError(f"{raw}: {len(paths)} files {PATTERN} where one book is wanted; {describe_fetching(raw)}")
    path = paths[0]
    text = clean_text(read_text(path))
    headers = list(_HEADER_ENDS.finditer(text))
    licence = _LICENCE_BEGINS.search(text, headers[0].end()) if headers else None
    if licence is None:
        lines = "*** START OF THE PROJECT GUTENBERG EBOOK", "*** END OF THE PROJECT GUTENBERG EBOOK"
        raise make_unreadable_error(path, f"the book has to stand between the lines '{lines[0]}' and '{lines[1]}'")
    # The oldest books have both headers: the small print stands below the line START OF.
    header = max(match.end() for match in headers if match.end() <= licence.start())
    return make_character_corpus("books", text, (header, licence.start()))


def clean_text(text: str) -> str:
    """Return the text with one blank in place of every run of characters that the author dropped; none at its ends.

    Blanks are such characters, and so are apostrophes that are not ASCII ("king s").
    Source: the author's code (`process_str`), whose three substitutions and strip come to this.
    """
    return _OTHERS.sub(" ", text).strip()


def make_character_corpus(name: str, text: str, licence: tuple[int, int]) -> Corpus:
    """Return the corpus of a text as one sentence of characters; the vocabulary is its symbols by their code points.

    Facts: tokens, sentences and characters of the split `train`, vocabulary, and words, running and different. A word
    is a run of letters, in lower case.
    """
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    symbols, tokens, counts = np.unique(codes, return_inverse=True, return_counts=True)
    words = list_words(text)
    facts = {
        "characters": {"train": len(tokens)},
        "words": {"running": len(words), "different": len(set(words))},
    }
    by_symbol = dict(zip(map(chr, symbols), counts.tolist(), strict=True))
    extra = {"licence": np.array(licence, np.int64)}
    return Corpus.from_counts(name, {"train": Split.from_tokens(tokens)}, by_symbol, "none", facts, extra)


def list_words(text: str) -> list[str]:
    """Return runs of letters, in lower case, in the order of the text."""
    return _WORD.findall(text.lower())
