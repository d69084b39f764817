"""Training on the last digit of palindromes: it learns, goes on from its state, and either engine does the same."""

from __future__ import annotations

import math

import pytest
import torch
from compiler_helpers import chosen_without_compiler, needs_compiler
from engine_helpers import same_bits
from protocol_helpers import finish, goes_on, replicas_differ_and_repeat, states_of

from reprise.records.resolved import Resolved
from reprise.training.loop import Job, run_job
from reprise.training.protocol import Diverged
from reprise.training.protocols.palindromes import FinalDigit

CPU = torch.device("cpu")


def config(model="elman", hidden=16, length=3, **training):
    options = {
        "steps": 41,
        "batch_size": 32,
        "optimiser": "adam",
        "learning_rate": 0.02,
        "clip_norm": 10.0,
        "log_every": 5,
    }
    return {
        "model": {"name": model, "options": {"hidden_size": hidden, "weight_law": "fan-in-truncated-normal"}},
        "data": {"dataset": "palindromes", "options": {"length": length}, "raw": {}},
        "training": {"protocol": "final-digit", "options": options | training},
        "precision": "float32",
    }


def made(seed, engine="auto", model="elman", **training):
    return FinalDigit(config(model, **training), seed, None, engine, CPU)


def longer(seed, engine, model="lstm"):
    """Of longer palindromes, whose gradients are clipped."""
    return made(seed, engine, model, hidden=20, length=6, steps=31, batch_size=24, clip_norm=1.0)


@pytest.mark.parametrize("model", ["elman", "lstm"])
def test_palindromes_of_three_digits_are_learned(model):
    outcome = finish(made(0, model=model, steps=301))
    values = {m["metric"]: m["value"] for m in outcome.metrics}
    assert values["reached_full_accuracy"] == 1
    assert values["last_ten_accuracy"] > 0.95
    accuracy = next(c for c in outcome.curves if c["metric"] == "accuracy")
    assert accuracy["x"] == list(range(0, 301, 5))
    first = accuracy["x"][accuracy["y"].index(1.0)]
    assert values["first_full_accuracy_step"] == first
    assert values["last_ten_accuracy"] == pytest.approx(sum(accuracy["y"][-10:]) / 10)


def test_longer_training_has_the_shorter_one_as_its_beginning():
    short = finish(made(1, steps=21))
    long = finish(made(1, steps=41))
    assert long.curves[0]["y"][:5] == short.curves[0]["y"]


@pytest.mark.parametrize("stop", [1, 7, 20])
def test_palindrome_training_goes_on_from_its_state(stop):
    whole = made(2)
    goes_on(made(2), states_of(whole)[stop][1], whole)


def test_replicas_differ_and_repeat():
    replicas_differ_and_repeat(made)


def test_an_existing_record_is_not_trained_again(tmp_path):
    resolved = Resolved("p", "e", "quick", "t", 1, config(steps=6), {}, None)
    job = Job(resolved, 0, tmp_path / "r.json", root=tmp_path)
    first = run_job(job)
    stamp = job.output.stat().st_mtime_ns
    assert run_job(job) == first
    assert job.output.stat().st_mtime_ns == stamp


@needs_compiler
@pytest.mark.parametrize(("model", "name"), [("elman", "W_hh"), ("lstm", "W_h")])
def test_nan_weights_make_a_nan_loss_and_training_says_so(model, name):
    training = longer(0, "fused", model)
    with torch.no_grad():
        getattr(training.model, name)[3, 4] = math.nan
    with pytest.raises(Diverged, match="training loss"):
        training.advance()
    assert all(p.grad.isnan().any() for p in training.model.parameters())


def test_without_a_compiler_auto_is_the_reference(fresh_build, monkeypatch, capsys):
    chosen = chosen_without_compiler(lambda name: longer(0, name), monkeypatch, capsys)
    assert chosen.engine == "reference"


@needs_compiler
@pytest.mark.parametrize("model", ["elman", "lstm"])
def test_the_fused_engine_goes_on_from_its_state_to_the_same_bits(model):
    whole, again = (longer(3, "fused", model) for _ in range(2))
    goes_on(again, states_of(whole)[13][1], whole)
    assert again.log == whole.log
    assert same_bits(whole.model.state_dict(), again.model.state_dict())


@needs_compiler
@pytest.mark.parametrize("model", ["elman", "lstm"])
def test_both_engines_train_alike(model):
    fused, reference = (longer(1, engine, model) for engine in ("fused", "reference"))
    for training in (fused, reference):
        finish(training)
    assert fused.log["cross_entropy"] == pytest.approx(reference.log["cross_entropy"], rel=1e-4)
    assert fused.log["accuracy"][0] == reference.log["accuracy"][0]
