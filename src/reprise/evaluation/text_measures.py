"""Measures of generated texts."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from reprise.data.text.books import list_words

_STOP = re.compile(r"\.(?=..)", re.DOTALL)
_STOP_AND_CAPITAL = re.compile(r"\. [^\W\d_]")
ORDERS = (1, 2, 3, 4)
"""Lengths of the n-grams of words whose repetition is counted."""


class BookVocabulary:
    """Hold a book's words, and those likelier in its licence than in the book.

    A word is a run of letters in lower case. In a Spanish book with an English licence the licence's words are the
    English ones. A word that neither part has, such as a misspelling, belongs to neither.
    """

    def __init__(self, book: str, licence: str = "") -> None:
        in_book, in_licence = Counter(list_words(book)), Counter(list_words(licence))
        self.words = in_book.keys() | in_licence.keys()
        of_book, of_licence = in_book.total(), in_licence.total()
        self.licence = {w for w, n in in_licence.items() if n * of_book > in_book[w] * of_licence}


def list_whole_words(text: str) -> list[str]:
    """Return runs of letters, in lower case, without a first and a last one that the text's ends may have cut."""
    words = list_words(text)
    return words[text[:1].isalpha() : len(words) - text[-1:].isalpha()]


def measure_distinct(texts: Iterable[str], n: int) -> tuple[float, int]:
    """Return different n-grams of words over all n-grams, within each text, and how many there are in all.

    Texts in a loop have few different ones. The ratio is that of the sums over texts; 0 where there are none.
    """
    different = total = 0
    for text in texts:
        words = list_whole_words(text)
        grams = list(zip(*(words[i:] for i in range(n)), strict=False))
        different, total = different + len(set(grams)), total + len(grams)
    return different / max(1, total), total


def measure_stops_before_capitals(texts: Iterable[str]) -> tuple[float, int]:
    """Return the share of full stops followed by a blank and a capital, and the number of stops.

    A stop counts if at least two characters follow it.
    """
    good = stops = 0
    for text in texts:
        stops += len(_STOP.findall(text))
        good += sum(match[-1].isupper() for match in _STOP_AND_CAPITAL.findall(text))
    return good / max(1, stops), stops


def measure_texts(texts: Sequence[str], vocabulary: BookVocabulary) -> list[tuple[str, float, int]]:
    """Measure these texts: each measure's name, its value (a share), and how many things it is a share of.

    words_in_book, words_in_licence: of whole words; distinct_1 … distinct_4: see `measure_distinct`; spaces: of
    characters; stops_before_capitals. A measure of nothing (no word, no full stop, no licence) is left out.
    """
    words = [word for text in texts for word in list_whole_words(text)]
    in_book, in_licence = (
        sum(w in part for w in words) / max(1, len(words)) for part in (vocabulary.words, vocabulary.licence)
    )
    characters = sum(map(len, texts))
    measures = [
        ("words_in_book", in_book, len(words)),
        ("words_in_licence", in_licence, len(words) if vocabulary.licence else 0),
        ("spaces", sum(text.count(" ") for text in texts) / max(1, characters), characters),
        ("stops_before_capitals", *measure_stops_before_capitals(texts)),
        *((f"distinct_{n}", *measure_distinct(texts, n)) for n in ORDERS),
    ]
    return [(name, value, count) for name, value, count in measures if count]
