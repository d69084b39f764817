"""Stacks where they belong: as CUDA graphs, against the readable models. Skipped where no GPU is visible."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from line_epochs_helpers import config
from packed_helpers import FAMILIES
from packed_helpers import corpus as make_lines
from stacked_gpu_helpers import (
    GPU,
    needs_gpu,
    stacks_leave_the_records_of_solo_runs,
    the_same_bits_twice,
    trained_on_the_gpu,
)
from stacked_helpers import SENTENCES, WINDOWS, experiment, jobs_of, make_corpus
from stacked_lines_helpers import alone, evaluated, models_of, orders_of, stack_of
from subsequence_helpers import small

from reprise.engines.rntn import ReferenceEngine
from reprise.engines.rntn.subsequences import Subsequences
from reprise.kernels import stacked_batches
from reprise.kernels.stacked_subsequences import StackedSubsequences
from reprise.kernels.stacked_windows import StackedWindows
from reprise.models.gated import GRU, LSTM, initialise
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN

pytestmark = needs_gpu
BATCH_1 = {
    "rntn": [lambda: RNTN(1037, 30, 7), lambda: RNTN(1037, 30), lambda: RNTN(1037, 30, 1037, bias="shared")],
    "m-rnn": [lambda: MRNN(1037, 40, 29), lambda: MRNN(1037, 40, 29, h_0=1.0)],
}
GATED = {
    "r-gru": [lambda: GRU(137, 20, 33, 7), lambda: GRU(137, 20, 33, 5, "f_mod")],
    "lstm": [lambda: LSTM(137, 20, 33), lambda: LSTM(137, 20, 33)],
}


def text(count):
    random = np.random.default_rng(0)
    lengths = random.integers(1, 21, count)
    words = random.integers(0, 1037, (2, lengths.sum()), dtype=np.int32)
    return Subsequences(words[0], words[1], np.r_[0, np.cumsum(lengths)], random.random(count) < 0.4)


def subsequence_stack(models, capture):
    R = len(models)
    stack = StackedSubsequences(models, ["sum", "mean", "sum"][:R], [0.5] * R, 20, GPU, capture)
    stack.begin([0.3] * R, range(R))
    return stack


@pytest.mark.parametrize("capture", [True, False])
@pytest.mark.parametrize("name", BATCH_1)
def test_graphs_make_the_readable_models_steps(name, capture):
    models = [small(make(), seed) for seed, make in enumerate(BATCH_1[name])]
    stack, data = subsequence_stack(models, capture), text(200)
    stack.train(stack.text(data), 0, 200)
    stack.evaluate(stack.text(data), 0, 200)
    assert stack.programs.trouble == ""
    assert stack.programs.captured == (40 if capture else 0)
    stack.take_losses()
    for i, model in enumerate(models):
        exact = ReferenceEngine(copy.deepcopy(model).double().to(GPU))
        how = {"learning_rate": 0.3, "reduction": "mean" if i == 1 else "sum", "dropout": 0.5, "key": i}
        exact.train(data, **how)
        for parameter, value in stack.export(i).items():
            torch.testing.assert_close(value, exact.export()[parameter].cpu().float(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", GATED)
def test_graphs_of_windows_do_what_the_called_program_does_on_the_cpu(name):
    found = []
    for device in (torch.device("cpu"), GPU):
        models = [make() for make in GATED[name]]
        for seed, model in enumerate(models):
            initialise(model, 0.1, torch.Generator().manual_seed(seed))
        stack = StackedWindows(models, ["sum-steps"] * 2, [0.5] * 2, [5.0] * 2, 9, 4, device)
        x, y = (torch.randint(137, (95, 4), generator=torch.Generator().manual_seed(s)).int() for s in (1, 2))
        words = stack.text(x, y)
        stack.begin([0.1, 0.2], [(1, 2), (3, 4)])
        stack.reset(4)
        stack.train(words, 0, 95)
        stack.reset(1)
        stack.evaluate(stack.text(x[:, :1], y[:, :1]), 0, 95)
        found.append((stack.numbers(stack.take_losses()), [stack.export(i) for i in range(2)]))
    assert stack.programs.trouble == ""
    assert stack.programs.captured >= 2
    (losses, ours), (exact_losses, exact) = found
    assert losses == pytest.approx(exact_losses, rel=1e-5)
    for own, other in zip(ours, exact, strict=True):
        for parameter, value in own.items():
            torch.testing.assert_close(value, other[parameter], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("capture", [True, False])
@pytest.mark.parametrize("activation", ["tanh", "identity"])
@pytest.mark.parametrize("family", FAMILIES)
def test_graphs_of_lines_make_the_readable_models_steps(family, activation, capture, monkeypatch):
    monkeypatch.setattr(stacked_batches, "FEWEST", 2)
    models, orders = models_of(family, activation), orders_of(size=130)
    stack, text = stack_of(models, orders, device=GPU, capture=capture)
    stack.train(text, 0, len(text))
    losses = stack.batch_losses(0, len(text))
    stack.evaluate(text, 0, len(text))
    assert stack.programs.trouble == ""
    widths = {P for row in text.widths for P in row}
    assert len(widths) == 3
    # Of every width forward, back and evaluated; the batch's beginning, Adam, and the end of an evaluation.
    assert stack.programs.captured == (3 * len(widths) + 3 if capture else 0)
    for r, model in enumerate(models):
        exact, expected = alone(copy.deepcopy(model).double(), orders[r], r)
        assert losses[r][: len(expected)] == pytest.approx(expected, rel=1e-4)
        for name, value in exact.state_dict().items():
            torch.testing.assert_close(stack.export(r)[name], value.float(), rtol=1e-3, atol=1e-4)
        nats, _ = stack.evaluation(r, len(text.places(r)))
        should = evaluated(exact, orders[r])
        assert nats == pytest.approx([should[place][0] for place in text.places(r).tolist()], rel=1e-3)


def test_the_same_stack_of_lines_gives_the_same_bits():
    def trained():
        models, orders = models_of("gso", "tanh"), orders_of(size=130)
        stack, text = stack_of(models, orders, device=GPU)
        stack.train(text, 0, len(text))
        return stack

    the_same_bits_twice(trained)


def test_a_stack_of_lines_leaves_the_records_of_solo_runs(tmp_path):
    which = experiment("a", config(learning_rate=0.003), make_lines(tmp_path), replicas=2)
    stacks_leave_the_records_of_solo_runs([jobs_of([which], tmp_path)], tmp_path)


def test_the_same_stack_gives_the_same_bits():
    def trained():
        models = [small(make(), seed) for seed, make in enumerate(BATCH_1["rntn"])]
        stack, data = subsequence_stack(models, True), text(200)
        stack.train(stack.text(data), 0, 200)
        return stack

    the_same_bits_twice(trained)


def test_stacks_that_share_a_gpu_leave_the_records_of_solo_runs(tmp_path):
    corpus = make_corpus(tmp_path)
    groups = [
        jobs_of(
            [experiment("k3", SENTENCES, corpus, replicas=4), experiment("k9", SENTENCES, corpus, matrices=9)], tmp_path
        ),
        jobs_of([experiment("h9", SENTENCES, corpus, hidden_size=9)], tmp_path),
        jobs_of([experiment("gru", WINDOWS, corpus, replicas=2)], tmp_path),
    ]
    stacks_leave_the_records_of_solo_runs(groups, tmp_path, streams=3)


def test_a_stack_without_room_is_halved(tmp_path):
    corpus = make_corpus(tmp_path)
    jobs = jobs_of([experiment("k40", SENTENCES, corpus, replicas=2, matrices=40, max_epochs=1)], tmp_path)
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(0.0)
    try:
        runner, said = trained_on_the_gpu([jobs])
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert any("out of memory: two stacks of 1 and 1" in line for line in said)
    assert runner.failed == jobs
