"""Document 000's lines: normalisation, bigrams, folds, and the counts known of the real text."""

from __future__ import annotations

import numpy as np
import pytest
from corpus_helpers import ptb_files, read, written

from reprise.data.synthetic import synthetic_lines
from reprise.data.text import character_lines, wsj_characters
from reprise.data.text.character_lines import TEST, TRAIN, VALID, assign_folds, cut, normalise

OPTIONS = {"tokens": "characters", "folds": 5, "fold_seed": 0}
SYMBOLS = character_lines.CHARACTERS + character_lines.PAIRS


def test_normalisation():
    text = " <unk> N  years-old \n the company 's  1987\r\n...\n\nA.T.&T. don't\nCaf\u00e9s &\nlast"
    assert normalise(text.encode()) == ["unk n years old", "the company s", "", "", "a t t don t", "caf s", "last"]
    assert normalise(b"end\n") == ["end"]


def test_bigrams_neither_overlap_nor_leave_words():
    assert (len(character_lines.CHARACTERS), len(SYMBOLS), len(set(SYMBOLS))) == (27, 703, 703)
    assert [SYMBOLS[i] for i in (0, 1, 26, 27, 28, 53, 702)] == [" ", "a", "z", "aa", "ab", "ba", "zz"]
    split = cut(["state art", "a", "ab cde zz"], "bigrams")
    wanted = [["st", "at", "e", " ", "ar", "t"], ["a"], ["ab", " ", "cd", "e", " ", "zz"]]
    assert [SYMBOLS[token] for token in split.tokens] == sum(wanted, [])
    assert split.offsets.tolist() == [0, 6, 7, 13]
    assert [SYMBOLS[token] for token in cut(["a zz"], "characters").tokens] == list("a zz")


def test_every_line_is_tested_once():
    part = assign_folds(1003, 5, seed=0)
    assert (part == TEST).sum(0).tolist() == [1] * 1003
    assert sorted((part == TEST).sum(1).tolist()) == [200, 200, 201, 201, 201]
    for fold in part:
        others = (fold != TEST).sum()
        assert (fold == VALID).sum() == round(others / 10)
        assert (fold == TRAIN).sum() == others - round(others / 10)


def test_folds_are_drawn_by_their_seed():
    part = assign_folds(1000, 5, seed=0)
    assert np.array_equal(part, assign_folds(1000, 5, seed=0))
    again = assign_folds(1000, 5, seed=1)
    # lines of the same fold under two seeds: a fifth by chance
    assert 0.1 < np.mean(again[0][part[0] == TEST] == TEST) < 0.3
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
    assert characters.extra["part"].shape == (3, 180)
    assert (len(characters.vocabulary), len(bigrams.vocabulary)) == (27, 703)
    assert bigrams.counts.sum() == bigrams.facts["tokens"]["lines"] < bigrams.facts["characters"]["lines"]
    assert characters.counts[0] == 180 * 4  # spaces
    for fact in ("median_length", "shortening_by_bigrams", "observed_symbols", "long_words"):
        assert characters.facts[fact] == bigrams.facts[fact]
    assert characters.facts["median_length"] == {"characters": 21.0, "bigrams": 14.0}  # a word of 8 letters
    # in 12 of 60 lines of each file the word has 14 to 17 letters
    assert characters.facts["long_words"]["share_of_words"] == pytest.approx(12 / 60 / 5)


def test_generated_lines_need_no_files(tmp_path):
    corpus = synthetic_lines.prepare(
        tmp_path / "missing", {"tokens": "bigrams", "folds": 2, "fold_seed": 0, "lines": 150}
    )
    assert corpus.facts["lines"] == 150
    assert corpus.extra["part"].shape == (2, 150)


@pytest.fixture(scope="module")
def real(mirror):
    return wsj_characters.prepare(mirror / "ptb", OPTIONS)


def test_facts_of_the_real_text(real):
    facts = real.facts
    assert (facts["lines"], facts["dropped_lines"]) == (49_199, 0)
    assert facts["characters"] == {"lines": 5_643_284}
    assert facts["median_length"] == {"characters": 109.0, "bigrams": 70.0}
    assert facts["shortening_by_bigrams"] == pytest.approx(0.358, abs=5e-4)
    assert facts["observed_symbols"] == {"characters": 27, "bigrams": 492}
    assert (facts["words"], facts["word_types"]) == (1_039_573, 9_611)
    assert facts["long_words"]["share_of_words"] == pytest.approx(0.0018, abs=5e-5)
    assert facts["long_words"]["share_of_types"] == pytest.approx(0.0074, abs=5e-5)
    assert read(real, "lines", "")[31_418].startswith("to land customers for their unk stock unk business")
    assert (real.extra["part"] == TEST).sum(1).tolist() == [9_840, 9_840, 9_840, 9_840, 9_839]


def test_bigrams_of_the_real_text(mirror):
    corpus = wsj_characters.prepare(mirror / "ptb", {**OPTIONS, "tokens": "bigrams"})
    assert corpus.facts["tokens"] == {"lines": 3_600_127}
    assert (corpus.counts > 0).sum() == 492
