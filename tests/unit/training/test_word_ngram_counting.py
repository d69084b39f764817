"""The protocol that counts word n-grams: what its records hold, of generated text and of the Penn Treebank."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from protocol_helpers import finish, options_are_known, values

from reprise.catalogue.models import MODELS
from reprise.catalogue.protocols import PROTOCOLS
from reprise.data.corpus import Corpus
from reprise.data.synthetic import synthetic
from reprise.data.text import ptb
from reprise.errors import UserError
from reprise.models.ngram_counts import HeldOut, NGramCounts, Positions
from reprise.records.resolved import Resolved
from reprise.training.loop import Job, run_job
from reprise.training.protocols.word_ngram import WordNGramCount


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    options = {"vocabulary_size": 60, "training_sentences": 300, "seed": 1}
    synthetic.prepare(folder, options, held_out=40).save(folder / "corpus.npz")
    return folder / "corpus.npz"


def config(model, order=3, boundary="sentence", halvings=2, **options):
    return {
        "model": {"name": model, "options": {"order": order, **options}},
        "training": {"protocol": "word-ngram", "options": {"boundary": boundary, "halvings": halvings}},
    }


def training_of(corpus, *arguments, **options):
    return WordNGramCount(config(*arguments, **options), 0, corpus, "auto", torch.device("cpu"))


def curves(outcome):
    return {(c["split"], c["metric"], c["axis"]): dict(zip(c["x"], c["y"], strict=True)) for c in outcome.curves}


@pytest.mark.parametrize("boundary", ["sentence", "text"])
def test_a_record_has_every_order_and_every_part_of_the_text(corpus, boundary):
    training = training_of(corpus, "kneser-ney", boundary=boundary)
    outcome = finish(training)
    loaded = Corpus.load(corpus)
    end, model = loaded.vocabulary.index("</s>"), MODELS["kneser-ney"].build(vocabulary=60, order=3)
    all_words = Positions.of(loaded.splits["train"], 2, end, boundary)
    held = HeldOut(Positions.of(loaded.splits["test"], 2, end, boundary))
    stored, entropy = curves(outcome), curves(outcome)["test", "cross_entropy", "order"]
    sizes = [int(loaded.splits["train"].offsets[300 // part]) for part in (4, 2, 1)]
    for words in sizes:
        counts = NGramCounts(all_words.first(words), 60)
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


def test_where_a_word_has_no_probability_there_is_no_cross_entropy(corpus):
    found = finish(training_of(corpus, "relative-ngram"))
    shares, zero = curves(found)["test", "unpredicted_share", "order"], curves(found)["test", "zero_share", "order"]
    assert 0 < shares[2] < shares[3] < 1
    assert shares[3] == pytest.approx(zero[3] + curves(found)["test", "undefined_share", "order"][3])
    assert "cross_entropy" not in {m["metric"] for m in found.metrics}
    scored = {m["metric"]: m["n"] for m in found.metrics if m["metric"].startswith("scored_nats")}
    words = len(Corpus.load(corpus).splits["test"].tokens)
    assert scored["scored_nats_order_3"] == round((1 - shares[3]) * words) < scored["scored_nats_order_2"] < words


def test_scores_that_are_no_probabilities_have_no_cross_entropy(corpus):
    found = values(finish(training_of(corpus, "stupid-backoff", alpha=0.4)))
    assert not {key for key in found if key[1].startswith("cross_entropy")}
    assert found["test", "score_cross_entropy_order_3"] > 0
    assert found["test", "score_sum_order_1"] == pytest.approx(1)
    assert abs(found["test", "score_sum_order_3"] - 1) > 0.01


def test_it_goes_on_where_it_stopped(corpus):
    whole = training_of(corpus, "backoff-ngram")
    expected = finish(whole)
    for pieces in (0, 4, 8, 9):
        stopped = training_of(corpus, "backoff-ngram")
        for _ in range(pieces):
            stopped.advance()
        resumed = training_of(corpus, "backoff-ngram")
        resumed.restore(copy.deepcopy(stopped.state()))
        assert resumed.done == pieces
        assert finish(resumed) == expected
        assert resumed.parameters == whole.parameters


def test_a_whole_job_leaves_a_record(corpus, tmp_path):
    resolved = Resolved("p", "e", "quick", "t", 1, config("additive-ngram", delta=0.1), {}, str(corpus))
    record = run_job(Job(resolved, 0, tmp_path / "r.json", corpus, root=tmp_path))
    assert (record["status"], record["run"]["engine"]) == ("finished", "numpy")


def test_wrong_input_is_told_in_one_line(corpus, tmp_path):
    with pytest.raises(UserError, match="300 sentences cannot be halved 9 times"):
        training_of(corpus, "relative-ngram", halvings=9)
    with pytest.raises(UserError, match="needs a prepared corpus"):
        training_of(None, "relative-ngram")
    loaded = Corpus.load(corpus)
    loaded.facts["boundaries"] = "none"
    loaded.save(tmp_path / "running.npz")
    with pytest.raises(UserError, match="running text has no sentences"):
        training_of(tmp_path / "running.npz", "relative-ngram")


def test_the_registry_knows_the_options_of_these_configurations():
    for name, options in {"additive-ngram": {"delta": 0.1}, "stupid-backoff": {"alpha": 0.4}, "kneser-ney": {}}.items():
        options_are_known(config(name, **options))
    entry = PROTOCOLS["word-ngram"]
    assert entry.trains
    assert not entry.chance


@pytest.mark.slow
def test_the_penn_treebank(mirror, tmp_path):
    """Numbers of our own, worked out once; the counts do not depend on the machine."""
    ptb.prepare(mirror / "ptb", {}).save(tmp_path / "corpus.npz")
    found = values(finish(training_of(tmp_path / "corpus.npz", "kneser-ney", order=5, halvings=0)))
    assert math.exp(found["test", "cross_entropy"]) == pytest.approx(143.38, abs=0.005)
    stored = [found["train", f"stored_order_{n}"] for n in range(1, 6)]
    assert stored == [10_000, 264_990, 589_720, 738_528, 790_568]
    relative = values(finish(training_of(tmp_path / "corpus.npz", "relative-ngram", order=5, halvings=0)))
    shares = [relative["test", f"unpredicted_share_order_{n}"] for n in range(1, 6)]
    assert shares == pytest.approx([0, 0.18918, 0.55338, 0.75971, 0.83502], abs=5e-6)
