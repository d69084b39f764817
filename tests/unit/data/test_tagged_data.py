"""Corpora whose words bear tags: small treebanks, French, and generated text whose best tagging is known."""

from __future__ import annotations

import shutil
from itertools import product
from random import Random

import numpy as np
import pytest
from treebank_helpers import DU_LAIT, LA, LA_CHATTE, LE_CHAT, write_parts

from reprise.data.synthetic import synthetic_tagged
from reprise.data.treebank import ud_tags
from reprise.data.treebank.tagged import KINDS, corpus_of, most_frequent_tags

EST = "Elle elle PRON _ 2 nsubj\nest être AUX _ 0 root"
UPOS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
GENERATED = {"vocabulary_size": 1500, "training_sentences": 1500, "seed": 1}


def toy(folder, **options):
    parts = {"train": [LE_CHAT, EST, DU_LAIT, LA_CHATTE, EST], "test": [LA], "dev": [LE_CHAT, EST]}
    return ud_tags.prepare(write_parts(folder, **parts), {"minimum_count": 2, "validation_sentences": 1, **options})


def tagged(corpus, split):
    """The sentences of a split, each as its words and its tags."""
    data, tags = corpus.splits[split], corpus.facts["tags"]
    words = zip(data.tokens, corpus.extra[f"tags.{split}"], strict=True)
    read = [f"{corpus.vocabulary[word]}/{tags[tag]}" for word, tag in words]
    return [" ".join(read[a:b]) for a, b in zip(data.offsets, data.offsets[1:], strict=False)]


def test_words_bear_their_tags_sentence_by_sentence(tmp_path):
    corpus = toy(tmp_path, minimum_count=1)
    assert tagged(corpus, "train") == [
        "le/DET chat/NOUN dort/VERB",
        "elle/PRON est/AUX",
        "de/ADP le/DET lait/NOUN",  # the words of "du", not the range
        "la/DET chatte/NOUN",
    ]
    assert tagged(corpus, "valid") == ["elle/PRON est/AUX"]
    assert [len(sentence.split()) for sentence in tagged(corpus, "test")] == [1, 3, 2]  # test, then dev
    assert corpus.extra["labels.train"].tolist() == [0, 1, 0, 0]
    assert corpus.extra["labels.test"].tolist() == [0, 0, 1]
    assert corpus.facts["label"] == "has a word tagged AUX"
    kinds = [KINDS[kind] for kind in corpus.extra["kinds.test"]]
    assert kinds == ["single"] * 6
    assert corpus.facts["kinds"]["train"] == {"single": 10, "ambiguous": 0, "unseen": 0}


def test_rare_words_are_one_word_and_unseen_ones_are_told_from_them(tmp_path):
    corpus = toy(tmp_path)
    assert corpus.vocabulary == ["<unk>", "le"]
    assert corpus.counts.tolist() == [8, 2]
    assert tagged(corpus, "valid") == ["<unk>/PRON <unk>/AUX"]
    corpus = toy(tmp_path, validation_sentences=4)
    assert [KINDS[kind] for kind in corpus.extra["kinds.valid"]][:2] == ["unseen", "unseen"]
    assert corpus.facts["unknown"] == {"train": 3, "valid": 9, "test": 6}


def test_the_most_frequent_tag_of_a_word():
    train = [[("a", "Y"), ("a", "X"), ("a", "Y"), ("b", "Z"), ("b", "X")], [("c", "Y")]]
    corpus = corpus_of("t", {"train": train, "valid": train, "test": [[("d", "X"), ("a", "X")]]}, 2, "X", {})
    assert corpus.vocabulary == ["a", "b", "<unk>"]
    words = np.array([corpus.vocabulary.index(word) for word in ("a", "b", "<unk>")])
    assert [corpus.facts["tags"][tag] for tag in most_frequent_tags(corpus)[words]] == ["Y", "X", "Y"]
    assert [KINDS[kind] for kind in corpus.extra["kinds.test"]] == ["unseen", "ambiguous"]


def test_posteriors_are_those_of_all_tag_sequences():
    source = synthetic_tagged.make_source(40, 3)
    words = source.sample(1, Random("x"))[0][0][:3]
    joint = np.zeros((len(words), synthetic_tagged.TAGS))
    filtered = np.zeros_like(joint)
    for tags in product(range(synthetic_tagged.TAGS), repeat=len(words)):
        p = source.Q[tags[0], words[0]] / synthetic_tagged.TAGS
        for t in range(1, len(words)):
            if not any(tags[t:]):  # every beginning once
                filtered[t - 1, tags[t - 1]] += p
            p *= source.P[tags[t - 1], tags[t]] * source.Q[tags[t], words[t]]
        filtered[-1, tags[-1]] += p
        for t, tag in enumerate(tags):
            joint[t, tag] += p
    forward, smoothed = source.posteriors(words)
    assert smoothed == pytest.approx(joint / joint.sum(1, keepdims=True), rel=1e-9)
    assert forward == pytest.approx(filtered / filtered.sum(1, keepdims=True), rel=1e-9)


def test_generated_tags_are_better_known_from_both_sides():
    corpus = synthetic_tagged.prepare(None, GENERATED)
    best = corpus.facts["best_accuracy"]
    words = corpus.splits["test"].tokens
    alone = (most_frequent_tags(corpus)[words] == corpus.extra["tags.test"]).mean()
    assert alone + 0.05 < best["forward"] + 0.05 < best["both"] < 0.95
    assert 0.3 < corpus.facts["labelled"]["test"] / corpus.facts["sentences"]["test"] < 0.7
    kinds = corpus.facts["kinds"]["test"]
    assert min(kinds.values()) > 20
    again = synthetic_tagged.prepare(None, GENERATED)
    assert (again.splits["train"].tokens == corpus.splits["train"].tokens).all()
    other = synthetic_tagged.prepare(None, {**GENERATED, "seed": 2})
    assert other.splits["train"].tokens[:100].tolist() != corpus.splits["train"].tokens[:100].tolist()


def test_the_french_treebank(mirror, tmp_path):
    """Its development part in the place of the training part, which takes ten times as long to read."""
    given = mirror / "ud-french-gsd-r2.5-rebuilt"
    for part, file in {"train": "dev", "dev": "test", "test": "test"}.items():
        shutil.copy(given / f"fr_gsd-ud-{file}.conllu", tmp_path / f"x-ud-{part}.conllu")
    corpus = ud_tags.prepare(tmp_path, {"minimum_count": 2, "validation_sentences": 728})
    assert corpus.facts["sentences"] == {"train": 1476 - 728, "valid": 728, "test": 2 * 416}
    assert corpus.facts["tokens"]["train"] + corpus.facts["tokens"]["valid"] == 35_716
    assert corpus.facts["tokens"]["test"] == 2 * 10_019
    assert corpus.facts["labelled"]["test"] == 2 * 245
    assert " ".join(corpus.facts["tags"]) == UPOS
    assert (corpus.splits["train"].tokens == corpus.vocabulary.index("<unk>")).mean() > 0.1
