"""Training by epochs over lines: what it computes, and on which lines."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler
from line_epochs_helpers import CPU, MODEL_OPTIONS, config, lines_of, losses_line_by_line
from packed_helpers import corpus as make_corpus
from protocol_helpers import finish, options_are_known, values
from torch.nn import functional

from reprise.data.corpus import Corpus
from reprise.errors import UserError
from reprise.training.protocols.gso import LineEpochs


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
