"""PTB and text8: ranks, sentence ends, rare words, and the counts known of the real texts."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from corpus_helpers import ptb_files, read, written

from reprise.data.text import ptb, text8
from reprise.training.protocols.corpus_facts import corpus_metrics


def test_ranks_and_sentence_ends(tmp_path):
    corpus = ptb.prepare(written(tmp_path, ptb_files(" b a a c \n é a b \n\n c\n", "a é\n", " c")), {})
    # </s> 4, a 3, then ties by first appearance: b before c
    assert corpus.vocabulary == ["</s>", "a", "b", "c", "é"]
    assert corpus.counts.tolist() == [4, 3, 2, 2, 1]
    assert read(corpus, "train") == ["b a a c </s>", "é a b </s>", "</s>", "c </s>"]
    assert read(corpus, "test") == ["c </s>"]
    assert corpus.facts["characters"] == {"train": 16, "valid": 4, "test": 2}
    assert corpus.facts["tokens"] == {"train": 12, "valid": 3, "test": 2}
    assert corpus.facts["unk_share"] == {"train": 0.0, "valid": 0.0, "test": 0.0}


def test_ptb_facts(mirror):
    corpus = ptb.prepare(mirror / "ptb", {})
    assert corpus.facts["tokens"] == {"train": 929_589, "valid": 73_760, "test": 82_430}
    assert corpus.facts["sentences"] == {"train": 42_068, "valid": 3_370, "test": 3_761}
    assert corpus.facts["vocabulary"] == len(corpus.vocabulary) == 10_000
    assert corpus.vocabulary[:3] == ["the", "<unk>", "</s>"]
    # Shares of the training tokens that the most frequent words make up, counted independently.
    for words, share in ((9, 0.296), (49, 0.474), (99, 0.543), (375, 0.678), (999, 0.792)):
        assert abs(corpus.counts[:words].sum() / 929_589 - share) < 0.0006
    lines = (mirror / "ptb" / "ptb.test.txt").read_text().splitlines()
    assert read(corpus, "test") == [" ".join([*line.split(), "</s>"]) for line in lines]


def test_text8_prefix_facts(mirror):
    options = {"vocabulary_rule": "train-at-least-10", "minimum_count": 10}
    corpus = text8.prepare(mirror / "text8-prefix", options)
    assert corpus.facts["words"] == 1_171_946
    assert sum(corpus.facts["characters"].values()) == 6_877_824
    # What K = 88 of the tier "reduced" follows from (arithmetic parity-text8-prefix of document 001).
    assert corpus.facts["vocabulary"] == 8711
    rest = corpus.counts[[word != "<unk>" for word in corpus.vocabulary]]
    assert rest.min() == 10
    assert corpus.counts.sum() == corpus.facts["tokens"]["train"]


@pytest.fixture
def made(tmp_path):
    """Of a rule: the corpus of a text whose cuts by bytes fall where the three parts meet."""
    # train: d 3, a 2, b 2, c 1, e 1, f 1; whole text: also c 2, e 2, g 2
    parts = zip(("c d a d b a e d b f", "a c g g x", "a e"), (198, 11, 11), strict=True)
    written(tmp_path, {"text8": "".join(part.ljust(size) for part, size in parts)})
    return lambda rule: text8.prepare(tmp_path, {"vocabulary_rule": rule, "minimum_count": 2})


def test_text8_splits(made):
    corpus = made("train-at-least-2")
    assert corpus.vocabulary == ["<unk>", "d", "a", "b"]  # <unk> 3 came before d 3
    assert corpus.counts.tolist() == [3, 3, 2, 2]
    assert read(corpus, "train") == ["<unk> d a d b a <unk> d b <unk>"]
    assert read(corpus, "valid") == ["a <unk> <unk> <unk> <unk>"]
    assert read(corpus, "test") == ["a <unk>"]
    assert corpus.facts["unk_share"] == {"train": 0.3, "valid": 0.8, "test": 0.5}
    assert (corpus.facts["boundaries"], corpus.facts["words"]) == ("none", 17)


@pytest.mark.parametrize(
    ("rule", "vocabulary", "counts"),
    [
        ("train-more-than-2", ["<unk>", "d"], [7, 3]),
        ("all-at-least-2", ["d", "a", "b", "c", "e", "<unk>", "g"], [3, 2, 2, 1, 1, 1, 0]),
        ("top-1", ["<unk>", "d"], [7, 3]),
        ("top-4", ["d", "a", "b", "<unk>", "c"], [3, 2, 2, 2, 1]),
        ("top-99", ["d", "a", "b", "c", "e", "f", "<unk>"], [3, 2, 2, 1, 1, 1, 0]),
    ],
)
def test_text8_rules(made, rule, vocabulary, counts):
    corpus = made(rule)
    assert (corpus.vocabulary, corpus.counts.tolist()) == (vocabulary, counts)
    found = {(m["metric"], m["split"]): m["value"] for m in corpus_metrics(corpus)}
    assert found["vocabulary", "all"] == len(vocabulary)


def test_text8_cuts_at_word_ends():
    text = b" ".join(b"w%d" % i for i in range(1000))
    places = text8.cuts(text)
    assert (places[0], places[-1]) == (0, len(text))
    for place, share in zip(places[1:-1], (0.9, 0.95), strict=True):
        assert b" " in text[place - 1 : place + 1]
        assert -1 < place - share * len(text) < 6
    assert b" ".join(text[a:b].strip() for a, b in pairwise(places)) == text
    assert text8.cuts(b"abcdefgh " * 100) == [0, 810, 855, 900]  # 90 % and 95 % are word starts already
    assert text8.cuts(b"oneword") == [0, 7, 7, 7]


def test_text8_pieces_do_not_show(tmp_path, monkeypatch):
    text = " ".join(f"w{i * i % 37}" for i in range(3000))
    written(tmp_path, {"text8": text})
    options = {"vocabulary_rule": "train-at-least-10", "minimum_count": 10}
    whole = text8.prepare(tmp_path, options)
    monkeypatch.setattr(text8, "_CHUNK", 50)
    pieces = text8.prepare(tmp_path, options)
    assert (pieces.vocabulary, pieces.facts) == (whole.vocabulary, whole.facts)
    words = " ".join(line for split in whole.splits for line in read(whole, split))
    assert words == " ".join(line for split in pieces.splits for line in read(pieces, split))
    counted = Counter(text.split()[: len(whole.splits["train"].tokens)])
    assert words == " ".join(word if counted[word] >= 10 else "<unk>" for word in text.split())
    assert np.array_equal(pieces.counts, whole.counts)
