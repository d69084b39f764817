"""Training by epochs over lines: document 000."""

import copy
import math
from functools import partial

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler
from protocol_helpers import finish, lines_of, saved, values
from torch.nn import functional

from reprise.training.checkpoint import decode
from reprise.training.protocols.gso import LineEpochs

OPTIONS = {"max_epochs": 3, "learning_rate": 0.02, "batch_size": 8, "folds": 2}


@pytest.fixture
def made(small, monkeypatch):
    monkeypatch.setattr(LineEpochs, "tokens_per_piece", 1)
    return partial(small, "line-epochs", **OPTIONS)


@pytest.fixture
def loaded(small):
    return small.loaded("line-epochs", **OPTIONS)


def line_by_line(training, part):
    """Of each line of the part: the nats of its predicted tokens and the likeliest ones, from the readable model."""
    model, split = copy.deepcopy(training.model), training.lines
    model.load_state_dict(training.best)
    for i in training.parts[part]:
        tokens = torch.from_numpy(split.tokens[split.offsets[i] : split.offsets[i + 1]]).long()
        if len(tokens) > 1:
            logits = model(tokens[:-1, None])[:, 0].detach()
            yield functional.cross_entropy(logits, tokens[1:], reduction="none"), logits.argmax(1).tolist()


@pytest.mark.parametrize("engine", [pytest.param("fused", marks=needs_compiler), "reference"])
def test_losses_are_those_of_the_readable_model_with_the_best_parameters(made, engine):
    training = made(1, engine)
    outcome = finish(training)
    metrics = values(outcome)
    for part in ("valid", "test"):
        nats, likeliest = zip(*line_by_line(training, part), strict=True)
        assert metrics[part, "cross_entropy"] == pytest.approx(torch.cat(nats).mean().item(), rel=1e-5)
        assert metrics[part, "cross_entropy_macro"] == pytest.approx(np.mean([n.mean().item() for n in nats]), rel=1e-5)
    predictions = [" " + "".join(training.vocabulary[token] for token in tokens) for tokens in likeliest]
    assert [sample["prediction"] for sample in outcome.samples] == predictions[:3]
    assert metrics["train", "epochs"] == 3
    assert ("train", "diverged_epoch") not in metrics
    assert metrics["test", "cross_entropy"] < 0.95 * math.log(len(training.vocabulary))


@pytest.mark.parametrize("reduction", ["mean-tokens", "mean-lines"])
@pytest.mark.parametrize("clip_norm", [0.0, 0.05])
def test_an_epoch_is_adam_on_clipped_gradients_of_shuffled_batches(made, reduction, clip_norm):
    training = made(0, "reference", loss_reduction=reduction, clip_norm=clip_norm, precision="float64")
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
    assert training.sums["train"] == pytest.approx(total, rel=1e-9)
    for ours, theirs in zip(training.model.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("fold", [0, 1])
def test_replicas_are_folds_and_pairs(made, loaded, fold):
    one, other = (made(fold, model=model) for model in ("gso", "first-order"))
    for number, name in enumerate(("train", "valid", "test")):
        assert one.parts[name].tolist() == np.flatnonzero(loaded.extra["part"][fold] == number).tolist()
    assert all(np.array_equal(a.places, b.places) for a, b in zip(one.batches, other.batches, strict=True))


@pytest.mark.parametrize("after", [0, 3, -1])
def test_a_run_that_diverges_later_keeps_its_best_epoch_and_says_so(made, after):
    training = made(0, "reference")
    while training.epoch < 1 or training.next < after % len(training.batches):
        training.advance()
    with torch.no_grad():
        training.model.A[0, 0] = math.nan
    outcome = finish(training)
    metrics = values(outcome)
    assert metrics["train", "diverged_epoch"] == 2
    assert (metrics["train", "epochs"], metrics["valid", "best_epoch"]) == (1, 1)
    assert math.isfinite(metrics["test", "cross_entropy"])
    nats = torch.cat([nats for nats, _ in line_by_line(training, "test")])
    assert metrics["test", "cross_entropy"] == pytest.approx(nats.mean().item(), rel=1e-5)
    resumed = made(0, "reference")
    resumed.restore(decode(saved(training))["state"])
    assert finish(resumed) == outcome


def test_a_validation_loss_that_is_not_finite_is_divergence_too(made):
    training = made(0, "reference")
    while training.epoch < 1 or training.part != "valid":
        training.advance()
    with torch.no_grad():
        training.model.c.fill_(math.nan)
    assert values(finish(training))["train", "diverged_epoch"] == 2
    assert training.diverged["quantity"] == "validation loss"


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
