"""Stacks of log-linear RNNs as CUDA graphs, against the readable models. Skipped where no GPU is visible.

Beside `test_stacked_on_gpu.py`, which has what all stacks share.
"""

from __future__ import annotations

import pytest
from loglinear_helpers import config, make_corpus
from stacked_gpu_helpers import GPU, needs_gpu, stacks_leave_the_records_of_solo_runs, the_same_bits_twice
from stacked_helpers import distance, experiment, jobs_of
from stacked_loglinear_helpers import (
    BATCH,
    EVERY,
    alone,
    batches_of,
    models_of,
    stack_of,
    streams_of,
    windows_of,
)

pytestmark = needs_gpu
ROUNDS = 3
"""Every shape of a piece comes up so often: called, captured and replayed."""


@pytest.mark.parametrize("capture", [True, False])
@pytest.mark.parametrize("carried", [False, True])
@EVERY
def test_graphs_make_the_readable_models_steps(name, carried, capture):
    models, text = models_of(name), streams_of() if carried else windows_of(count=25)
    stack, losses = stack_of(models, text, carried, GPU, capture), []
    for run in [stack.train] * ROUNDS + [stack.evaluate] * ROUNDS:
        stack.enter(text)
        run(text, 0, len(text))
        losses.append(stack.batch_losses(0, len(text)))
    assert stack.programs.trouble == ""
    # Pieces of two shapes, each trained on and evaluated.
    assert stack.programs.captured == (4 if capture else 0)
    assert losses[-1] == losses[-2]
    for r, made in enumerate(models):
        exact, expected = alone(made.double(), text, r, carried, rounds=ROUNDS)
        assert sum((own[r] for own in losses[:ROUNDS]), []) == pytest.approx(expected, rel=1e-4)
        assert distance(stack.export(r), exact.export()) < 1e-3
        if carried:
            exact.reset(BATCH)
        evaluated = [exact.evaluate(x, y) for x, y in batches_of(text, r, carried)]
        assert losses[-1][r] == pytest.approx(evaluated, rel=1e-3)


@EVERY
def test_the_same_stack_gives_the_same_bits(name):
    def trained():
        text = windows_of()
        stack = stack_of(models_of(name), text, device=GPU)
        stack.train(text, 0, len(text))
        return stack

    the_same_bits_twice(trained)


@pytest.mark.parametrize("kind", ["ll-rnn", "rnn"])
def test_a_stack_leaves_the_records_of_solo_runs(kind, tmp_path):
    which = experiment("a", config(kind), make_corpus(tmp_path), replicas=2)
    stacks_leave_the_records_of_solo_runs([jobs_of([which], tmp_path)], tmp_path)
