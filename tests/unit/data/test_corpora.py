"""Corpora: what is saved is what is loaded, and every corpus shows the facts known of it."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reprise.catalogue.spec import DatasetSpec, FileSpec
from reprise.data import prepare_corpus
from reprise.data.corpus import Corpus, Split
from reprise.errors import UserError


def small() -> Corpus:
    split = Split(np.array([2, 0, 1, 0, 1], np.int32), np.array([0, 3, 5], np.int64))
    return Corpus(
        name="toy",
        splits={"train": split, "test": Split(split.tokens[:2], np.array([0, 2], np.int64))},
        vocabulary=["été", "</s>", "b"],
        counts=np.array([2, 2, 1], np.int64),
        facts={"tokens": {"train": 5}, "entropy": 1.25},
        provenance={"raw": {"a.txt": "sha256:0"}},
        extra={"weights": np.ones((2, 3), np.float32)},
    )


def assert_equal(a: Corpus, b: Corpus) -> None:
    for key in ("name", "vocabulary", "facts", "provenance"):
        assert getattr(a, key) == getattr(b, key)
    assert list(a.splits) == list(b.splits)
    assert list(a.extra) == list(b.extra)
    pairs = [(a.counts, b.counts)]
    for name, split in a.splits.items():
        pairs += [(split.tokens, b.splits[name].tokens), (split.offsets, b.splits[name].offsets)]
    pairs += [(array, b.extra[name]) for name, array in a.extra.items()]
    for x, y in pairs:
        assert x.dtype == y.dtype
        assert np.array_equal(x, y)


def test_round_trip(tmp_path: Path) -> None:
    small().save(tmp_path / "sub" / "a.npz")
    assert_equal(Corpus.load(tmp_path / "sub" / "a.npz"), small())
    small().save(tmp_path / "b.npz")
    assert (tmp_path / "b.npz").read_bytes() == (tmp_path / "sub" / "a.npz").read_bytes()
    assert small().splits["train"].sentences == 2


@pytest.mark.parametrize(
    "change",
    [
        {"facts": {"entropy": float("nan")}},
        {"vocabulary": ["a", "b", "a"]},
        {"vocabulary": ["a", "b"]},
        {"counts": np.ones(3, np.int32)},
        {"splits": {"train": Split(np.array([3], np.int32), np.array([0, 1], np.int64))}},
        {"splits": {"train": Split(np.array([-1], np.int32), np.array([0, 1], np.int64))}},
        {"splits": {"train": Split(np.array([1], np.int64), np.array([0, 1], np.int64))}},
        {"splits": {"train": Split(np.array([1], np.int32), np.array([0, 2], np.int64))}},
        {"splits": {"train": Split(np.array([1], np.int32), np.array([0, 2, 1], np.int64))}},
        {"extra": {"a": np.array([{}], object)}},
    ],
)
def test_corpus_that_does_not_fit_is_not_saved(tmp_path: Path, change: dict) -> None:
    with pytest.raises(ValueError, match="JSON|twice|counts|tokens|offsets|objects"):
        replace(small(), **change).save(tmp_path / "a.npz")
    assert list(tmp_path.iterdir()) == []


def test_damaged_files(tmp_path: Path) -> None:
    small().save(tmp_path / "a.npz")
    whole = (tmp_path / "a.npz").read_bytes()
    damaged = tmp_path / "damaged.npz"
    for kept in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        damaged.write_bytes(whole[:kept])
        with pytest.raises(UserError, match="damaged.npz: damaged corpus .*remove it"):
            Corpus.load(damaged)
    survived = 0
    places = range(0, len(whole), 5)
    for place in places:  # one byte at a time: refused, or of no meaning to anybody
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            loaded = Corpus.load(damaged)
        except UserError:
            continue
        assert_equal(loaded, small())
        survived += 1
    assert survived < len(places) // 3  # time stamps and attributes in the container's tables


@pytest.mark.parametrize("called", ["pathlib.Path.open", "numpy.load"])
def test_file_that_cannot_be_read_is_not_called_damaged(tmp_path, monkeypatch, called):
    small().save(tmp_path / "a.npz")

    def fails(*_, **__):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(called, fails)
    with pytest.raises(OSError, match="Input/output error: '.*a.npz'"):
        Corpus.load(tmp_path / "a.npz")


def test_whole_file_with_parts_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    small().save(path)
    with np.load(path) as arrays:
        parts = dict(arrays)
    for name, wrong in (
        ("tokens.train", np.array([2, 0, 3, 0, 1], np.int32)),
        ("offsets.train", np.array([0, 3, 6], np.int64)),
        ("counts", np.zeros(2, np.int64)),
    ):
        np.savez(path, **{**parts, name: wrong})
        with pytest.raises(UserError, match="damaged corpus"):
            Corpus.load(path)


def test_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, tokens=np.arange(3))
    with pytest.raises(UserError, match="not a corpus of this version"):
        Corpus.load(path)
    np.savez(path, header=np.frombuffer(b'{"format": "reprise-corpus-0"}', np.uint8))
    with pytest.raises(UserError, match="not a corpus of this version"):
        Corpus.load(path)
    np.savez(path, header=np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(UserError, match="damaged corpus"):
        Corpus.load(path)
    path.write_text("hello")
    with pytest.raises(UserError, match="damaged corpus"):
        Corpus.load(path)
    with pytest.raises(UserError, match="none.npz: no such corpus; run `python -m reprise prepare PAPER/EXPERIMENT`"):
        Corpus.load(tmp_path / "none.npz")


def write_ptb(folder: Path, train: str, valid: str = "a\n", test: str = "a\n") -> Path:
    for split, text in (("train", train), ("valid", valid), ("test", test)):
        (folder / f"ptb.{split}.txt").write_text(text, encoding="utf-8")
    return folder


def toy_dataset(raw: Path, **values: object) -> DatasetSpec:
    write_ptb(raw, "a a b\n", "a\n", "b\n")
    files = tuple(
        FileSpec(name, None, "sha256", hashlib.sha256((raw / name).read_bytes()).hexdigest())
        for name in ("ptb.train.txt", "ptb.valid.txt", "ptb.test.txt")
    )
    return replace(DatasetSpec("toy", "Toy", "none", "", "ptb", files), **values)


def test_prepare_corpus(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "toy"
    raw.mkdir(parents=True)
    spec = toy_dataset(raw, expected={"tokens": {"train": 4}, "vocabulary": 3})
    out = tmp_path / "toy.npz"
    made = prepare_corpus(spec, {}, tmp_path / "raw", out)
    assert_equal(Corpus.load(out), made)
    assert made.name == "toy"
    assert made.provenance["raw"] == spec.checksums()
    assert made.provenance["dataset"] == "toy"
    out.unlink()
    for change, message in [
        (
            {"expected": {"tokens": {"train": 5}}},
            "^config/config.yaml: key datasets.toy.expected.tokens.train: expected 5, got 4; correct the entry, "
            "or what src/reprise/data/text/ptb.py makes$",
        ),
        ({"expected": {"tokns": 5}}, r"expected.tokns: expected 5, got nothing \(did you mean 'tokens'\?\)"),
        ({"expected": {"entropy": 5}}, "expected.entropy: expected 5, got nothing"),
        ({"prepare": "os.path"}, "datasets.toy.prepare: no preparation 'os.path'"),
    ]:
        with pytest.raises(UserError, match=message):
            prepare_corpus(replace(spec, **change), {}, tmp_path / "raw", out)
    with pytest.raises(UserError, match="lower: .* has no such option"):
        prepare_corpus(spec, {"lower": True}, tmp_path / "raw", out)
    (raw / "ptb.test.txt").write_text("a\n")
    with pytest.raises(UserError, match="ptb.test.txt: wrong checksum .*run `python -m reprise fetch toy`"):
        prepare_corpus(spec, {}, tmp_path / "raw", out)
    (raw / "ptb.test.txt").unlink()
    with pytest.raises(UserError, match="ptb.test.txt: no such raw file"):
        prepare_corpus(spec, {}, tmp_path / "raw", out)
    assert not out.exists()


def test_prepare_corpus_without_files(tmp_path: Path) -> None:
    spec = DatasetSpec("synthetic", "", "", "", "synthetic")
    options = {"vocabulary_size": 16, "training_sentences": 5, "seed": 9}
    corpus = prepare_corpus(spec, options, tmp_path / "raw", tmp_path / "a.npz")
    assert corpus.provenance["options"] == options
    assert corpus.provenance["raw"] == {}


def test_imports_stay_light() -> None:
    """The training command must run where only torch, numpy, pyyaml and rich are installed."""
    code = (
        "import sys, reprise.data, reprise.data.corpus, reprise.data.text.ptb, reprise.data.synthetic.synthetic;"
        "print(sorted({'pooch', 'requests', 'torch', 'pandas'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_corpus_that_does_not_say_what_ends_a_sentence_is_one_clear_line():
    split = Split(np.zeros(2, np.int32), np.array([0, 2], np.int64))
    corpus = Corpus("c", {"train": split}, ["a"], np.array([2], np.int64))
    with pytest.raises(UserError, match=r"corpus c: no fact 'boundaries'; its preparation has to say"):
        _ = corpus.boundaries
    assert replace(corpus, facts={"boundaries": "none"}).boundaries == "none"
