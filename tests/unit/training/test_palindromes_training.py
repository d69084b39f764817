"""Training on the last digit of palindromes: it learns, and says when."""

from __future__ import annotations

import pytest
from compiler_helpers import chosen_without_compiler
from protocol_helpers import curves, finish, values

from reprise.training.loop import Job, run_job

OPTIONS = {"length": 3, "hidden_size": 16, "steps": 301, "batch_size": 32, "learning_rate": 0.02, "log_every": 5}


@pytest.mark.parametrize("model", ["elman", "lstm"])
def test_palindromes_of_three_digits_are_learned(small, model):
    outcome = finish(small("final-digit", model=model, **OPTIONS | {"clip_norm": 10.0}))
    found, accuracy = values(outcome), curves(outcome)["train", "accuracy"]
    assert found["train", "reached_full_accuracy"] == found["train", "best_accuracy"] == 1
    assert found["train", "last_ten_accuracy"] > 0.95
    assert list(accuracy) == list(range(0, 301, 5))
    assert found["train", "first_full_accuracy_step"] == next(step for step, share in accuracy.items() if share == 1)
    assert found["train", "last_ten_accuracy"] == pytest.approx(sum(list(accuracy.values())[-10:]) / 10)


def test_longer_training_has_the_shorter_one_as_its_beginning(small):
    short, long = (finish(small("final-digit", 1, steps=steps)) for steps in (21, 41))
    assert long.curves[0]["y"][: len(short.curves[0]["y"])] == short.curves[0]["y"]


def test_an_existing_record_is_not_trained_again(small, tmp_path):
    job = Job(small.resolved("final-digit"), 0, tmp_path / "r.json", root=tmp_path)
    first = run_job(job)
    stamp = job.output.stat().st_mtime_ns
    assert run_job(job) == first
    assert job.output.stat().st_mtime_ns == stamp


def test_without_a_compiler_auto_is_the_reference(small, fresh_build, monkeypatch, capsys):
    chosen = chosen_without_compiler(lambda name: small("final-digit", engine=name), monkeypatch, capsys)
    assert chosen.engine == "reference"
