"""Corpora: what is saved is what is loaded, and every corpus shows the facts known of it."""

import errno
import hashlib
import json
import os
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from corpus_helpers import ptb_files, written

from reprise.config.datasets import NamedDataset, RawFile
from reprise.data import prepare_corpus
from reprise.data.corpus import Corpus, Split
from reprise.errors import UserError

TEXT8 = {"vocabulary_rule": "train-at-least-10", "minimum_count": 10}
LINES = {"tokens": "characters", "folds": 2, "fold_seed": 0}


def small() -> Corpus:
    split = Split(np.array([2, 0, 1, 0, 1], np.int32), np.array([0, 3, 5], np.int64))
    return Corpus(
        name="toy",
        splits={"train": split, "test": Split.from_tokens(split.tokens[:2])},
        vocabulary=["été", "</s>", "b"],
        counts=np.array([2, 2, 1], np.int64),
        facts={"tokens": {"train": 5}, "entropy": 1.25},
        provenance={"raw": {"a.txt": "sha256:0"}},
        extra={"weights": np.ones((2, 3), np.float32)},
    )


def assert_equal(a: Corpus, b: Corpus) -> None:
    assert (a.name, a.vocabulary, a.facts, a.provenance) == (b.name, b.vocabulary, b.facts, b.provenance)
    one, other = ([c.counts, *c.extra.values(), *(vars(s) for s in c.splits.values())] for c in (a, b))
    assert (list(a.splits), list(a.extra)) == (list(b.splits), list(b.extra))
    np.testing.assert_equal(one, other)
    assert [array.dtype for array in a.extra.values()] == [array.dtype for array in b.extra.values()]


@pytest.fixture
def path(tmp_path):
    small().save(tmp_path / "a.npz")
    return tmp_path / "a.npz"


def test_round_trip(path, tmp_path):
    assert_equal(Corpus.load(path), small())
    small().save(tmp_path / "sub" / "b.npz")
    assert (tmp_path / "sub" / "b.npz").read_bytes() == path.read_bytes()


def rows(tokens, offsets, dtype=np.int32):
    return {"splits": {"train": Split(np.array(tokens, dtype), np.array(offsets, np.int64))}}


@pytest.mark.parametrize(
    "change",
    [
        {"facts": {"entropy": float("nan")}},
        {"vocabulary": ["a", "b", "a"]},
        {"vocabulary": ["a", "b"]},
        {"counts": np.ones(3, np.int32)},
        rows([3], [0, 1]),
        rows([-1], [0, 1]),
        rows([1], [0, 1], np.int64),
        rows([1], [0, 2]),
        rows([1], [0, 2, 1]),
        {"extra": {"a": np.array([{}], object)}},
    ],
)
def test_corpus_that_does_not_fit_is_not_saved(tmp_path, change):
    with pytest.raises(ValueError, match="JSON|twice|counts|tokens|offsets|objects"):
        replace(small(), **change).save(tmp_path / "a.npz")
    assert list(tmp_path.iterdir()) == []


def test_damaged_files(path):
    content = path.read_bytes()
    for length in (0, 1, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(UserError, match=r"a\.npz: damaged corpus .*remove it"):
            Corpus.load(path)
    survived = 0
    places = range(0, len(content), 5)
    for place in places:  # one byte at a time: refused, or of no meaning to anybody
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            loaded = Corpus.load(path)
        except UserError:
            continue
        assert_equal(loaded, small())
        survived += 1
    assert survived < len(places) // 3  # time stamps and attributes in the container's tables


def test_file_that_cannot_be_read_is_not_called_damaged(path, monkeypatch):
    with pytest.raises(UserError, match=r"none\.npz: .*`python -m reprise prepare "):
        Corpus.load(path.with_name("none.npz"))
    failing = OSError(errno.EIO, os.strerror(errno.EIO))
    monkeypatch.setattr("pathlib.Path.read_bytes", Mock(side_effect=failing))
    with pytest.raises(OSError, match="Input/output error: '.*a.npz'"):
        Corpus.load(path)


FOREIGN = "not a corpus of this version"


def header_with(**values):
    """Return the header of a corpus like `small` with other values, as an array of the file."""
    toy = small()
    header = {"format": "reprise-corpus-1", "name": toy.name, "splits": list(toy.splits), "extra": list(toy.extra)}
    header |= {"vocabulary": toy.vocabulary, "facts": toy.facts, "provenance": toy.provenance, **values}
    return {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens.train": np.array([2, 0, 3, 0, 1], np.int32)}, "damaged corpus"),
        ({"offsets.train": np.array([0, 3, 6], np.int64)}, "damaged corpus"),
        ({"counts": np.zeros(2, np.int64)}, "damaged corpus"),
        ({"header": np.array([{}], dtype=object)}, "damaged corpus"),
        (header_with(facts=[1]), "damaged corpus"),
        (header_with(provenance="sha256:0"), "damaged corpus"),
        (header_with(vocabulary=[1, 2, 3]), "damaged corpus"),
        (header_with(vocabulary={"a": 1}), "damaged corpus"),
        (header_with(splits=3), "damaged corpus"),
        (header_with(extra=["none"]), "damaged corpus"),
        ({"header": None}, FOREIGN),
        ({"header": np.frombuffer(b'{"format": "reprise-corpus-0"}', np.uint8)}, FOREIGN),
    ],
)
def test_whole_file_with_parts_that_do_not_fit(path, change, message):
    with np.load(path) as arrays:
        parts = {**arrays, **change}
    np.savez(path, **{name: array for name, array in parts.items() if array is not None})
    with pytest.raises(UserError, match=rf"a\.npz: {message}"):
        Corpus.load(path)


