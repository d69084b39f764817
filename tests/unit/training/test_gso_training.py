"""Training by epochs over lines: document 000."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler
from engine_helpers import same_bits
from packed_helpers import corpus as make_corpus
from protocol_helpers import finish, goes_on, options_are_known, saved, states_of, values
from torch.nn import functional

from reprise.data.corpus import Corpus
from reprise.errors import UserError
from reprise.models.gso import GSO
from reprise.records.resolved import Resolved
from reprise.training.loop import Job, run_job
from reprise.training.protocol import Diverged
from reprise.training.protocols.gso import LineEpochs

CPU = torch.device("cpu")
MODEL_OPTIONS = {
    "gso": {
        "hidden_size": 12,
        "second_order_size": 9,
        "input_term": True,
        "recurrent_term": False,
        "activation": "tanh",
        "matrix_law": "orthogonal",
        "f_law": "normal",
        "f_std": 0.1,
    },
    "first-order": {
        "hidden_size": 10,
        "activation": "tanh",
        "matrix_law": "glorot-uniform",
        "b_law": "zero",
        "b_std": 0.1,
    },
}


def config(model="gso", sizes=None, **training):
    options = {
        "batch_size": 8,
        "optimiser": "adam",
        "learning_rate": 0.02,
        "clip_norm": 0.0,
        "max_epochs": 3,
        "loss_reduction": "mean-tokens",
        "selection": "best-valid",
    }
    return {
        "model": {"name": model, "options": MODEL_OPTIONS[model] | (sizes or {})},
        "data": {"dataset": "lines", "options": {"folds": 2}, "raw": {}},
        "training": {"protocol": "line-epochs", "options": options | training},
        "precision": "float32",
    }


def losses_line_by_line(path, fold, part, parameters):
    """Nats of each predicted token of the part's lines, from the readable model on one line after another."""
    loaded = Corpus.load(path)
    model = GSO(len(loaded.vocabulary), 12, 9, True, False, "tanh")
    model.load_state_dict(parameters)
    found, split = [], loaded.splits["lines"]
    for i in np.flatnonzero(loaded.extra["part"][fold] == part):
        tokens = torch.from_numpy(split.tokens[split.offsets[i] : split.offsets[i + 1]]).long()
        if len(tokens) > 1:
            with torch.no_grad():
                found.append(functional.cross_entropy(model(tokens[:-1, None])[:, 0], tokens[1:], reduction="none"))
    return found


def lines_of(batch):
    """The places of each line's targets."""
    line = np.arange(len(batch)) - np.repeat(batch.starts[:-1], batch.active)
    return [batch.places[line == i].tolist() for i in range(batch.active[0])]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize("engine", [pytest.param("fused", marks=needs_compiler), "reference"])
def test_losses_are_those_of_the_readable_model_with_the_best_parameters(corpus, engine):
    training = LineEpochs(config(), 1, corpus, engine, CPU)
    outcome = finish(training)
    found = values(outcome)
    for number, part in ((1, "valid"), (2, "test")):
        nats = losses_line_by_line(corpus, 1, number, training.best["parameters"])
        assert found[part, "cross_entropy"] == pytest.approx(torch.cat(nats).mean().item(), rel=1e-5)
        assert found[part, "cross_entropy_macro"] == pytest.approx(np.mean([n.mean().item() for n in nats]), rel=1e-5)
        assert found[part, "predicted_characters"] == len(torch.cat(nats))
    assert found["train", "epochs"] == 3
    assert found["valid", "cross_entropy"] == min(training.history[i]["valid"] for i in range(3))
    assert ("train", "diverged_epoch") not in found


@needs_compiler
def test_engines_train_alike_and_beat_the_unigram(corpus):
    fused, reference = (
        finish(LineEpochs(config(max_epochs=8), 0, corpus, engine, CPU)) for engine in ("fused", "reference")
    )
    for ours, theirs in zip(fused.curves[:2], reference.curves[:2], strict=True):
        assert ours["y"] == pytest.approx(theirs["y"], rel=1e-3)
    assert values(fused)["test", "cross_entropy"] < 0.7 * math.log(6)


