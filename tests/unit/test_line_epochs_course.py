"""The course of a training by epochs over lines: the best epoch, divergence, resumption, the record."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler
from engine_helpers import same_bits
from line_epochs_helpers import CPU, config, losses_line_by_line
from packed_helpers import corpus as make_corpus
from protocol_helpers import finish, goes_on, saved, states_of, values

from reprise.records.resolved import Resolved
from reprise.training.loop import Job, run_job
from reprise.training.protocol import Diverged
from reprise.training.protocols.gso import LineEpochs


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize("engine", [pytest.param("fused", marks=needs_compiler), "reference"])
def test_training_goes_on_from_its_state_to_the_same_bits(corpus, one_batch_a_call, monkeypatch, engine):
    monkeypatch.setattr("reprise.training.protocols.gso._EVALUATED_TOGETHER", 2)
    made = config(clip_norm=0.5)
    whole = LineEpochs(made, 1, corpus, engine, CPU)
    states = states_of(whole, "part")[1:]
    chosen = [states[i] for i in np.linspace(0, len(states) - 1, 9).astype(int)]
    assert {part for part, _ in chosen} == {"train", "valid", "test"}
    for _, state in chosen:
        again = LineEpochs(made, 1, corpus, engine, CPU)
        goes_on(again, state, whole)
        assert same_bits(whole.best["parameters"], again.best["parameters"])


def test_the_epoch_of_the_lowest_validation_loss_is_tested(corpus, monkeypatch):
    training = LineEpochs(config(max_epochs=4), 0, corpus, "reference", CPU)
    told, seen = iter([3.0, 1.0, 2.0, 1.5]), {}
    evaluate = training.kernel.evaluate

    def evaluated(batch):
        nats, best = evaluate(batch)
        if training.part == "test":
            seen["test"] = {k: v.clone() for k, v in training.model.state_dict().items()}
            return nats, best
        seen[training.epoch] = {k: v.clone() for k, v in training.model.state_dict().items()}
        return np.full_like(nats, next(told)), best  # all validation lines fit one batch

    monkeypatch.setattr(training.kernel, "evaluate", evaluated)
    outcome = finish(training)
    assert values(outcome)["valid", "best_epoch"] == 2
    assert values(outcome)["valid", "cross_entropy"] == pytest.approx(1.0)
    assert all(torch.equal(value, seen[1][name]) for name, value in seen["test"].items())
    assert any(not torch.equal(value, seen[3][name]) for name, value in seen["test"].items())
    assert outcome.curves[1]["y"] == pytest.approx([3.0, 1.0, 2.0, 1.5])


@pytest.mark.parametrize("after", [0, 3, -1])
def test_a_run_that_diverges_later_keeps_its_best_epoch_and_says_so(corpus, one_batch_a_call, after):
    training = LineEpochs(config(), 0, corpus, "reference", CPU)
    while training.epoch < 1 or training.next < after % len(training.batches):
        training.advance()
    with torch.no_grad():
        training.model.A[0, 0] = math.nan
    outcome = finish(training)
    found = values(outcome)
    assert found["train", "diverged_epoch"] == 2
    assert (found["train", "epochs"], found["valid", "best_epoch"]) == (1, 1)
    assert math.isfinite(found["test", "cross_entropy"])
    nats = torch.cat(losses_line_by_line(corpus, 0, 2, training.best["parameters"]))
    assert found["test", "cross_entropy"] == pytest.approx(nats.mean().item(), rel=1e-5)
    again = LineEpochs(config(), 0, corpus, "reference", CPU)
    goes_on(again, saved(training), training)


def test_a_validation_loss_that_is_not_finite_is_divergence_too(corpus, one_batch_a_call):
    training = LineEpochs(config(), 0, corpus, "reference", CPU)
    while training.epoch < 1 or training.part != "valid":
        training.advance()
    with torch.no_grad():
        training.model.c.fill_(math.nan)
    assert values(finish(training))["train", "diverged_epoch"] == 2
    assert training.diverged["quantity"] == "validation loss"


def test_divergence_before_the_end_of_an_epoch_leaves_no_numbers(corpus, tmp_path):
    made = config(sizes={"activation": "identity"}, learning_rate=1e30)
    with pytest.raises(Diverged, match="epoch 1, batch 1, quantity training loss"):
        finish(LineEpochs(made, 0, corpus, "auto", CPU))
    resolved = Resolved("p", "e", "quick", "t", 1, made, {}, str(corpus))
    record = run_job(Job(resolved, 0, tmp_path / "r.json", corpus, root=tmp_path))
    assert (record["status"], record["metrics"]) == ("diverged", [])


@pytest.mark.parametrize("engine", ["reference"])
def test_a_test_loss_that_is_not_finite_leaves_a_record_of_divergence(corpus, tmp_path, engine, monkeypatch):
    """Validation was finite; what is read after the last update is not, and is no number of any record."""
    close = LineEpochs._close_epoch

    def spoils(training, *arguments):
        close(training, *arguments)
        training.best["parameters"]["c"].fill_(math.inf)

    monkeypatch.setattr(LineEpochs, "_close_epoch", spoils)
    resolved = Resolved("p", "e", "quick", "t", 1, config(max_epochs=1), {}, str(corpus))
    record = run_job(Job(resolved, 0, tmp_path / "r.json", corpus, root=tmp_path, engine=engine))
    assert (record["status"], record["metrics"]) == ("diverged", [])
    assert record["diverged"]["quantity"].startswith("test ")
    assert all(math.isfinite(y) for curve in record["curves"] for y in curve["y"])
    assert ("valid", "cross_entropy") in {(curve["split"], curve["metric"]) for curve in record["curves"]}


def test_a_whole_job_leaves_a_record_of_its_fold(corpus, tmp_path):
    resolved = Resolved("p", "e", "quick", "t", 1, config("first-order", max_epochs=1), {}, str(corpus))
    record = run_job(Job(resolved, 1, tmp_path / "r.json", corpus, root=tmp_path))
    assert (record["status"], record["fold"], record["seed"]) == ("finished", 1, 1)
    assert record["parameters"] == 2 * 6 * 10 + 10 * 10 + 10 + 6
    axes = {(c["split"], c["metric"], c["axis"]) for c in record["curves"]}
    assert {("train", "cross_entropy", "epoch"), ("test", "count", "position_in_word")} <= axes
    assert all(len(s["line"]) == len(s["prediction"]) for s in record["samples"])
    assert len(record["samples"]) == 3


def test_progress_never_goes_back(corpus, one_batch_a_call):
    training = LineEpochs(config(), 0, corpus, "auto", CPU)
    seen = [training.done]
    while not training.finished:
        assert "nats/token" in training.advance()
        seen.append(training.done)
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0, training.total)
