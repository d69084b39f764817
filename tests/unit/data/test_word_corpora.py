"""PTB and text8: ranks, sentence ends, rare words, and the counts known of the real texts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from reprise.data.corpus import Corpus
from reprise.data.text import ptb, text8
from reprise.errors import UserError
from reprise.training.protocols.corpus_facts import corpus_metrics


def write_ptb(folder: Path, train: str, valid: str = "a\n", test: str = "a\n") -> Path:
    for split, text in (("train", train), ("valid", valid), ("test", test)):
        (folder / f"ptb.{split}.txt").write_text(text, encoding="utf-8")
    return folder


def test_ranks_and_sentence_ends(tmp_path: Path) -> None:
    train = " b a a c \n é a b \n\n c\n"
    corpus = ptb.prepare(write_ptb(tmp_path, train, "a é\n", " c"), {})
    # </s> 4, a 3, then ties by first appearance: b before c
    assert corpus.vocabulary == ["</s>", "a", "b", "c", "é"]
    assert corpus.counts.tolist() == [4, 3, 2, 2, 1]
    split = corpus.splits["train"]
    assert split.tokens.tolist() == [2, 1, 1, 3, 0, 4, 1, 2, 0, 0, 3, 0]
    assert split.offsets.tolist() == [0, 5, 9, 10, 12]
    assert corpus.splits["test"].tokens.tolist() == [3, 0]
    assert corpus.facts["characters"] == {"train": 16, "valid": 4, "test": 2}
    assert corpus.facts["tokens"] == {"train": 12, "valid": 3, "test": 2}
    assert corpus.facts["unk_share"] == {"train": 0.0, "valid": 0.0, "test": 0.0}


def test_ptb_texts_with_faults(tmp_path: Path) -> None:
    for texts, message in [
        (("a b\n", "a z\n"), "ptb.valid.txt: 'z' is not in the training text"),
        (("a </s> b\n",), "ptb.train.txt: holds the word </s>"),
        ((" \n",), "ptb.train.txt: empty"),
    ]:
        with pytest.raises(UserError, match=message):
            ptb.prepare(write_ptb(tmp_path, *texts), {})
    (tmp_path / "ptb.train.txt").write_bytes(b"abc \xff\n")
    with pytest.raises(UserError, match="line 1: not UTF-8"):
        ptb.prepare(tmp_path, {})
    (tmp_path / "ptb.train.txt").unlink()
    with pytest.raises(UserError, match=f"no such raw file; run `python -m reprise fetch {tmp_path.name}`"):
        ptb.prepare(tmp_path, {})


def test_ptb_facts(mirror: Path) -> None:
    corpus = ptb.prepare(mirror / "ptb", {})
    assert corpus.facts["tokens"] == {"train": 929_589, "valid": 73_760, "test": 82_430}
    assert corpus.facts["sentences"] == {"train": 42_068, "valid": 3_370, "test": 3_761}
    assert corpus.facts["vocabulary"] == len(corpus.vocabulary) == 10_000
    assert corpus.vocabulary[:3] == ["the", "<unk>", "</s>"]
    assert corpus.counts.sum() == 929_589
    assert np.all(np.diff(corpus.counts) <= 0)
    # Shares of the training tokens that the most frequent words make up, counted independently.
    for words, share in ((9, 0.296), (49, 0.474), (99, 0.543), (375, 0.678), (999, 0.792)):
        assert abs(corpus.counts[:words].sum() / 929_589 - share) < 0.0006
    lines = (mirror / "ptb" / "ptb.test.txt").read_text().splitlines()
    split = corpus.splits["test"]
    for i in (0, 1, 1000, 3760):
        words = [corpus.vocabulary[t] for t in split.tokens[split.offsets[i] : split.offsets[i + 1]]]
        assert words == [*lines[i].split(), "</s>"]


def test_text8_prefix_facts(mirror: Path) -> None:
    corpus = prepare_text8(mirror / "text8-prefix", "train-at-least-10", 10)
    assert corpus.facts["words"] == 1_171_946
    assert sum(corpus.facts["characters"].values()) == 6_877_824
    # What K = 88 of the tier "reduced" follows from (arithmetic parity-text8-prefix of document 001).
    assert corpus.facts["vocabulary"] == 8711
    rest = corpus.counts[[word != "<unk>" for word in corpus.vocabulary]]
    assert rest.min() == 10
    assert corpus.counts.sum() == corpus.facts["tokens"]["train"]


def write_text8(folder: Path, train: str, valid: str, test: str) -> Path:
    """A text whose cuts by bytes fall where the three parts meet."""
    total = 20 * max(len(valid) + 1, len(test) + 1, (len(train) + 18) // 18)
    parts = zip((train, valid, test), (total * 18 // 20, total // 20, total // 20), strict=True)
    (folder / "text8").write_text("".join(part.ljust(size) for part, size in parts))
    return folder


def prepare_text8(folder: Path, rule: str, least: int = 2) -> Corpus:
    return text8.prepare(folder, {"vocabulary_rule": rule, "minimum_count": least})


def test_text8_rules(tmp_path: Path) -> None:
    # train: d 3, a 2, b 2, c 1, e 1, f 1; whole text: also c 2, e 2, g 2
    write_text8(tmp_path, "c d a d b a e d b f", "a c g g x", "a e")
    corpus = prepare_text8(tmp_path, "train-at-least-2")
    assert corpus.vocabulary == ["<unk>", "d", "a", "b"]  # <unk> 3 came before d 3
    assert corpus.counts.tolist() == [3, 3, 2, 2]
    assert corpus.splits["train"].tokens.tolist() == [0, 1, 2, 1, 3, 2, 0, 1, 3, 0]
    assert corpus.splits["valid"].tokens.tolist() == [2, 0, 0, 0, 0]
    assert corpus.splits["test"].tokens.tolist() == [2, 0]
    assert corpus.splits["train"].offsets.tolist() == [0, 10]
    assert corpus.facts["unk_share"] == {"train": 0.3, "valid": 0.8, "test": 0.5}
    assert corpus.facts["boundaries"] == "none"
    assert corpus.facts["words"] == 17
    assert prepare_text8(tmp_path, "train-more-than-2").vocabulary == ["<unk>", "d"]
    everywhere = prepare_text8(tmp_path, "all-at-least-2")
    assert everywhere.vocabulary == ["d", "a", "b", "c", "e", "<unk>", "g"]
    assert everywhere.counts.tolist() == [3, 2, 2, 1, 1, 1, 0]
    assert prepare_text8(tmp_path, "top-1").vocabulary == ["<unk>", "d"]
    assert prepare_text8(tmp_path, "top-4").vocabulary == ["d", "a", "b", "<unk>", "c"]
    assert prepare_text8(tmp_path, "top-99").vocabulary[-1] == "<unk>"


def test_text8_options_with_faults(tmp_path: Path) -> None:
    for options, message in [
        (("all", 10), "vocabulary_rule: 'all' is none of train-at-least-N"),
        (("train-at-least-10", 5), "train-at-least-10 and minimum_count 5 disagree"),
        (("train-at-least-10", 10), "text8: no such raw file"),
    ]:
        with pytest.raises(UserError, match=message):
            prepare_text8(tmp_path, *options)
    (tmp_path / "text8").write_text("  ")
    with pytest.raises(UserError, match="text8: empty"):
        prepare_text8(tmp_path, "train-at-least-10", 10)


def test_text8_cuts_at_word_ends() -> None:
    text = b" ".join(b"w%d" % i for i in range(1000))
    bounds = text8.cuts(text)
    ends = [end for _, end in bounds]
    assert [start for start, _ in bounds] == [0, *ends[:-1]]
    assert ends[-1] == len(text)
    for place, share in zip(ends[:-1], (0.9, 0.95), strict=True):
        assert b" " in text[place - 1 : place + 1]
        assert -1 < place - share * len(text) < 6
    assert b" ".join(text[a:b].strip() for a, b in bounds) == text
    exact = b"abcdefgh " * 100  # 90 % and 95 % of 900 bytes are word starts already
    assert text8.cuts(exact) == [(0, 810), (810, 855), (855, 900)]
    assert text8.cuts(b"oneword") == [(0, 7), (7, 7), (7, 7)]


def test_text8_pieces_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(f"w{i * i % 37}" for i in range(3000))
    (tmp_path / "text8").write_text(text)
    whole = prepare_text8(tmp_path, "train-at-least-10", 10)
    monkeypatch.setattr(text8, "_CHUNK", 50)
    pieces = prepare_text8(tmp_path, "train-at-least-10", 10)
    assert pieces.vocabulary == whole.vocabulary
    assert pieces.facts == whole.facts
    for split, data in whole.splits.items():
        assert np.array_equal(pieces.splits[split].tokens, data.tokens)
    words = [whole.vocabulary[t] for split in whole.splits.values() for t in split.tokens]
    counted = Counter(text.split()[: len(whole.splits["train"].tokens)])
    frequent = {word for word, count in counted.items() if count >= 10}
    assert words == [word if word in frequent else "<unk>" for word in text.split()]


@pytest.mark.parametrize(
    ("rule", "words"),
    [("train-at-least-2", 4), ("train-more-than-2", 2), ("all-at-least-2", 7), ("top-2", 3)],
)
def test_a_record_of_text8_has_the_words_that_its_rule_leaves(tmp_path, rule, words):
    # train: d 3, a 2, b 2, c 1, e 1, f 1; whole text: also c 2, e 2, g 2; <unk> besides
    write_text8(tmp_path, "c d a d b a e d b f", "a c g g x", "a e")
    found = {(m["metric"], m["split"]): m["value"] for m in corpus_metrics(prepare_text8(tmp_path, rule))}
    assert found["vocabulary", "all"] == words
