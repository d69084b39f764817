"""The protocol that counts word n-grams: what its records hold, of generated text and of the Penn Treebank."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from protocol_helpers import finish, values

from reprise.catalogue.models import MODELS
from reprise.data.text import ptb
from reprise.errors import UserError
from reprise.models.ngram_counts import HeldOut, NGramCounts, Positions


@pytest.fixture
def counted(small):
    return partial(small, "word-ngram", order=3, halvings=2, training_sentences=300)


@pytest.fixture
def loaded(small):
    return small.loaded("word-ngram", training_sentences=300)


def curves(outcome):
    return {(c["split"], c["metric"], c["axis"]): dict(zip(c["x"], c["y"], strict=True)) for c in outcome.curves}


@pytest.mark.parametrize("boundary", ["sentence", "text"])
def test_a_record_has_every_order_and_every_part_of_the_text(counted, loaded, boundary):
    training = counted(model="kneser-ney", boundary=boundary)
    outcome = finish(training)
    end, model = loaded.vocabulary.index("</s>"), MODELS["kneser-ney"].build(vocabulary=60, order=3)
    all_words = Positions.of(loaded.splits["train"], 2, end, boundary)
    held = HeldOut(Positions.of(loaded.splits["test"], 2, end, boundary))
    stored, entropy = curves(outcome), curves(outcome)["test", "cross_entropy", "order"]
    sizes = [int(loaded.splits["train"].offsets[300 // part]) for part in (4, 2, 1)]
    for words in sizes:
        counts = NGramCounts(all_words.take(slice(words)), 60)
        for n in (1, 2, 3):
            assert stored["train", f"stored_order_{n}", "words"][words] == len(counts.table(n).keys)
            nats = -np.log(model.estimate(counts, held, n)).mean()
            assert stored["test", f"cross_entropy_order_{n}", "words"][words] == pytest.approx(nats, rel=1e-12)
            if words == sizes[-1]:
                assert entropy[n] == pytest.approx(nats, rel=1e-12)
    found = values(outcome)
    assert found["test", "cross_entropy"] == found["test", "cross_entropy_order_3"] == entropy[3]
    assert found["train", "stored_order_2_halved_2_times"] == stored["train", "stored_order_2", "words"][sizes[0]]
    assert found["test", "source_entropy"] == loaded.facts["source_nats"]["test"] < entropy[2]
    assert training.parameters == sum(found["train", f"stored_order_{n}"] for n in (1, 2, 3))


def test_where_a_word_has_no_probability_there_is_no_cross_entropy(counted, loaded):
    found = finish(counted(model="relative-ngram"))
    shares, zero = curves(found)["test", "unpredicted_share", "order"], curves(found)["test", "zero_share", "order"]
    assert 0 < shares[2] < shares[3] < 1
    assert shares[3] == pytest.approx(zero[3] + curves(found)["test", "undefined_share", "order"][3])
    assert "cross_entropy" not in {m["metric"] for m in found.metrics}
    scored = {m["metric"]: m["n"] for m in found.metrics if m["metric"].startswith("scored_nats")}
    words = len(loaded.splits["test"].tokens)
    assert scored["scored_nats_order_3"] == round((1 - shares[3]) * words) < scored["scored_nats_order_2"] < words


def test_scores_that_are_no_probabilities_have_no_cross_entropy(counted):
    found = values(finish(counted(model="stupid-backoff", alpha=0.4)))
    assert not {key for key in found if key[1].startswith("cross_entropy")}
    assert found["test", "score_cross_entropy_order_3"] > 0
    assert found["test", "score_sum_order_1"] == pytest.approx(1)
    assert abs(found["test", "score_sum_order_3"] - 1) > 0.01


def test_a_text_that_cannot_be_halved_so_often_is_refused(counted):
    with pytest.raises(UserError, match="300 sentences cannot be halved 9 times"):
        counted(halvings=9)


@pytest.mark.slow
def test_the_penn_treebank(counted, mirror, tmp_path):
    """Numbers of our own, worked out once; the counts do not depend on the machine."""
    ptb.prepare(mirror / "ptb", {}).save(tmp_path / "corpus.npz")
    found = values(finish(counted(model="kneser-ney", corpus=tmp_path / "corpus.npz", order=5, halvings=0)))
    assert math.exp(found["test", "cross_entropy"]) == pytest.approx(143.38, abs=0.005)
    stored = [found["train", f"stored_order_{n}"] for n in range(1, 6)]
    assert stored == [10_000, 264_990, 589_720, 738_528, 790_568]
    relative = values(finish(counted(model="relative-ngram", corpus=tmp_path / "corpus.npz", order=5, halvings=0)))
    shares = [relative["test", f"unpredicted_share_order_{n}"] for n in range(1, 6)]
    assert shares == pytest.approx([0, 0.18918, 0.55338, 0.75971, 0.83502], abs=5e-6)
