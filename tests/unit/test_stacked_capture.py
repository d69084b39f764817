"""Programs of all stacks as a CUDA graph would repeat them: on a tape, which sees nothing of Python any more.

What a replay must not do (wait for the device, read what Python has replaced, use a number of the capture) is found
here without a GPU; see `stacked_capture_helpers`.
"""

from __future__ import annotations

import line_epochs_helpers
import loglinear_helpers
import packed_helpers
import pytest
import stacked_palindromes_helpers
import windows_helpers
from stacked_capture_helpers import TapedPrograms
from stacked_helpers import SENTENCES, WINDOWS, experiment, jobs_of, make_corpus, never, runner_of
from stacked_loglinear_training_helpers import LL, RNN, STREAMS

from reprise.kernels import stacked, stacked_batches, stacked_windows
from reprise.records.record import read_record
from reprise.training import stack_books, stack_palindromes, stack_window_epochs


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Several pieces of work, widths and rounds in so small texts."""
    monkeypatch.setattr(stacked_batches, "FEWEST", 2)
    monkeypatch.setattr(stacked_windows, "EVALUATED", 16)
    monkeypatch.setattr(stack_window_epochs, "_PIECE", 2)
    monkeypatch.setattr(stack_books, "ROUND", 5)
    monkeypatch.setattr(stack_books, "_SPAN", 2)
    monkeypatch.setattr(stack_palindromes, "ROUND", 16)
    monkeypatch.setattr(TapedPrograms, "made", [])
    monkeypatch.setattr(TapedPrograms, "replayed", 0)


def sentences(folder):
    """Replicas that stop, halve their rates and go back at different times."""
    path = make_corpus(folder)
    how = {"subsequence_length": 5, "max_epochs": 3}
    return [
        experiment("k3", SENTENCES, path, **how),
        experiment("rnnlm", SENTENCES, path, **how, schedule="rnnlm", halving_ratio=1.5, h_0=1.0, mapping="f_mod"),
        experiment("short", SENTENCES, path, **how | {"max_epochs": 1}, dropout=0.0, bias="shared"),
        experiment("mean", SENTENCES, path, **how | {"max_epochs": 1}, matrices=9, loss_reduction="mean"),
    ]


def gated(folder, model="gru-lm", **sizes):
    path, base = make_corpus(folder), {**WINDOWS, "model": {**WINDOWS["model"], "name": model}}
    return [
        experiment("a", base, path, **sizes),
        experiment("rnnlm", base, path, schedule="rnnlm", halving_ratio=1.5, max_epochs=4, **sizes),
        experiment("clipped", base, path, loss_reduction="mean-steps", max_epochs=3, clip_norm=0.05, **sizes),
    ]


def of_lines(folder, model="gso", sizes=None):
    path, base = packed_helpers.corpus(folder, 90), line_epochs_helpers.config(model, sizes, learning_rate=0.003)
    return [
        experiment("two", base, path, replicas=2),
        experiment("clipped", base, path, clip_norm=0.05, loss_reduction="mean-lines", max_epochs=1),
    ]


def loglinear(folder, base):
    path = loglinear_helpers.make_corpus(folder, sentences=60)
    return [
        experiment("two", base, path, replicas=2, max_epochs=3),
        experiment("few", base, path, top_types=3, background="none", max_epochs=1),
        experiment("means", base, path, rho=0.95, max_epochs=1),
    ]


def palindromes(folder, model):
    base = stacked_palindromes_helpers.config(model)
    return [
        experiment("two", base, None, replicas=2),
        experiment("clipped", base, None, clip_norm=0.05, log_every=3),
        experiment("long", base, None, steps=43, learning_rate=0.002),
    ]


def books(folder, activation):
    base = windows_helpers.config(
        {"activation": activation}, batch_size=3, length=6, steps=21, sample_length=5, final_length=6, sample_every=20
    )
    path = windows_helpers.make_corpus(folder)
    return [
        experiment("two", base, path, replicas=2),
        experiment("carried", base, path, window_state="carried", mean_square_start="zero", log_every=3),
        experiment("long", base, path, steps=28, clip_norm=0.1),
    ]


TRAININGS = {
    "r-rntn": sentences,
    "r-gru": gated,
    "gru": lambda folder: gated(folder, matrices=1),
    "r-lstm": lambda folder: gated(folder, "lstm-lm"),
    "lstm": lambda folder: gated(folder, "lstm-lm", matrices=1),
    "gso": of_lines,
    "first-order": lambda folder: of_lines(folder, "first-order"),
    "ll-rnn": lambda folder: loglinear(folder, LL),
    "ll-rnn on streams": lambda folder: loglinear(folder, STREAMS),
    "softmax rnn": lambda folder: loglinear(folder, RNN),
    "elman": lambda folder: palindromes(folder, "elman"),
    "palindromes": lambda folder: palindromes(folder, "lstm"),
    "book, relu": lambda folder: books(folder, "relu"),
    "book, tanh": lambda folder: books(folder, "tanh"),
}


def trained(experiments, folder, checked=False):
    """What the replicas' records say of their training as a stack."""
    jobs, said = jobs_of(experiments, folder), []
    runner = runner_of([jobs], said, checked=checked)
    runner.run(never)
    assert (runner.failed, runner.unfinished) == ([], []), said
    assert not any("without graphs" in line for line in said)
    records = [read_record(job.output, job.resolved) for job in jobs]
    return [{key: value for key, value in record.items() if key != "run"} for record in records]


@pytest.mark.parametrize("name", TRAININGS)
def test_a_training_of_replays_leaves_the_same_bits(name, tmp_path, monkeypatch):
    experiments = TRAININGS[name](tmp_path)
    called = trained(experiments, tmp_path / "called")
    monkeypatch.setattr(stacked, "Programs", TapedPrograms)
    assert trained(experiments, tmp_path / "replayed", checked=True) == called
    assert TapedPrograms.replayed > 2 * len(TapedPrograms.made) > 0
