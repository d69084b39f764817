"""Running text, sentences, lines and pairs of small files: what is a token, how words rank, where texts are cut."""

import gzip
import unicodedata
from itertools import combinations

import numpy as np
import pytest
import torch
from corpus_helpers import ptb_files, read, spelled, written
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from reprise.data.pairs import multi30k
from reprise.data.pairs.mteval import tokenise_13a
from reprise.data.pairs.pairs import get_source, get_test_lines, is_parallel
from reprise.data.raw import read_lines, read_text
from reprise.data.synthetic.palindromes import draw_palindromes
from reprise.data.text import books, ptb, text8, wsj_characters
from reprise.data.text.character_lines import (
    BIGRAMS,
    CHARACTERS,
    TEST,
    TRAIN,
    VALID,
    assign_folds,
    cut_lines,
    normalise_lines,
)

SYMBOLS = CHARACTERS + BIGRAMS
KEPT = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789(),.!¿?:;ÁÉÍÓÚáéíóúñÑü-'`"
BOOK = (
    "\ufeffThe Project\r\n*** START OF THIS PROJECT GUTENBERG EBOOK X ***\n"
    "It’s a “tale”.\n\nEnd of Project Gutenberg’s X"
)


def test_ranks_and_sentence_ends(tmp_path):
    corpus = ptb.prepare(written(tmp_path, ptb_files(" b a a c \n é a b \n\n c\n", "a é\n", " c")), {})
    # </s> 4, a 3, then ties by first appearance: b before c
    assert corpus.vocabulary == ["</s>", "a", "b", "c", "é"]
    assert corpus.counts.tolist() == [4, 3, 2, 2, 1]
    assert read(corpus, "train") == ["b a a c </s>", "é a b </s>", "</s>", "c </s>"]
    assert read(corpus, "test") == ["c </s>"]
    assert corpus.facts["characters"] == {"train": 17, "valid": 4, "test": 2}  # a blank line has its line end
    assert corpus.facts["tokens"] == {"train": 12, "valid": 3, "test": 2}
    assert corpus.facts["unk_share"] == {"train": 0.0, "valid": 0.0, "test": 0.0}


@pytest.mark.parametrize("chunk", [7, 1 << 22])
@pytest.mark.parametrize(
    ("rule", "vocabulary", "counts"),
    [
        ("train-at-least-2", ["<unk>", "d", "a", "b"], [3, 3, 2, 2]),  # <unk> 3 came before d 3
        ("train-more-than-2", ["<unk>", "d"], [7, 3]),
        ("all-at-least-2", ["d", "a", "b", "c", "e", "<unk>", "g"], [3, 2, 2, 1, 1, 1, 0]),
        ("top-1", ["<unk>", "d"], [7, 3]),
        ("top-4", ["d", "a", "b", "<unk>", "c"], [3, 2, 2, 2, 1]),
        ("top-99", ["d", "a", "b", "c", "e", "f", "<unk>"], [3, 2, 2, 1, 1, 1, 0]),
    ],
)
def test_rules_of_text8s_vocabulary(tmp_path, monkeypatch, rule, vocabulary, counts, chunk):
    """Of a text whose cuts by bytes fall where the three parts meet, whatever pieces it is read in."""
    monkeypatch.setattr(text8, "_CHUNK", chunk)
    # train: d 3, a 2, b 2, c 1, e 1, f 1; whole text: also c 2, e 2, g 2
    texts = {"train": "c d a d b a e d b f", "valid": "a c g g x", "test": "a e"}
    parts = zip(texts.values(), (198, 11, 11), strict=True)
    raw = written(tmp_path, {"text8": "".join(part.ljust(size) for part, size in parts)})
    corpus = text8.prepare(raw, {"vocabulary_rule": rule, "minimum_count": 2})
    assert (corpus.vocabulary, corpus.counts.tolist()) == (vocabulary, counts)
    for split, text in texts.items():
        words = [word if word in vocabulary else "<unk>" for word in text.split()]
        assert read(corpus, split) == [" ".join(words)]
        assert corpus.facts["unk_share"][split] == words.count("<unk>") / len(words)
    assert (corpus.facts["boundaries"], corpus.facts["words"]) == ("none", 17)


