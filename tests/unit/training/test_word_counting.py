"""Counted models of words, on generated text and on the Penn Treebank, and the scores of word orders."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from protocol_helpers import curves, finish, values

from reprise.catalogue.models import MODELS
from reprise.data.corpus import Split
from reprise.data.text import ptb
from reprise.errors import UserError
from reprise.models.ngram_counts import HeldOut, NGramCounts, Positions
from reprise.training.protocol import derive_generator
from reprise.training.protocols.word_order import change_order, split_sentences


@pytest.fixture
def counted(small):
    return partial(small, "word-ngram", order=3, halvings=2, training_sentences=300)


@pytest.fixture
def scored(small):
    return partial(small, "word-order", order=3, training_sentences=300)


@pytest.fixture
def loaded(small):
    return small.loaded("word-ngram", training_sentences=300)


@pytest.mark.parametrize("boundary", ["sentence", "text"])
def test_a_record_has_every_order_and_every_part_of_the_text(counted, loaded, boundary):
    training = counted(model="kneser-ney", boundary=boundary)
    outcome = finish(training)
    end, model = loaded.vocabulary.index("</s>"), MODELS["kneser-ney"].build({"order": 3}, vocabulary=60)
    all_words = Positions.from_split(loaded.splits["train"], 2, end, boundary)
    held_out = HeldOut(Positions.from_split(loaded.splits["test"], 2, end, boundary))
    stored, entropy = curves(outcome), curves(outcome)["test", "cross_entropy"]
    sizes = [int(loaded.splits["train"].offsets[300 // part]) for part in (4, 2, 1)]
    for words in sizes:
        counts = NGramCounts(all_words.take(slice(words)), 60)
        for n in (1, 2, 3):
            assert stored["train", f"stored_order_{n}"][words] == len(counts.table(n).keys)
            nats = -np.log(model.estimate(counts, held_out, n)).mean()
            assert stored["test", f"cross_entropy_order_{n}"][words] == pytest.approx(nats, rel=1e-12)
            if words == sizes[-1]:
                assert entropy[n] == pytest.approx(nats, rel=1e-12)
    metrics = values(outcome)
    assert metrics["test", "cross_entropy"] == metrics["test", "cross_entropy_order_3"] == entropy[3]
    assert metrics["train", "stored_order_2_halved_2_times"] == stored["train", "stored_order_2"][sizes[0]]
    assert metrics["test", "source_entropy"] == loaded.facts["source_nats"]["test"] < entropy[2]
    assert training.parameter_count == sum(metrics["train", f"stored_order_{n}"] for n in (1, 2, 3))


def test_where_a_word_has_no_probability_there_is_no_cross_entropy(counted, loaded):
    outcome = finish(counted(model="relative-ngram"))
    shares, zero = curves(outcome)["test", "unpredicted_share"], curves(outcome)["test", "zero_share"]
    assert 0 < shares[2] < shares[3] < 1
    assert shares[3] == pytest.approx(zero[3] + curves(outcome)["test", "undefined_share"][3])
    assert "cross_entropy" not in {m["metric"] for m in outcome.metrics}
    scored = {m["metric"]: m["n"] for m in outcome.metrics if m["metric"].startswith("scored_nats")}
    words = len(loaded.splits["test"].tokens)
    assert scored["scored_nats_order_3"] == round((1 - shares[3]) * words) < scored["scored_nats_order_2"] < words


def test_where_no_word_has_a_probability_there_is_no_mean(counted, loaded, tmp_path):
    for split in ("valid", "test"):  # words that training has, in an order that it has not
        loaded.splits[split] = Split.from_tokens(loaded.splits["train"].tokens[40:0:-1])
    loaded.save(tmp_path / "reversed.npz")
    outcome = finish(counted(model="relative-ngram", boundary="text", order=4, corpus=tmp_path / "reversed.npz"))
    metrics = values(outcome)
    assert metrics["test", "unpredicted_share_order_4"] == 1
    assert metrics["test", "scored_nats_order_2"] > 0
    assert ("test", "scored_nats_order_4") not in metrics
    assert 4 not in curves(outcome)["test", "scored_nats"]


def test_scores_that_are_no_probabilities_have_no_cross_entropy(counted):
    metrics = values(finish(counted(model="stupid-backoff", alpha=0.4)))
    assert not {key for key in metrics if key[1].startswith("cross_entropy")}
    assert metrics["test", "score_cross_entropy_order_3"] > 0
    assert metrics["test", "score_sum_order_1"] == pytest.approx(1)
    assert abs(metrics["test", "score_sum_order_3"] - 1) > 0.01


def test_changed_sentences_have_the_same_words_in_another_order():
    generator = torch.Generator().manual_seed(1)
    for words in ([1, 2], [3, 3, 4], [1, 2, 3, 4, 5, 6], [7, 7, 7, 8, 7]):
        for _ in range(10):
            order, swapped = change_order(np.array(words), generator)
            assert sorted(order) == sorted(swapped) == sorted(words)
            assert order.tolist() != words
            (first, second) = np.flatnonzero(swapped != words)
            assert second == first + 1
    assert change_order(np.array([4, 4, 4]), generator) is None
    assert change_order(np.array([4]), generator) is None


def test_single_words_are_tied_in_all_orders(scored):
    metrics = values(finish(scored()))
    for change in ("shuffled", "swapped"):
        assert (metrics["test", f"above_{change}_order_1"], metrics["test", f"tied_with_{change}_order_1"]) == (0, 1)
    assert metrics["test", "above_shuffled_order_2"] > 0.9
    assert metrics["test", "above_shuffled_order_2"] > metrics["test", "above_swapped_order_2"] > 0.6


def test_a_text_without_an_order_to_change_is_refused(scored, loaded, tmp_path):
    end = loaded.vocabulary.index("</s>")
    loaded.splits["test"] = Split.from_ended_sentences(np.array([5, 5, end, 6, end]), end)
    loaded.save(tmp_path / "same.npz")
    with pytest.raises(UserError, match=r"same\.npz: .*test sentence"):
        scored(corpus=tmp_path / "same.npz")


def test_scores_are_those_of_the_model(scored, loaded):
    training = scored(order=2)
    end = loaded.vocabulary.index("</s>")
    sentences = split_sentences(loaded.splits["test"])
    assert [len(words) + 1 for words in sentences] == np.diff(loaded.splits["test"].offsets).tolist()
    metrics = values(finish(training))
    above = []
    for i, words in enumerate(sentences):
        changed = change_order(words, derive_generator(0, f"sentence {i}"))
        if changed:
            scores = []
            for text in (words, changed[0]):
                held_out = HeldOut(
                    Positions.from_split(Split.from_id_lists([np.append(text, end)]), 1, end, "sentence")
                )
                scores.append(np.log(training.model.estimate(training.counts, held_out, 2)).sum())
            above.append(scores[0] > scores[1])
    assert metrics["test", "above_shuffled_order_2"] == np.mean(above)


def test_without_smoothing_most_orders_are_tied_at_probability_0(scored):
    metrics = values(finish(scored(model="relative-ngram")))
    assert metrics["test", "tied_with_shuffled_order_3"] > 0.3
    smoothed = values(finish(scored(model="additive-ngram", delta=0.01)))
    assert smoothed["test", "tied_with_shuffled_order_3"] < 0.1


@pytest.mark.parametrize("unknown", ["<unk>", None])
def test_phrases_are_scored_with_one_word_for_those_that_the_vocabulary_lacks(scored, loaded, tmp_path, unknown):
    names = ["the", "is", "cat", "small"] + [unknown] * (unknown is not None)
    for name, place in zip(names, range(20, 25), strict=False):
        loaded.vocabulary[place] = name
    loaded.save(tmp_path / "known.npz")
    training = scored(corpus=tmp_path / "known.npz")
    assert training.model.vocabulary == 60 + (unknown is None)
    metrics = values(finish(training))
    assert metrics["phrases", "the_cat_is_small_order_1"] == metrics["phrases", "small_the_is_cat_order_1"] < 0
    # "walking", "home" and "house" are one word
    assert (
        metrics["phrases", "walking_home_after_school_order_3"]
        == metrics["phrases", "walking_house_after_school_order_3"]
    )
    text = [loaded.vocabulary.index(word) for word in ("the", "cat", "is", "small", "</s>")]
    absent = loaded.vocabulary.index(unknown) if unknown else 60
    end = text[-1]
    for name, words in {"the_cat_is_small": text, "walking_home_after_school": [*[absent] * 4, end]}.items():
        held_out = HeldOut(Positions.from_split(Split.from_id_lists([np.array(words)]), 2, end, "sentence"))
        expected = np.log(training.model.estimate(training.counts, held_out, 3)).sum()
        assert metrics["phrases", f"{name}_order_3"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_the_penn_treebank(counted, scored, mirror, tmp_path):
    """Numbers of our own, worked out once; the counts do not depend on the machine. The order of words is told, the
    choice of a word is not.
    """
    ptb.prepare(mirror / "ptb", {}).save(tmp_path / "corpus.npz")
    metrics = values(finish(counted(model="kneser-ney", corpus=tmp_path / "corpus.npz", order=5, halvings=0)))
    assert math.exp(metrics["test", "cross_entropy"]) == pytest.approx(143.38, abs=0.005)
    stored = [metrics["train", f"stored_order_{n}"] for n in range(1, 6)]
    assert stored == [10_000, 264_990, 589_720, 738_528, 790_568]
    relative = values(finish(counted(model="relative-ngram", corpus=tmp_path / "corpus.npz", order=5, halvings=0)))
    shares = [relative["test", f"unpredicted_share_order_{n}"] for n in range(1, 6)]
    assert shares == pytest.approx([0, 0.18918, 0.55338, 0.75971, 0.83502], abs=5e-6)
    training = scored(corpus=tmp_path / "corpus.npz", order=2)
    metrics = values(finish(training))
    assert metrics["phrases", "the_cat_is_small_order_2"] == pytest.approx(-29.850, abs=5e-4)
    assert metrics["phrases", "small_the_is_cat_order_2"] == pytest.approx(-36.820, abs=5e-4)
    assert metrics["phrases", "walking_home_after_school_order_2"] == pytest.approx(-39.998, abs=5e-4)
    assert metrics["phrases", "walking_house_after_school_order_2"] == pytest.approx(-39.691, abs=5e-4)
    assert metrics["test", "above_shuffled_order_2"] > 0.98
    assert len(training.texts["original"][1]) - 1 == 3749
    assert all(math.isfinite(v) for v in metrics.values())
