"""The recall task: its texts, its training and its records, and networks that are not trained."""

from __future__ import annotations

import math

import pytest
import torch
from protocol_helpers import finish, goes_on, options_are_known, replicas_differ_and_repeat, saved, states_of

from reprise.catalogue.datasets import PREPARATIONS
from reprise.data.synthetic.names import Names
from reprise.data.synthetic.phrases import FILLERS, FIXED
from reprise.errors import UserError
from reprise.options import check_options
from reprise.records.resolved import Resolved
from reprise.training.checkpoint import decode
from reprise.training.loop import Job, run_job
from reprise.training.protocol import Diverged, generator_for
from reprise.training.protocols.recall import RandomJacobians, Recall

CPU = torch.device("cpu")
LAWS = {"recurrent_law": "gaussian", "recurrent_scale": 1.0, "input_std": 1.0}


def test_the_texts_are_those_of_the_notes():
    names = Names(5)
    x, y = names.draw(17, 64, torch.Generator().manual_seed(0))
    texts = [" ".join(names.vocabulary[word] for word in text) for text in x.T]
    for text, answer in zip(texts, y.tolist(), strict=True):
        first, second = text.split()[0], f"name-{answer}"
        assert text.startswith(f"{first} walked into the room . {second} walked in too . ")
        assert text.endswith(f" {first} said hi to")
        assert first != second
    assert x.shape == (32, 64)
    assert len(x) - 1 - texts[0].split().index(f"name-{y[0]}") == FIXED + 17
    assert set(y.tolist()) == set(range(5))
    assert names.draw(0, 1, torch.Generator())[0].shape == (15, 1)
    with pytest.raises(ValueError, match="two names are needed"):
        Names(1)


def config(name="notes-rnn", steps=60, filler=4, protocol="recall", **model):
    options = {"hidden_size": 12, **LAWS}
    options |= {"activation": "tanh"} if name == "notes-rnn" else {}
    training = {
        "steps": steps,
        "batch_size": 20,
        "text_lengths": "half-without",
        "optimiser": "adam",
        "learning_rate": 0.003,
        "clip_norm": 1.0,
    }
    return {
        "model": {"name": name, "options": options | model},
        "data": {"dataset": "names", "options": {"names": 4, "filler": filler}},
        "training": {"protocol": protocol, "options": (training | {"log_every": 20}) if protocol == "recall" else {}},
        "precision": "float32",
    }


def recall(seed=0, **options):
    return Recall(config(**options), seed, None, "auto", CPU)


@pytest.mark.slow
def test_a_gru_learns_the_task_and_the_record_says_how_far():
    found = finish(recall(name="notes-gru", steps=500))
    values = {(m["split"], m["metric"]): m["value"] for m in found.metrics}
    accuracies = [values["test", f"accuracy_at_{FIXED + filler}"] for filler in FILLERS if filler <= 4]
    assert min(accuracies) > 0.6  # by chance 1 in 3
    assert values["test", f"probability_at_{FIXED}"] == pytest.approx(accuracies[0], abs=0.2)
    assert {("start", f"log10_jacobian_at_{FIXED}"), ("end", f"log10_jacobian_at_{FIXED + 4}")} <= values.keys()
    curves = {(c["split"], c["metric"]): c for c in found.curves}
    assert curves["train", "nats_at_blank"]["x"] == list(range(0, 500, 20))
    assert curves["test", "accuracy"]["x"] == [8, 9, 10, 12]
    assert curves["start", "jacobian_norm"]["x"] == list(range(1, 20))
    assert ("start", "jacobian_bound") not in curves


def test_the_loss_is_of_the_name_at_the_blank(monkeypatch):
    training = recall()
    training.advance()
    generator = generator_for(0, "data")
    length = int(torch.randint(2, (), generator=generator) * torch.randint(1, 5, (), generator=generator))
    x, y = training.names.draw(length, 20, generator)
    expected = torch.nn.functional.cross_entropy(recall().model(x), y).item()
    assert training.log["nats_at_blank"][0] == pytest.approx(expected)


@pytest.mark.parametrize(("text_lengths", "share"), [("half-without", 1 / 2), ("alike", 1 / 7)])
def test_how_many_batches_have_no_filler(monkeypatch, text_lengths, share):
    training, lengths = recall(steps=400, filler=6), []
    training.options["text_lengths"] = text_lengths
    draw = training.names.draw
    monkeypatch.setattr(training.names, "draw", lambda n, *more: (lengths.append(n), draw(n, *more))[1])
    finish(training)
    trained = lengths[1:401]  # the first draw is that of the probe
    assert trained.count(0) / 400 == pytest.approx(share, abs=0.08)
    assert set(trained) == set(range(7))


@pytest.mark.parametrize("name", ["notes-rnn", "notes-lstm"])
def test_it_goes_on_from_its_state_to_the_same_bits(name):
    whole = recall(name=name)
    states = states_of(whole)[:-1]
    for _, state in (states[0], states[1], states[-1]):
        goes_on(recall(name=name), state, whole)


def test_replicas_differ_and_repeat():
    replicas_differ_and_repeat(recall)


def test_a_network_that_is_not_trained(tmp_path):
    resolved = Resolved("p", "e", "quick", "t", 1, config(protocol="random-jacobians"), {}, None)
    record = run_job(Job(resolved, 0, tmp_path / "r.json", root=tmp_path))
    start = [c for c in finish(recall()).curves if c["split"] == "start"]
    assert record["curves"] == start
    assert {m["metric"] for m in record["metrics"]} >= {"log10_jacobian_at_8", "log10_above_bound"}
    fresh = RandomJacobians(resolved.config, 0, None, "auto", CPU)
    fresh.restore(decode(saved(fresh))["state"])
    assert finish(fresh).curves == start


def test_divergence_and_wrong_input_are_told(tmp_path):
    training = recall()
    with torch.no_grad():
        training.model.W_S.fill_(math.inf)
    with pytest.raises(Diverged, match="training loss"):
        finish(training)
    with pytest.raises(UserError, match="engine: fused is none of auto, reference; name one of these with --engine"):
        Recall(config(), 0, None, "fused", CPU)


def test_the_registry_knows_the_options_of_these_configurations():
    for name in ("notes-rnn", "notes-gru", "notes-lstm"):
        made = config(name)
        options_are_known(made)
    assert check_options(made["data"]["options"], PREPARATIONS["names"].options, "f", "d")