@pytest.fixture
def toy(tmp_path):
    """A dataset whose raw files lie in raw/toy."""
    texts = ptb_files("a a b\n", "a\n", "b\n")
    written(tmp_path / "raw" / "toy", texts)
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    files = [RawFile(name=name, algorithm="sha256", digest=digest) for name, digest in digests.items()]
    return NamedDataset(name="toy", title="Toy", licence="none", homepage="", prepare="ptb", files=files)


def test_prepare_corpus(toy, tmp_path):
    spec = toy.model_copy(update={"expected": {"tokens": {"train": 4}, "vocabulary": 3}})
    made = prepare_corpus(spec, {}, tmp_path / "raw", tmp_path / "toy.npz")
    assert_equal(Corpus.load(tmp_path / "toy.npz"), made)
    assert (made.name, made.provenance) == ("toy", {"dataset": "toy", "options": {}, "raw": spec.list_checksums()})


@pytest.mark.parametrize(
    ("change", "test", "message"),
    [
        (
            {"expected": {"tokens": {"train": 5}}},
            "b\n",
            "^config/config.yaml: key datasets.toy.expected.tokens.train: expected 5, got 4; correct the entry, "
            "or what src/reprise/data/text/ptb.py makes$",
        ),
        ({"expected": {"tokns": 5}}, "b\n", r"expected.tokns: expected 5, got nothing \(did you mean 'tokens'\?\)"),
        ({}, "a\n", "ptb.test.txt: wrong checksum .*run `python -m reprise fetch toy`"),
        ({}, None, "ptb.test.txt: no such raw file"),
    ],
)
def test_what_cannot_be_prepared_leaves_no_corpus(toy, tmp_path, change, test, message):
    file = tmp_path / "raw" / "toy" / "ptb.test.txt"
    file.unlink() if test is None else file.write_text(test)
    with pytest.raises(UserError, match=message):
        prepare_corpus(toy.model_copy(update=change), {}, tmp_path / "raw", tmp_path / "toy.npz")
    assert not (tmp_path / "toy.npz").exists()


def test_a_corpus_that_does_not_say_what_ends_a_sentence_is_one_clear_line():
    with pytest.raises(UserError, match=r"corpus toy: .*'boundaries'"):
        _ = small().boundaries
    assert replace(small(), facts={"boundaries": "none"}).boundaries == "none"


@pytest.mark.parametrize(
    ("prepare", "options", "files", "part"),
    [
        # 90 % of the bytes and the rest of a word leave the last two parts nothing, or one word, which is only read.
        ("text8", TEXT8, {"text8": "a " * 8 + "longest"}, "the split valid"),
        ("text8", TEXT8, {"text8": "\n".join("abcdefghijklmnopqr")}, "the split valid"),
        ("books", {}, {"book_X.txt": "START OF THE PROJECT GUTENBERG EBOOK End of Project Gutenberg"}, None),
        ("wsj_characters", LINES, ptb_files("a\n" * 30), "the part train of fold 0"),
        ("wsj_characters", LINES, ptb_files("ab\n" * 30, "ab\n", "ab\n"), None),
    ],
)
def test_a_part_without_a_token_to_predict_is_refused_when_the_corpus_is_made(tmp_path, prepare, options, files, part):
    written(tmp_path / "raw" / "toy", files)
    spec = NamedDataset(name="toy", title="Toy", licence="none", homepage="", prepare=prepare)
    made = tmp_path / "toy.npz"
    if part is None:
        assert prepare_corpus(spec, options, tmp_path / "raw", made).find_part_without_targets() is None
        return
    with pytest.raises(UserError, match=f"raw/toy: {part} "):
        prepare_corpus(spec, options, tmp_path / "raw", made)
    assert not made.exists()