def test_a_text_is_the_same_whoever_wrote_its_file(tmp_path):
    """Byte-order mark, normal form, soft hyphens and line ends are the editor's."""
    plain = "été sœur\n\nÅge\n"
    writings = [
        plain.encode("utf-8-sig"),
        unicodedata.normalize("NFD", plain).encode(),
        plain.replace("\n", "\r\n").encode(),
        plain.replace("\n", "\r").encode(),
        plain.replace("t", "\u00adt\u200b").replace("œ", "\u2060œ").encode(),
        "e\u00ad\u0301te\u0301 sœur\n\n\u212bge\n".encode(),
    ]
    for data in (plain.encode(), *writings):
        (tmp_path / "a.txt").write_bytes(data)
        assert read_text(tmp_path / "a.txt") == plain
        assert read_lines(tmp_path / "a.txt") == ["été sœur", "", "Åge"]


def test_a_text_with_a_word_a_line_is_cut_like_one_in_a_line(tmp_path):
    words = " ".join(f"mot{i % 7}é" for i in range(100))
    options = {"vocabulary_rule": "train-at-least-10", "minimum_count": 10}
    one, other = (
        text8.prepare(written(tmp_path / name, {"text8": text}), options)
        for name, text in (("blanks", words), ("lines", words.replace(" ", "\n")))
    )
    for split, words_of_split in (("train", 90), ("valid", 5), ("test", 5)):
        assert len(one.splits[split].tokens) == words_of_split
        assert read(one, split) == read(other, split)
    assert sum(one.facts["characters"].values()) == len(words)


def test_text8_is_cut_at_word_ends():
    words = b"abcdefgh " * 100
    assert text8.find_cuts(words) == [0, 810, 855, 900]  # 90 % and 95 % are word starts already
    assert text8.find_cuts(b"abcdefg " * 100 + b"abc") == [0, 727, 767, 803]
    assert text8.find_cuts(b"oneword") == [0, 7, 7, 7]


def test_lines_are_small_letters_and_spaces():
    text = " <unk> N  years-old \n the company 's  1987\r\n...\n\nA.T.&T. don't\nCaf\u00e9s &\nlast"
    lines = ["unk n years old", "the company s", "", "", "a t t don t", "caf s", "last"]
    assert normalise_lines(text.split("\n")) == lines


def test_bigrams_neither_overlap_nor_leave_words():
    assert (len(CHARACTERS), len(SYMBOLS), len(set(SYMBOLS))) == (27, 703, 703)
    assert [SYMBOLS[i] for i in (0, 1, 26, 27, 28, 53, 702)] == [" ", "a", "z", "aa", "ab", "ba", "zz"]
    split = cut_lines(["state art", "a", "ab cde zz"], "bigrams")
    expected = [["st", "at", "e", " ", "ar", "t"], ["a"], ["ab", " ", "cd", "e", " ", "zz"]]
    assert [SYMBOLS[token] for token in split.tokens] == sum(expected, [])
    assert split.offsets.tolist() == [0, 6, 7, 13]
    assert [SYMBOLS[token] for token in cut_lines(["a zz"], "characters").tokens] == list("a zz")


def test_every_line_is_tested_once_in_folds_that_their_seed_draws():
    part = assign_folds(1003, 5, seed=0)
    assert (part == TEST).sum(0).tolist() == [1] * 1003
    assert sorted((part == TEST).sum(1).tolist()) == [200, 200, 201, 201, 201]
    for fold in part:
        others = (fold != TEST).sum()
        assert (fold == VALID).sum() == round(others / 10)
        assert (fold == TRAIN).sum() == others - round(others / 10)
    second = assign_folds(1003, 5, seed=1)
    # lines of the same fold under two seeds: a fifth by chance
    assert 0.1 < np.mean(second[0][part[0] == TEST] == TEST) < 0.3
    # fold by fold other lines are held out for validation, and not those of one stretch
    assert 0.02 < np.mean((part[1] == VALID)[part[0] == VALID]) < 0.25
    assert np.std(np.flatnonzero(part[0] == TEST)) > 250


