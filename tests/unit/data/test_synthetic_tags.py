"""Generated text with tags: its types, tags and minimal pairs are those of its source."""

from __future__ import annotations

import numpy as np
import pytest

from reprise.data.synthetic import synthetic_tags
from reprise.models.lexicon import Lexicon

OPTIONS = {"vocabulary_size": 120, "training_sentences": 100, "seed": 4}


@pytest.fixture(scope="module")
def corpus():
    return synthetic_tags.prepare(None, OPTIONS)


def test_types_are_those_that_occur_by_decreasing_frequency(corpus):
    tokens = np.concatenate([split.tokens for split in corpus.splits.values()])
    counts = np.bincount(tokens, minlength=len(corpus.vocabulary))
    assert (counts == corpus.extra["corpus_counts"]).all()
    assert (np.diff(counts) <= 0).all()
    assert counts.min() > 0
    assert (np.bincount(corpus.splits["train"].tokens, minlength=len(counts)) == corpus.counts).all()
    assert (corpus.counts == 0).any(), "some types are in the tests alone"
    sizes = {split: data.sentences for split, data in corpus.splits.items()}
    assert sizes == {"train": 100, "valid": 10, "test1": 10, "test2": 10} == corpus.facts["sentences"]
    end = corpus.vocabulary.index("@nil")
    assert all((data.tokens[data.offsets[1:] - 1] == end).all() for data in corpus.splits.values())


def test_tags_tell_what_may_follow_what(corpus):
    lexicon = Lexicon.of(corpus)
    names = [[lexicon.tags[i] for i in lexicon.tags_of["corpus"].row(t)] for t in range(len(lexicon))]
    follows = [next((n.removeprefix("Next:") for n in tags if n.startswith("Next:")), None) for tags in names]
    end = corpus.vocabulary.index("@nil")
    assert names[end] == ["POS:NIL"]
    tokens = corpus.splits["train"].tokens
    for before, word in zip(tokens, tokens[1:], strict=False):
        if end not in (before, word):
            assert f"POS:{follows[before]}" in names[word]
    unseen = np.flatnonzero(corpus.counts == 0)
    assert all(len(lexicon.tags_of["train"].row(t)) == 0 for t in unseen)
    assert all(names[t] for t in unseen)


def test_the_wrong_form_never_stands_where_the_right_one_does(corpus):
    arrays = {k.removeprefix("agreement_"): v for k, v in corpus.extra.items() if k.startswith("agreement_")}
    texts = [corpus.splits[name].tokens for name in corpus.facts["agreement"]["splits"]]
    following = {}
    for data in corpus.splits.values():
        for before, word in zip(data.tokens, data.tokens[1:], strict=False):
            following.setdefault(before, set()).add(word)
    assert len(arrays["right"]) > 20
    for i, place in enumerate(arrays["position"]):
        text = texts[arrays["split"][i]]
        assert text[place] == arrays["right"][i]
        assert arrays["wrong"][i] not in following[text[place - 1]]
        assert (text[: place + 1][-arrays["distance"][i] : -1] != corpus.vocabulary.index("@nil")).all()
    assert {1, 2, 3} < set(arrays["distance"].tolist())


def test_the_source_loses_less_than_the_unigram(corpus):
    p = corpus.extra["corpus_counts"] / corpus.extra["corpus_counts"].sum()
    entropy = -(p * np.log(p)).sum()
    assert all(0.5 < loss < 0.8 * entropy for loss in corpus.facts["source_nats"].values())


def test_texts_too_short_for_a_pair_have_none(tmp_path):
    """Seed 26 draws tests of at most five tokens."""
    found = synthetic_tags.prepare(tmp_path, {"vocabulary_size": 16, "training_sentences": 10, "seed": 26})
    assert not any(len(found.extra[f"agreement_{name}"]) for name in ("position", "right", "wrong"))
