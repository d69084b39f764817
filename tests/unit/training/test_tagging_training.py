"""Training of taggers and of classifiers of sentences: batches, what is reported, resumption, records."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from engine_helpers import same_bits
from protocol_helpers import goes_on, options_are_known, states_of, values

from reprise.data.corpus import Corpus
from reprise.data.synthetic import synthetic, synthetic_tagged
from reprise.errors import UserError
from reprise.records.resolved import Resolved
from reprise.training.loop import Job, run_job
from reprise.training.protocol import Diverged
from reprise.training.protocols.tagging import SentenceLabels, Tagging, batch_of, in_order_of_length, shuffled

CPU = torch.device("cpu")
NETWORK = {"embedding_size": 16, "hidden_size": 16, "layers": 1, "directions": "both", "lower_layer": "both"}
NETWORK |= {"activation": "tanh"}
OPTIONS = {"batch_size": 16, "optimiser": "adam", "learning_rate": 0.01, "clip_norm": 5.0, "patience": 2}
OPTIONS |= {"max_epochs": 3}
SMALL = {"vocabulary_size": 200, "training_sentences": 240, "seed": 1}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "corpus.npz"
    synthetic_tagged.prepare(None, SMALL).save(path)
    return path


def config(protocol="tagging", network=None, **training):
    model = {"tagging": "tagger", "sentence-labels": "sentence-classifier"}[protocol]
    options = NETWORK | (network or {})
    if protocol == "sentence-labels":
        options.setdefault("pooling", "max")
    return {
        "model": {"name": model, "options": options},
        "training": {"protocol": protocol, "options": OPTIONS | training},
        "precision": "float32",
    }


def training_of(corpus, protocol="tagging", seed=0, **options):
    kind = {"tagging": Tagging, "sentence-labels": SentenceLabels}[protocol]
    return kind(config(protocol, **options), seed, corpus, "auto", CPU)


def finish(training):
    while not training.finished:
        before = training.done
        assert training.advance()
        assert before < training.done <= training.total
    return training.outcome()


def test_an_epoch_reads_every_sentence_once_in_an_order_of_its_own(corpus):
    split = Corpus.load(corpus).splits["train"]
    orders = [shuffled(split, 16, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
    assert [b.tolist() for b in orders[0]] == [b.tolist() for b in orders[1]] != [b.tolist() for b in orders[2]]
    assert sorted(np.concatenate(orders[2]).tolist()) == list(range(240))
    batch = batch_of(split, orders[0][3])
    for b, number in enumerate(orders[0][3]):
        own = split.tokens[split.offsets[number] : split.offsets[number + 1]]
        assert batch.words[batch.present[:, b], b].tolist() == own.tolist()
        assert not batch.present[len(own) :, b].any()
    lengths = np.diff(split.offsets)[np.concatenate(in_order_of_length(split, 64))]
    assert (np.diff(lengths) >= 0).all()


def test_it_learns_and_both_sides_tell_more_than_one(corpus):
    """240 sentences are few: held to guessing, and to the source's own accuracy as the most that can be had."""
    best = Corpus.load(corpus).facts["best_accuracy"]
    found = {}
    for directions in ("forward", "both"):
        outcome = finish(training_of(corpus, network={"directions": directions}, max_epochs=8, patience=8))
        found[directions] = values(outcome)
        assert values(outcome)["test", "guessing"] < values(outcome)["test", "accuracy"] < best[directions] + 0.02
    assert found["both"]["test", "accuracy"] > found["forward"]["test", "accuracy"] + 0.01


@pytest.mark.parametrize("pooling", ["max", "mean", "last"])
def test_it_learns_labels_of_sentences(corpus, pooling):
    options = {"network": {"pooling": pooling, "directions": "forward"}, "max_epochs": 8, "patience": 8}
    found = values(finish(training_of(corpus, "sentence-labels", **options)))
    assert found["test", "accuracy"] > found["test", "guessing"] + 0.1


def test_what_is_reported_is_the_epoch_of_the_highest_validation_accuracy(corpus):
    training = training_of(corpus, max_epochs=40, patience=2)
    outcome = finish(training)
    curves = {(c["split"], c["metric"]): c["y"] for c in outcome.curves}
    valid, found = curves["valid", "accuracy"], values(outcome)
    best = int(found["valid", "best_epoch"])
    assert best == 1 + valid.index(max(valid))
    assert found["train", "epochs"] == len(valid) == best + 2 < 40
    for split in ("train", "valid", "test"):
        for metric in ("accuracy", "log_loss"):
            assert found[split, metric] == curves[split, metric][best - 1]


def test_groups_of_words_add_up_to_all(corpus):
    outcome, loaded = finish(training_of(corpus, max_epochs=1)), Corpus.load(corpus)
    kinds = loaded.facts["kinds"]["test"]
    for metric in ("accuracy", "guessing"):
        rows = {m["metric"]: m for m in outcome.metrics if m["split"] == "test" and m["metric"].startswith(metric)}
        assert {k: rows[f"{metric}_{k}"]["n"] for k in kinds} == kinds
        right = sum(rows[f"{metric}_{k}"]["value"] * n for k, n in kinds.items())
        assert right == pytest.approx(rows[metric]["value"] * sum(kinds.values()), rel=1e-12)
    assert values(outcome)["train", "parameters_without_vectors"] == 2 * (16 * 16 + 16 * 16 + 16) + 8 * 33


@pytest.mark.parametrize("protocol", ["tagging", "sentence-labels"])
def test_training_goes_on_from_its_state_to_the_same_bits(corpus, protocol):
    whole = training_of(corpus, protocol, seed=2, max_epochs=2)
    states = states_of(whole)[:-1]
    for i in (0, 1, len(states) // 2, len(states) - 2, len(states) - 1):
        again = training_of(corpus, protocol, seed=2, max_epochs=2)
        goes_on(again, states[i][1], whole)
        assert same_bits(whole.model.state_dict(), again.model.state_dict())
    other = finish(training_of(corpus, protocol, seed=3, max_epochs=2))
    assert other.curves != whole.outcome().curves


def test_a_whole_job_leaves_a_record(corpus, tmp_path):
    resolved = Resolved("p", "e", "quick", "t", 1, config(max_epochs=1), {}, str(corpus))
    record = run_job(Job(resolved, 0, tmp_path / "r.json", corpus, root=tmp_path))
    assert (record["status"], record["run"]["engine"]) == ("finished", "reference")


def test_divergence_and_wrong_input_are_told(corpus, tmp_path):
    with pytest.raises(Diverged, match="train loss"):
        finish(training_of(corpus, learning_rate=1e38, clip_norm=1e30, network={"activation": "relu"}))
    with pytest.raises(UserError, match="needs a prepared corpus"):
        training_of(None)
    with pytest.raises(UserError, match="engine: fused is none of auto, reference; name one of these with --engine"):
        Tagging(config(), 0, corpus, "fused", CPU)
    with pytest.raises(UserError, match="model tagger: this protocol trains the model sentence-classifier"):
        SentenceLabels(config(), 0, corpus, "auto", CPU)
    synthetic.prepare(tmp_path, {"vocabulary_size": 40, "training_sentences": 20, "seed": 1}).save(
        tmp_path / "words.npz"
    )
    with pytest.raises(UserError, match="its words bear no tags"):
        training_of(tmp_path / "words.npz")


@pytest.mark.parametrize("protocol", ["tagging", "sentence-labels"])
def test_the_registry_knows_the_options_of_these_configurations(protocol):
    options_are_known(config(protocol))
