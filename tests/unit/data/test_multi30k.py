"""Parallel texts: Multi30k from its files, the generated stand-in, and how words are cut."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest
from corpus_helpers import read, spelled, written
from hypothesis import given
from hypothesis import strategies as st

from reprise.config.project import load_project
from reprise.data import prepare_corpus
from reprise.data.pairs.mteval import words_13a
from reprise.data.pairs.multi30k import FILES, prepare
from reprise.data.pairs.pairs import is_parallel, lines_of_test, source_of
from reprise.data.synthetic.synthetic_pairs import prepare as prepare_synthetic
from reprise.data.synthetic.synthetic_pairs import translation

ROOT = Path(__file__).parents[3]
OPTIONS = {"pairs": 2, "lowercase": True, "minimum_count": 1}
TEXTS = {
    "train": [
        ("L'homme qu\N{RIGHT SINGLE QUOTATION MARK}il voit.", "The man, he sees."),
        ("L'homme dort.", "The man sleeps."),
        ("Un chien.", "A dog."),
    ],
    "valid": [("Un chien dort.", "A dog sleeps.")],
    "test": [("L'homme court.", "The man runs.")],
}


@pytest.fixture
def made(tmp_path):
    """Of changed options: the corpus of TEXTS."""
    files = {
        f"{FILES[split]}.{language}.gz": gzip.compress("".join(f"{pair[i]}\n" for pair in pairs).encode())
        for split, pairs in TEXTS.items()
        for i, language in enumerate(("fr", "en"))
    }
    return lambda **changed: prepare(written(tmp_path / "raw", files), {**OPTIONS, **changed})


def test_a_line_is_the_translation_of_the_same_line(made):
    corpus = made()
    source = source_of(corpus)
    assert spelled(source.splits["train"], source.vocabulary) == ["l' homme qu' il voit .", "l' homme dort ."]
    assert read(corpus, "train") == ["the man , he sees . </s>", "the man sleeps . </s>"]
    assert spelled(source.splits["test"], source.vocabulary) == ["l' homme <unk> ."]
    assert read(corpus, "test") == ["the man <unk> . </s>"]
    assert read(corpus, "valid") == ["<unk> <unk> sleeps . </s>"]
    assert lines_of_test(corpus) == [("L'homme court.", "The man runs.")]
    facts = corpus.facts
    assert facts["lines"] == {"train": 3, "valid": 1, "test": 1}
    assert facts["pairs"] == {"train": 2, "valid": 1, "test": 1}
    assert (facts["tokens"]["train"], facts["source_tokens"]["train"]) == (12, 10)
    assert (facts["unk_share"]["test"], facts["source_unk_share"]["test"]) == (0.2, 0.25)
    assert is_parallel(corpus)
    assert read(made(lowercase=False), "train")[1] == "The man sleeps . </s>"


def test_vocabularies_are_by_count_and_leave_rare_words_out(made):
    corpus = made(pairs=3, minimum_count=2)
    # the man . </s> twice or more, the other nine once
    counted = dict(zip(corpus.vocabulary, corpus.counts.tolist(), strict=True))
    assert counted == {"<unk>": 6, ".": 3, "</s>": 3, "the": 2, "man": 2}
    assert list(counted.values()) == np.bincount(corpus.splits["train"].tokens).tolist() == [6, 3, 3, 2, 2]
    assert set(source_of(corpus).vocabulary) == {"<unk>", ".", "l'", "homme"}


def test_the_real_files_have_their_known_counts(mirror, tmp_path):
    spec = load_project(ROOT).spec("multi30k")
    if not (mirror / spec.mirror).is_dir():
        pytest.skip(f"REPRISE_MIRROR has no folder {spec.mirror}")
    assert spec.expected == {"lines": {"train": 29000, "valid": 1014, "test": 1000}}
    shutil.copytree(mirror / spec.mirror, tmp_path / "raw" / "multi30k")
    options = {"pairs": 10000, "lowercase": True, "minimum_count": 2}
    corpus = prepare_corpus(spec, options, tmp_path / "raw", tmp_path / "c.npz")
    assert corpus.facts["pairs"] == {"train": 10000, "valid": 1014, "test": 1000}
    assert (corpus.facts["vocabulary"], corpus.facts["source_vocabulary"]) == (3343, 3567)
    assert lines_of_test(corpus)[0][1] == "A man in an orange hat starring at something."
    source = source_of(corpus)
    fourth = spelled(source.splits["train"], source.vocabulary)[3]
    assert fourth.startswith("un homme dans une chemise bleue se tient sur une échelle")
    assert read(corpus, "train")[3] == "a man in a blue shirt is standing on a ladder cleaning a window . </s>"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Two young, White males.", "Two young , White males ."),
        ("It's 3.5 or 1,000-odd; x-ray (A/B)", "It's 3.5 or 1,000 - odd ; x-ray ( A / B )"),
        ("..1 and 1,,5", ". .1 and 1 , , 5"),
        ("end 5. Next &quot;q&quot; &amp; ...", 'end 5 . Next " q " & . . .'),
    ],
)
def test_words_are_cut_as_mteval_cuts_them(text, words):
    assert words_13a(text) == words.split()


@given(st.text(st.sampled_from("ab1 29.,-'\"&;:!?()[]{}\\/@#$%*+<=>^_`|~é\t"), max_size=40))
def test_words_are_those_of_sacrebleu(text):
    sacrebleu = pytest.importorskip("sacrebleu.tokenizers.tokenizer_13a")
    assert words_13a(text) == sacrebleu.Tokenizer13a()(text).split()


def test_the_generated_text_is_a_cipher_with_neighbours_exchanged(tmp_path):
    options = {"vocabulary_size": 30, "training_sentences": 100, "most_words": 6, "seed": 2}
    corpus = prepare_synthetic(tmp_path, options)
    source = source_of(corpus)
    assert corpus.facts["pairs"] == {"train": 100, "valid": 10, "test": 10}
    for split in ("train", "valid", "test"):
        sources = spelled(source.splits[split], source.vocabulary)
        for line, target in zip(sources, read(corpus, split), strict=True):
            assert len(line.split()) <= 6
            if "<unk>" not in target:
                assert target == " ".join([*translation(line.split()), "</s>"])
    assert translation(["ab", "cd", "ef", "gh", "ij"]) == ["dc", "ba", "hg", "fe", "ji"]
    assert (tmp_path / "synthetic-pairs.test.source.txt").read_text().splitlines()[0] == lines_of_test(corpus)[0][0]
    assert prepare_synthetic(tmp_path, options).facts == corpus.facts
    other = prepare_synthetic(tmp_path, options | {"seed": 3})
    assert other.facts["tokens"] != corpus.facts["tokens"]