def test_corpora_of_both_kinds_of_tokens_have_the_same_lines_and_folds(tmp_path):
    words = ["".join(f" the <unk> of {c * (i % 17 + 1)} N \n" for i in range(60)) for c in "abc"]
    raw = written(tmp_path, ptb_files(*words))
    options = {"folds": 3, "fold_seed": 7}
    characters, bigrams = (wsj_characters.prepare(raw, {**options, "tokens": t}) for t in ("characters", "bigrams"))
    texts = read(characters, "lines", "")
    assert texts == read(bigrams, "lines", "")
    assert (texts[0], texts[60]) == ("the unk of a n", "the unk of b n")
    assert np.array_equal(characters.extra["part"], bigrams.extra["part"])
    assert (len(characters.vocabulary), len(bigrams.vocabulary)) == (27, 703)
    assert bigrams.counts.sum() == bigrams.facts["tokens"]["lines"] < bigrams.facts["characters"]["lines"]
    assert characters.counts[0] == 180 * 4  # spaces
    for fact in ("median_length", "shortening_by_bigrams", "observed_symbols", "long_words"):
        assert characters.facts[fact] == bigrams.facts[fact]
    assert characters.facts["median_length"] == {"characters": 21.0, "bigrams": 14.0}  # a word of 8 letters
    # in 12 of 60 lines of each file the word has 14 to 17 letters
    assert characters.facts["long_words"]["share_of_words"] == pytest.approx(12 / 60 / 5)


@settings(deadline=None)
@given(st.text(st.sampled_from(KEPT + " \n\r\t\ufeff’“”_*#é€"), max_size=60))
def test_cleaning_turns_what_a_book_does_not_keep_into_single_blanks(text):
    blanked = "".join(symbol if symbol in KEPT else " " for symbol in text)
    assert books.clean_text(text) == " ".join(blanked.split())


def test_a_book_is_one_stretch_between_its_header_and_its_licence(tmp_path):
    corpus = books.prepare(written(tmp_path, {"book_X.txt": BOOK}), {})
    text = "The Project START OF THIS PROJECT GUTENBERG EBOOK X It s a tale . End of Project Gutenberg s X"
    assert read(corpus, "train", "") == [text]
    assert corpus.vocabulary == sorted(set(text))
    assert corpus.facts["tokens"] == corpus.facts["characters"] == {"train": len(text)}
    begin, end = corpus.extra["licence"]
    assert text[begin:end] == " X It s a tale . "


@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        (
            "*** START OF THE PROJECT GUTENBERG EBOOK THE CROW ***",
            "*** END OF THE PROJECT GUTENBERG EBOOK THE CROW ***",
        ),
        ("***START OF THE PROJECT GUTENBERG EBOOK THE CROW***", "***END OF THE PROJECT GUTENBERG EBOOK THE CROW***"),
        ("*** START OF THIS PROJECT GUTENBERG ETEXT ***", "*** END OF THIS PROJECT GUTENBERG ETEXT ***"),
        (
            "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.1*END*",
            "End of this Project Gutenberg Etext of The Crow",
        ),
        ("*END THE SMALL PRINT! FOR PUBLIC DOMAIN E-TEXTS*", "The End of the Project Gutenberg E-text"),
        (
            "*** START OF THIS PROJECT GUTENBERG EBOOK ***\n*END*THE SMALL PRINT!*",
            "Ende dieses Project Gutenberg Etextes",
        ),
        ("*** START OF THE PROJECT GUTENBERG EBOOK ***", "End of this is COPYRIGHTED Project Gutenberg Etext"),
    ],
)
def test_a_book_is_found_between_the_lines_of_every_age(tmp_path, begins, ends):
    text = f"Welcome to Project Gutenberg\n**START**THE SMALL PRINT!**\n{begins}\nA crow came.\n{ends}\nLicence"
    corpus = books.prepare(written(tmp_path, {"book_X.txt": text}), {})
    begin, end = corpus.extra["licence"]
    book = read(corpus, "train", "")[0][begin:end]
    assert "A crow came." in book
    assert "gutenberg" not in book.lower()


TEXTS = {
    "train": [
        ("L'homme qu\N{RIGHT SINGLE QUOTATION MARK}il voit.", "The man, he sees."),
        ("L'homme dort.", "The man sleeps."),
        ("Un chien.", "A dog."),
    ],
    "valid": [("Un chien dort.", "A dog sleeps.")],
    "test": [("L'homme court.", "The man runs.")],
}


