"""Scores of word orders: what is compared, exact ties, and records of generated text and of the Penn Treebank."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from protocol_helpers import finish

from reprise.data.text import ptb
from reprise.models.ngram_counts import HeldOut, Positions
from reprise.training.protocol import generator_for
from reprise.training.protocols.word_order import changes, joined, sentences_of, sums


@pytest.fixture
def scored(small):
    return partial(small, "word-order", order=3, training_sentences=300)


@pytest.fixture
def loaded(small):
    return small.loaded("word-order", training_sentences=300)


def values(outcome):
    return {m["metric"]: m["value"] for m in outcome.metrics}


def test_changed_sentences_have_the_same_words_in_another_order():
    generator = torch.Generator().manual_seed(1)
    for words in ([1, 2], [3, 3, 4], [1, 2, 3, 4, 5, 6], [7, 7, 7, 8, 7]):
        for _ in range(10):
            order, swapped = changes(np.array(words), generator)
            assert sorted(order) == sorted(swapped) == sorted(words)
            assert order.tolist() != words
            (first, second) = np.flatnonzero(swapped != words)
            assert second == first + 1
    assert changes(np.array([4, 4, 4]), generator) is None
    assert changes(np.array([4]), generator) is None


def test_sums_do_not_depend_on_the_order_of_what_is_added():
    generator = np.random.default_rng(2)
    numbers = np.log(generator.random(200))
    moved = [np.concatenate([generator.permutation(numbers[:50]), numbers[50:]]) for _ in range(20)]
    found = {tuple(sums(each, np.array([0, 50, 200]))) for each in moved}
    assert len(found) == 1
    assert found.pop() == pytest.approx((numbers[:50].sum(), numbers[50:].sum()), rel=1e-12)


def test_single_words_are_tied_in_all_orders(scored):
    found = values(finish(scored()))
    for change in ("shuffled", "swapped"):
        assert (found[f"above_{change}_order_1"], found[f"tied_with_{change}_order_1"]) == (0, 1)
    assert found["above_shuffled_order_2"] > 0.9
    assert found["above_shuffled_order_2"] > found["above_swapped_order_2"] > 0.6


def test_scores_are_those_of_the_model(scored, loaded):
    training = scored(order=2)
    end = loaded.vocabulary.index("</s>")
    sentences = sentences_of(loaded.splits["test"])
    assert [len(words) + 1 for words in sentences] == np.diff(loaded.splits["test"].offsets).tolist()
    found = values(finish(training))
    above = []
    for i, words in enumerate(sentences):
        changed = changes(words, generator_for(0, f"sentence {i}"))
        if changed:
            scores = []
            for text in (words, changed[0]):
                held = HeldOut(Positions.of(joined([np.append(text, end)]), 1, end, "sentence"))
                scores.append(np.log(training.model.estimate(training.counts, held, 2)).sum())
            above.append(scores[0] > scores[1])
    assert found["above_shuffled_order_2"] == np.mean(above)


def test_without_smoothing_most_orders_are_tied_at_probability_0(scored):
    found = values(finish(scored(model="relative-ngram")))
    assert found["tied_with_shuffled_order_3"] > 0.3
    smoothed = values(finish(scored(model="additive-ngram", delta=0.01)))
    assert smoothed["tied_with_shuffled_order_3"] < 0.1


@pytest.mark.parametrize("unknown", ["<unk>", None])
def test_phrases_are_scored_with_one_word_for_those_that_the_vocabulary_lacks(scored, loaded, tmp_path, unknown):
    names = ["the", "is", "cat", "small"] + [unknown] * (unknown is not None)
    for name, place in zip(names, range(20, 25), strict=False):
        loaded.vocabulary[place] = name
    loaded.save(tmp_path / "known.npz")
    training = scored(corpus=tmp_path / "known.npz")
    assert training.model.vocabulary == 60 + (unknown is None)
    found = values(finish(training))
    assert found["the_cat_is_small_order_1"] == found["small_the_is_cat_order_1"] < 0
    # "walking", "home" and "house" are one word
    assert found["walking_home_after_school_order_3"] == found["walking_house_after_school_order_3"]
    text = [loaded.vocabulary.index(word) for word in ("the", "cat", "is", "small", "</s>")]
    absent = loaded.vocabulary.index(unknown) if unknown else 60
    end = text[-1]
    for name, words in {"the_cat_is_small": text, "walking_home_after_school": [*[absent] * 4, end]}.items():
        held = HeldOut(Positions.of(joined([np.array(words)]), 2, end, "sentence"))
        expected = np.log(training.model.estimate(training.counts, held, 3)).sum()
        assert found[f"{name}_order_3"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_the_penn_treebank(scored, mirror, tmp_path):
    """Numbers of our own, worked out once: the order of words is told, the choice of a word is not."""
    ptb.prepare(mirror / "ptb", {}).save(tmp_path / "corpus.npz")
    training = scored(corpus=tmp_path / "corpus.npz", order=2)
    found = values(finish(training))
    assert found["the_cat_is_small_order_2"] == pytest.approx(-29.850, abs=5e-4)
    assert found["small_the_is_cat_order_2"] == pytest.approx(-36.820, abs=5e-4)
    assert found["walking_home_after_school_order_2"] == pytest.approx(-39.998, abs=5e-4)
    assert found["walking_house_after_school_order_2"] == pytest.approx(-39.691, abs=5e-4)
    assert found["above_shuffled_order_2"] > 0.98
    assert len(training.texts["original"][1]) - 1 == 3749
    assert all(math.isfinite(v) for v in found.values())
