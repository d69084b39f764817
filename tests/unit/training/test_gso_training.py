"""Training by epochs over lines: document 000."""

import copy
import math
from functools import partial

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler
from protocol_helpers import finish, saved, values
from torch.nn import functional

from reprise.errors import UserError
from reprise.training.checkpoint import decode
from reprise.training.protocol import Diverged
from reprise.training.protocols.gso import LineEpochs

OPTIONS = {"max_epochs": 3, "learning_rate": 0.02, "batch_size": 8, "folds": 2}


@pytest.fixture
def made(small, monkeypatch):
    monkeypatch.setattr(LineEpochs, "tokens_at_once", 1)
    return partial(small, "line-epochs", **OPTIONS)


@pytest.fixture
def loaded(small):
    return small.loaded("line-epochs", **OPTIONS)


def losses_line_by_line(training, part):
    """Nats of each predicted token of the part's lines, from the readable model on one line after another."""
    model, split = copy.deepcopy(training.model), training.lines
    model.load_state_dict(training.best)
    found = []
    for i in training.parts[part]:
        tokens = torch.from_numpy(split.tokens[split.offsets[i] : split.offsets[i + 1]]).long()
        if len(tokens) > 1:
            with torch.no_grad():
                found.append(functional.cross_entropy(model(tokens[:-1, None])[:, 0], tokens[1:], reduction="none"))
    return found


def lines_of(batch):
    """The places of each line's targets."""
    line = np.arange(len(batch)) - np.repeat(batch.starts[:-1], batch.active)
    return [batch.places[line == i].tolist() for i in range(batch.active[0])]


@pytest.mark.parametrize("engine", [pytest.param("fused", marks=needs_compiler), "reference"])
def test_losses_are_those_of_the_readable_model_with_the_best_parameters(made, engine):
    training = made(1, engine)
    found = values(finish(training))
    for part in ("valid", "test"):
        nats = losses_line_by_line(training, part)
        assert found[part, "cross_entropy"] == pytest.approx(torch.cat(nats).mean().item(), rel=1e-5)
        assert found[part, "cross_entropy_macro"] == pytest.approx(np.mean([n.mean().item() for n in nats]), rel=1e-5)
    assert found["train", "epochs"] == 3
    assert found["valid", "cross_entropy"] == min(epoch["valid"] for epoch in training.history)
    assert ("train", "diverged_epoch") not in found
    assert found["test", "cross_entropy"] < 0.95 * math.log(len(training.vocabulary))


@pytest.mark.parametrize("reduction", ["mean-tokens", "mean-lines"])
@pytest.mark.parametrize("clip_norm", [0.0, 0.05])
def test_an_epoch_is_adam_on_clipped_gradients_of_shuffled_batches(made, reduction, clip_norm):
    training = made(0, "reference", loss_reduction=reduction, clip_norm=clip_norm)
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
    assert training.sums["train"] == pytest.approx(total, rel=1e-4)
    for ours, theirs in zip(training.model.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-2, atol=1e-4)


@pytest.mark.parametrize("fold", [0, 1])
def test_replicas_are_folds_and_pairs(made, loaded, fold):
    one, other = (made(fold, model=model) for model in ("gso", "first-order"))
    for number, name in enumerate(("train", "valid", "test")):
        assert one.parts[name].tolist() == np.flatnonzero(loaded.extra["part"][fold] == number).tolist()
    assert all(np.array_equal(a.places, b.places) for a, b in zip(one.batches, other.batches, strict=True))
    with pytest.raises(UserError, match="replica 2: .* has 2 folds"):
        made(2)


def test_the_epoch_of_the_lowest_validation_loss_is_tested(made, monkeypatch):
    training = made(0, "reference", max_epochs=4)
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
def test_a_run_that_diverges_later_keeps_its_best_epoch_and_says_so(made, after):
    training = made(0, "reference")
    while training.epoch < 1 or training.next < after % len(training.batches):
        training.advance()
    with torch.no_grad():
        training.model.A[0, 0] = math.nan
    outcome = finish(training)
    found = values(outcome)
    assert found["train", "diverged_epoch"] == 2
    assert (found["train", "epochs"], found["valid", "best_epoch"]) == (1, 1)
    assert math.isfinite(found["test", "cross_entropy"])
    nats = torch.cat(losses_line_by_line(training, "test"))
    assert found["test", "cross_entropy"] == pytest.approx(nats.mean().item(), rel=1e-5)
    again = made(0, "reference")
    again.restore(decode(saved(training))["state"])
    assert finish(again) == outcome


def test_a_validation_loss_that_is_not_finite_is_divergence_too(made):
    training = made(0, "reference")
    while training.epoch < 1 or training.part != "valid":
        training.advance()
    with torch.no_grad():
        training.model.c.fill_(math.nan)
    assert values(finish(training))["train", "diverged_epoch"] == 2
    assert training.diverged["quantity"] == "validation loss"


def test_divergence_before_the_end_of_an_epoch_leaves_no_numbers(made):
    with pytest.raises(Diverged, match="epoch 1, batch 1, quantity training loss"):
        finish(made(activation="identity", learning_rate=1e30))


def test_a_test_loss_that_is_not_finite_leaves_a_record_of_divergence(small, tmp_path, monkeypatch):
    """Validation was finite; what is read after the last update is not, and is no number of any record."""
    end_epoch = LineEpochs.end_epoch

    def spoils(training):
        end_epoch(training)
        training.best["c"].fill_(math.inf)

    monkeypatch.setattr(LineEpochs, "end_epoch", spoils)
    record = small.record(tmp_path, "line-epochs", **OPTIONS | {"max_epochs": 1})
    assert (record["status"], record["metrics"]) == ("diverged", [])
    assert record["diverged"]["quantity"].startswith("test ")
    assert all(math.isfinite(y) for curve in record["curves"] for y in curve["y"])
    assert ("valid", "cross_entropy") in {(curve["split"], curve["metric"]) for curve in record["curves"]}


def test_a_record_is_of_a_fold(small, tmp_path):
    record = small.record(tmp_path, "line-epochs", 1, **OPTIONS | {"max_epochs": 1})
    assert (record["status"], record["fold"], record["seed"]) == ("finished", 1, 1)
    axes = {(c["split"], c["metric"], c["axis"]) for c in record["curves"]}
    assert {("train", "cross_entropy", "epoch"), ("test", "count", "position_in_word")} <= axes
    assert [len(s["line"]) == len(s["prediction"]) for s in record["samples"]] == [True] * 3