def parallel(folder, **options):
    files = {
        f"{multi30k.FILES[split]}.{language}.gz": gzip.compress("".join(f"{pair[i]}\n" for pair in pairs).encode())
        for split, pairs in TEXTS.items()
        for i, language in enumerate(("fr", "en"))
    }
    return multi30k.prepare(written(folder, files), {"pairs": 2, "lowercase": True, "minimum_count": 1, **options})


def test_a_line_is_the_translation_of_the_same_line(tmp_path):
    corpus = parallel(tmp_path)
    source = get_source(corpus)
    assert spelled(source.splits["train"], source.vocabulary) == ["l' homme qu' il voit .", "l' homme dort ."]
    assert read(corpus, "train") == ["the man , he sees . </s>", "the man sleeps . </s>"]
    assert spelled(source.splits["test"], source.vocabulary) == ["l' homme <unk> ."]
    assert read(corpus, "test") == ["the man <unk> . </s>"]
    assert read(corpus, "valid") == ["<unk> <unk> sleeps . </s>"]
    assert is_parallel(corpus)
    assert get_test_lines(corpus) == [("L'homme court.", "The man runs.")]
    facts = corpus.facts
    assert facts["lines"] == {"train": 3, "valid": 1, "test": 1}
    assert facts["pairs"] == {"train": 2, "valid": 1, "test": 1}
    assert (facts["tokens"]["train"], facts["source_tokens"]["train"]) == (12, 10)
    assert (facts["unk_share"]["test"], facts["source_unk_share"]["test"]) == (0.2, 0.25)
    assert read(parallel(tmp_path, lowercase=False), "train")[1] == "The man sleeps . </s>"


def test_vocabularies_of_pairs_are_by_count_and_leave_rare_words_out(tmp_path):
    corpus = parallel(tmp_path, pairs=3, minimum_count=2)
    # the man . </s> twice or more, the other nine once
    counted = dict(zip(corpus.vocabulary, corpus.counts.tolist(), strict=True))
    assert counted == {"<unk>": 6, ".": 3, "</s>": 3, "the": 2, "man": 2}
    assert list(counted.values()) == np.bincount(corpus.splits["train"].tokens).tolist() == [6, 3, 3, 2, 2]
    assert set(get_source(corpus).vocabulary) == {"<unk>", ".", "l'", "homme"}


@settings(deadline=None)
@example("It's 3.5, end 5. Next &quot;q&quot; &amp; &lt;...&gt; ..1 and 1,,5")
@given(st.text(st.sampled_from("ab1 29.,-'\"&;:!?()[]{}\\/@#$%*+<=>^_`|~é\t"), max_size=40))
def test_words_are_those_of_sacrebleu(text):
    assert tokenise_13a(text) == Tokenizer13a()(text).split()


@pytest.mark.parametrize("length", [2, 3, 10, 11, 50])
def test_palindromes_read_the_same_backwards_and_follow_the_generator(length):
    inputs, targets = draw_palindromes(length, 64, torch.Generator().manual_seed(7))
    assert (inputs.shape, targets.shape) == ((length - 1, 64), (64,))
    assert inputs.dtype == targets.dtype == torch.int64
    sequences = torch.cat([inputs, targets[None]])
    assert torch.equal(sequences, sequences.flip(0))
    assert torch.equal(inputs, draw_palindromes(length, 64, torch.Generator().manual_seed(7))[0])
    assert not torch.equal(inputs, draw_palindromes(length, 64, torch.Generator().manual_seed(8))[0])


def test_the_left_half_of_palindromes_is_uniform_and_independent():
    halves = draw_palindromes(5, 40_000, torch.Generator().manual_seed(1))[0][
        :3
    ]  # (3, B): two mirrored, the middle digit
    for row in halves:
        shares = torch.bincount(row, minlength=10) / 40_000
        assert len(shares) == 10
        assert (shares - 0.1).abs().max() < 0.0075
    for a, b in combinations(halves, 2):
        assert abs((a == b).double().mean() - 0.1) < 0.0075
