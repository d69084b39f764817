"""Training on parallel streams: its losses, its schedule, its records, and that it resumes to the same bits."""

from __future__ import annotations

import math

import pytest
import torch
from batched_helpers import CPU, config, make_corpus
from engine_helpers import same_bits
from protocol_helpers import (
    finish,
    goes_on,
    options_are_known,
    progress_of,
    replicas_differ_and_repeat,
    states_of,
    values,
)

from reprise.catalogue.models import MODELS
from reprise.data.corpus import Corpus
from reprise.errors import UserError
from reprise.records.resolved import Resolved
from reprise.training.loop import Job, run_job
from reprise.training.protocol import Diverged
from reprise.training.protocols.gated import BatchedSGD


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize("engine", ["grouped", "reference"])
@pytest.mark.parametrize("model", ["gru-lm", "lstm-lm"])
def test_losses_that_are_told_are_those_of_one_pass_over_the_text(corpus, engine, model):
    training = BatchedSGD(config(model, dropout=0.0, max_epochs=1), 3, corpus, engine, CPU)
    finish(training)
    readable = MODELS[model].build(vocabulary=40, embedding=12, hidden=8, matrices=3, mapping="f")
    readable.load_state_dict(training.kernel.export())
    loaded = Corpus.load(corpus)
    end = loaded.vocabulary.index("</s>")
    for split in ("valid", "test"):
        words = torch.from_numpy(loaded.splits[split].tokens).long()
        x = torch.cat([torch.tensor([end]), words[:-1]])[:, None]
        logits, _ = readable(x, readable.initial_state(1))
        expected = torch.nn.functional.cross_entropy(logits[:, 0], words).item()
        assert training.history[0][split] == pytest.approx(expected, rel=1e-5)
    counted = {m["split"]: m["n"] for m in training.outcome().metrics if m["metric"] == "cross_entropy"}
    tokens = {split: len(loaded.splits[split].tokens) for split in counted}
    assert counted == tokens | {"train": tokens["train"] // 4 * 4}


@pytest.mark.parametrize("model", ["gru-lm", "lstm-lm"])
def test_training_beats_the_unigram_with_either_engine(corpus, model):
    sizes = {"embedding_size": 24, "hidden_size": 24}
    settings = {"dropout": 0.2, "batch_size": 10}
    outcome = finish(BatchedSGD(config(model, sizes, max_epochs=6, **settings), 1, corpus, "auto", CPU))
    found = values(outcome)
    facts = Corpus.load(corpus).facts
    assert found["test", "source_entropy"] == facts["source_nats"]["test"]
    assert facts["source_nats"]["test"] < found["test", "cross_entropy"] < 0.97 * facts["unigram_entropy_nats"]
    reference = finish(BatchedSGD(config(model, sizes, max_epochs=2, **settings), 1, corpus, "reference", CPU))
    for ours, theirs in zip(outcome.curves, reference.curves, strict=True):
        assert ours["y"][:2] == pytest.approx(theirs["y"], rel=1e-3)


@pytest.mark.parametrize("model", ["gru-lm", "lstm-lm"])
@pytest.mark.parametrize("engine", ["grouped", "reference"])
def test_training_goes_on_from_its_state_to_the_same_bits(corpus, model, engine, monkeypatch):
    monkeypatch.setattr(BatchedSGD, "windows", 3)
    splits, made = set(), config(model, batch_size=10, steps=15)
    whole = BatchedSGD(made, 2, corpus, engine, CPU)
    states = states_of(whole, "split")[1:]
    for i in sorted({0, len(states) // 3, len(states) // 2, len(states) - 3}):
        split, state = states[i]
        splits.add(split)
        again = BatchedSGD(made, 2, corpus, engine, CPU)
        goes_on(again, state, whole)
        assert same_bits(whole.kernel.export(), again.kernel.export())
    assert len(splits) > 1, "the states must stand in the training text and in another"


def test_replicas_differ_and_repeat(corpus):
    replicas_differ_and_repeat(lambda seed: BatchedSGD(config(), seed, corpus, "auto", CPU))


def test_progress_never_goes_back(corpus):
    training = BatchedSGD(config(), 0, corpus, "auto", CPU)
    seen = progress_of(training)
    assert seen == sorted(set(seen))
    assert seen[0] == 0
    assert seen[-1] == training.total == 2


def test_schedule_halves_below_the_ratio_and_stops_after_patience(corpus, monkeypatch):
    perplexities = [100, 90, 89.9, 80, 79.9, 79.8, 1]
    training = BatchedSGD(config(max_epochs=60, batch_size=100, steps=50), 0, corpus, "auto", CPU)
    monkeypatch.setattr(training.kernel, "evaluate", lambda x, y: math.log(perplexities[training.epoch]) * len(y))
    finish(training)
    rates = [h["learning_rate"] for h in training.history]
    # 90/89.9 < 1.003 halves; 89.9/80 does not; two in a row below the ratio halve twice and stop.
    assert rates == [1.0, 1.0, 0.5, 0.5, 0.25, 0.125]


def test_a_whole_job_leaves_a_record(corpus, tmp_path):
    resolved = Resolved("p", "e", "quick", "t", 1, config("lstm-lm"), {}, str(corpus))
    record = run_job(Job(resolved, 0, tmp_path / "r.json", corpus, root=tmp_path))
    assert record["status"] == "finished"
    assert record["run"]["engine"] == "grouped"
    assert record["parameters"] == 40 * 12 + 4 * 8 * 12 + 3 * 8 * 9 + 3 * 8 * 9 + 40 * 9


def test_divergence_is_told(corpus):
    with pytest.raises(Diverged, match="training loss"):
        finish(BatchedSGD(config(learning_rate=1e38), 0, corpus, "auto", CPU))


def test_losses_too_large_for_a_perplexity_do_not_end_training(corpus):
    training = BatchedSGD(config(learning_rate=1e5), 0, corpus, "auto", CPU)
    finish(training)
    assert training.history[-1]["valid"] > 1000  # nats/token: no float holds e to the power of this
    assert training.note().startswith("valid ppl inf, test ppl inf")


def test_wrong_input_is_told_in_one_line(corpus):
    with pytest.raises(UserError, match="batch_size"):
        BatchedSGD(config(batch_size=10**6), 0, corpus, "auto", CPU)
    with pytest.raises(UserError, match="corpus"):
        BatchedSGD(config(), 0, None, "auto", CPU)
    with pytest.raises(UserError, match="engine"):
        BatchedSGD(config(), 0, corpus, "fused", CPU)


def test_the_registry_knows_the_options_of_these_configurations():
    for name in ("gru-lm", "lstm-lm"):
        options_are_known(config(name))
