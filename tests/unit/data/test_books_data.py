"""The two books of document 002: the author's cleaning, the counts of his log, and the generated stand-in."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from corpus_helpers import read, written
from hypothesis import given
from hypothesis import strategies as st

from reprise.config.project import load_project
from reprise.data import prepare_corpus
from reprise.data.corpus import Corpus
from reprise.data.synthetic.markov import make_chain
from reprise.data.synthetic.synthetic_prose import prepare as prepare_prose
from reprise.data.text.books import clean, prepare, words_of

ROOT = Path(__file__).parents[3]
KEPT = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789(),.!¿?:;ÁÉÍÓÚáéíóúñÑü-'`"
# As the author's log prints its dictionary.
GRIMM = " !(),-.0123456789:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
QUIJOTE = " !'(),-.0123456789:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz¿ÁÉÍÑÓÚáéíñóúü"
SMALL = (
    "\ufeffThe Project\r\n*** START OF THIS PROJECT GUTENBERG EBOOK X ***\n"
    "It’s a “tale”.\n\nEnd of Project Gutenberg’s X"
)


@pytest.mark.parametrize(
    ("dataset", "characters", "symbols", "different"),
    [("book-grimm", 533131, GRIMM, 5138), ("book-quijote", 2107121, QUIJOTE, 23590)],
)
def test_the_books_have_the_counts_and_the_symbols_of_the_authors_log(
    mirror, tmp_path, dataset, characters, symbols, different
):
    spec = load_project(ROOT).spec(dataset)
    assert spec.expected == {"characters": {"train": characters}, "vocabulary": len(symbols)}
    (file,) = spec.files
    (tmp_path / "raw" / dataset).mkdir(parents=True)
    shutil.copy(mirror / spec.mirror / file.name, tmp_path / "raw" / dataset)
    prepare_corpus(spec, {}, tmp_path / "raw", tmp_path / "c.npz")
    corpus = Corpus.load(tmp_path / "c.npz")
    assert "".join(corpus.vocabulary) == symbols
    assert corpus.splits["train"].offsets.tolist() == [0, characters]
    assert np.array_equal(corpus.counts, np.bincount(corpus.splits["train"].tokens))
    (text,) = read(corpus, "train", "")
    assert text.startswith("The Project Gutenberg EBook of ")
    assert corpus.facts["words"] == {"running": len(words_of(text)), "different": different}
    begin, end = corpus.extra["licence"]
    assert text[:begin].endswith("START OF THIS PROJECT GUTENBERG EBOOK")
    assert text[end:].startswith("End of Project Gutenberg")
    assert "END OF THIS PROJECT GUTENBERG EBOOK" not in text[begin:end]


@given(st.text(st.sampled_from(KEPT + " \n\r\t\ufeff’“”_*#é€"), max_size=60))
def test_cleaning_turns_what_is_not_kept_into_single_blanks(text):
    blanked = "".join(symbol if symbol in KEPT else " " for symbol in text)
    assert clean(text) == " ".join(blanked.split())


def test_the_byte_order_mark_becomes_a_blank_that_is_stripped(tmp_path):
    corpus = prepare(written(tmp_path, {"book_X.txt": SMALL}), {})
    text = "The Project START OF THIS PROJECT GUTENBERG EBOOK X It s a tale . End of Project Gutenberg s X"
    assert read(corpus, "train", "") == [text]
    assert corpus.vocabulary == sorted(set(text))
    assert corpus.facts["tokens"] == corpus.facts["characters"] == {"train": len(text)}
    begin, end = corpus.extra["licence"]
    assert text[begin:end] == " X It s a tale . "


def test_generated_prose_is_a_book_with_a_licence_of_known_entropy(tmp_path):
    options = {"vocabulary_size": 40, "training_sentences": 300, "licence_sentences": 50, "seed": 3}
    corpus = prepare_prose(tmp_path, options)
    (text,) = read(corpus, "train", "")
    assert text == (tmp_path / "synthetic-prose.txt").read_text()
    begin, end = corpus.extra["licence"]
    # The text is read back into words, and the source's own loss on them computed anew.
    nats = 0.0
    for number, part in enumerate((text[begin:end], text[end:])):
        source = make_chain(40, 3 + number)
        sentences = part.strip().removesuffix(".").split(". ")
        assert len(sentences) == (300, 50)[number]
        transitions, last = source.transitions(), 0
        for sentence in sentences:
            assert sentence[0].isupper()
            words = sentence.lower()[:: -1 if number else 1].split() + ["</s>"]
            for word in map(source.words.index, words):
                nats, last = nats - math.log(transitions[last, word]), word
    assert corpus.facts["source_nats"]["train"] == pytest.approx(nats / len(text), abs=1e-8)
    assert prepare_prose(tmp_path, options).facts == corpus.facts
    assert read(prepare_prose(tmp_path, options | {"seed": 4}), "train", "") != [text]