@pytest.mark.parametrize("reduction", ["mean-tokens", "mean-lines"])
@pytest.mark.parametrize("clip_norm", [0.0, 0.05])
def test_an_epoch_is_adam_on_clipped_gradients_of_shuffled_batches(corpus, one_batch_a_call, reduction, clip_norm):
    made = config(loss_reduction=reduction, clip_norm=clip_norm)
    training = LineEpochs(made, 0, corpus, "reference", CPU)
    model = copy.deepcopy(training.model)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    batches, total = list(training.batches), 0.0
    for batch in batches:
        losses = []
        for places in lines_of(batch):
            tokens = torch.from_numpy(training.lines.tokens[[places[0] - 1, *places]]).long()
            losses.append(functional.cross_entropy(model(tokens[:-1, None])[:, 0], tokens[1:], reduction="none"))
        means = torch.stack([line.mean() for line in losses])
        loss = torch.cat(losses).mean() if reduction == "mean-tokens" else means.mean()
        optimiser.zero_grad()
        loss.backward()
        if clip_norm:
            assert torch.nn.utils.clip_grad_norm_(model.parameters(), clip_norm) > clip_norm
        optimiser.step()
        total += torch.cat(losses).sum().item()
        training.advance()
    assert training.part == "valid"
    assert training.loss == pytest.approx(total, rel=1e-4)
    for ours, theirs in zip(training.model.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-2, atol=1e-4)


def test_every_epoch_reads_each_training_line_once_in_a_new_order(corpus):
    training = LineEpochs(config(), 0, corpus, "auto", CPU)
    split, part = training.lines, Corpus.load(corpus).extra["part"][0]
    train = [i for i in np.flatnonzero(part == 0) if split.offsets[i + 1] - split.offsets[i] > 1]
    orders = []
    while training.epoch < 2:
        if len(orders) == training.epoch:
            firsts = [places[0] - 1 for batch in training.batches for places in lines_of(batch)]
            orders.append(firsts)
        training.advance()
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(split.offsets[train].tolist())
    assert orders[0] != orders[1]


def test_replicas_are_folds_and_pairs(corpus):
    part = Corpus.load(corpus).extra["part"]
    for fold in (0, 1):
        one, other = (LineEpochs(config(model), fold, corpus, "auto", CPU) for model in MODEL_OPTIONS)
        for number, name in enumerate(("train", "valid", "test")):
            assert one.parts[name].tolist() == np.flatnonzero(part[fold] == number).tolist()
        assert all(np.array_equal(a.places, b.places) for a, b in zip(one.batches, other.batches, strict=True))
    again, same = (LineEpochs(config(), 1, corpus, "auto", CPU) for _ in range(2))
    assert finish(again) == finish(same)
    assert finish(again) != finish(LineEpochs(config(), 0, corpus, "auto", CPU))
    with pytest.raises(UserError, match="replica 2: .* has 2 folds"):
        LineEpochs(config(), 2, corpus, "auto", CPU)


def test_wrong_input_is_told_in_one_line(corpus, tmp_path):
    with pytest.raises(UserError, match="--corpus"):
        LineEpochs(config(), 0, None, "auto", CPU)
    loaded = Corpus.load(corpus)
    part = loaded.extra.pop("part")
    loaded.save(tmp_path / "no-folds.npz")
    with pytest.raises(UserError, match="no folds"):
        LineEpochs(config(), 0, tmp_path / "no-folds.npz", "auto", CPU)
    loaded.extra["part"] = np.zeros_like(part)
    loaded.save(tmp_path / "no-test.npz")
    with pytest.raises(UserError, match="valid lines of fold 0"):
        LineEpochs(config(), 0, tmp_path / "no-test.npz", "auto", CPU)


def test_the_registry_knows_the_options_of_these_configurations():
    for name in MODEL_OPTIONS:
        options_are_known(config(name))


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
