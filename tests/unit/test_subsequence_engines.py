"""The fast batch-1 engines against the readable models in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler
from engine_helpers import export_and_load_are_exact_copies, same_bits
from subsequence_helpers import (
    ENGINES,
    LENGTHS,
    MODELS,
    pair,
    small,
    text,
    trained,
    worst_error,
)

from reprise.engines.rntn import FusedEngine, ReferenceEngine
from reprise.engines.rntn.subsequences import Subsequences
from reprise.models.rntn import RNTN


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("reduction", "dropout"), [("sum", 0.5), ("mean", 0.25)])
def test_gradients_are_those_of_the_readable_model_in_float64(engine, name, reduction, dropout):
    # One step a model, so large that the update buries the weights: what is left is the gradient's own error.
    # With a small step the rounding of the weights to float32 would be all that this measures.
    for length in sorted(set(LENGTHS)):
        model = small(MODELS[name](), seed=length)
        fast, reference = pair(engine, model)
        for e in (fast, reference):
            trained(e, text(model.vocabulary, [length]), 1e5, reduction, dropout)
        assert worst_error(fast, reference, model.state_dict()) < 2e-6, length


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("rate", "reduction", "dropout"), [(0.3, "sum", 0.5), (3.0, "mean", 0.25), (0.3, "sum", 0.0)])
def test_a_run_is_that_of_the_readable_model_in_float64(engine, name, rate, reduction, dropout):
    # Learning rates for which the update is as large as the weights: or their rounding would dominate.
    model = small(MODELS[name]())
    data = text(model.vocabulary)
    fast, reference = pair(engine, model)
    losses = [trained(e, data, rate, reduction, dropout) for e in (fast, reference)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    assert worst_error(fast, reference, model.state_dict()) < 1e-5
    torch.testing.assert_close(fast.hidden.double(), reference.hidden, rtol=1e-5, atol=1e-6)
    assert fast.evaluate(data) == pytest.approx(reference.evaluate(data), rel=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_longest_subsequence_and_random_sizes(engine):
    random = np.random.default_rng(3)
    for seed in range(6):
        V, H = int(random.integers(2, 300)), int(random.integers(1, 70))
        model = small(RNTN(V, H, int(random.integers(1, V + 1)), random.choice(["f", "f_mod"])), seed)
        data = text(V, [64, *random.integers(1, 65, 3)], seed)
        fast, reference = pair(engine, model)
        for e in (fast, reference):
            trained(e, data)
        assert worst_error(fast, reference, model.state_dict()) < 1e-5, (V, H)


def test_the_reference_takes_the_gradient_step_of_the_stated_loss():
    model = small(RNTN(12, 4, 3)).double()
    data = Subsequences(*np.array([[1, 5], [5, 2]], dtype=np.int32), np.array([0, 2]), np.array([True]))
    for reduction, share in (("sum", 1.0), ("mean", 0.5)):
        engine = ReferenceEngine(model)
        loss = engine.train(data, learning_rate=0.1, reduction=reduction, dropout=0.0, key=0)
        P = torch.log_softmax(model(torch.tensor([1, 5]), model.initial_state())[0], 1)
        expected = -(P[0, 5] + P[1, 2])
        assert loss == pytest.approx(expected.item())
        (gradient,) = torch.autograd.grad(expected * share, model.U_h)
        torch.testing.assert_close(engine.export()["U_h"], (model.U_h - 0.1 * gradient).detach())


@pytest.mark.parametrize("engine", [*ENGINES, ReferenceEngine])
@pytest.mark.parametrize("name", MODELS)
def test_export_and_load_are_exact(engine, name):
    model, other = small(MODELS[name]()), small(MODELS[name](), seed=1)
    fast = engine(model)
    export_and_load_are_exact_copies(fast, model, other, lambda: trained(fast, text(model.vocabulary)))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_state_of_another_model_is_refused(engine):
    with pytest.raises(ValueError, match="shapes"):
        engine(small(RNTN(20, 4, 3))).load(RNTN(20, 4, 2).state_dict())


@pytest.mark.parametrize("engine", [*ENGINES, ReferenceEngine])
@pytest.mark.parametrize("name", ["r-rntn", "several groups", "m-rnn"])
def test_several_calls_give_the_bits_of_one(engine, name):
    model = small(MODELS[name]())
    data = text(model.vocabulary)
    whole, pieces = engine(model), engine(model)
    trained(whole, data)
    trained(pieces, data.slice(0, 2))
    middle = engine(model)  # as after a restart: nothing but parameters and state is carried over
    middle.load(pieces.export())
    middle.hidden = pieces.hidden
    for a, b in ((2, 5), (5, 7)):
        middle.train(data.slice(a, b), learning_rate=0.3, reduction="sum", dropout=0.5, key=2**64 - 99)
    assert torch.equal(whole.hidden, middle.hidden)
    assert same_bits(whole.export(), middle.export())


@needs_compiler
def test_the_same_inputs_give_the_same_bits():
    model = small(MODELS["several groups"]())
    first, second = FusedEngine(model), FusedEngine(model)
    data = text(model.vocabulary)
    assert trained(first, data) == trained(second, data)
    assert same_bits(first.export(), second.export())


@pytest.mark.parametrize("engine", ENGINES)
def test_f_and_f_mod_agree_where_all_words_share_one_matrix(engine):
    states = []
    for mapping in ("f", "f_mod"):
        fast = engine(small(RNTN(45, 9, 1, mapping)))
        trained(fast, text(45))
        states.append(fast.export())
    assert same_bits(*states)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_diverged_run_says_so(engine):
    model = small(RNTN(40, 6, 2))
    with torch.no_grad():
        model.U_h[1, 2, 3] = float("nan")
    assert np.isnan(engine(model).evaluate(text(40)))


@needs_compiler
def test_large_logits_stay_finite():
    model = small(RNTN(900, 8, 2))
    with torch.no_grad():
        model.b_o += torch.linspace(-600, 600, 900)
    data = text(900)
    fast, reference = pair(FusedEngine, model)
    assert fast.evaluate(data) == pytest.approx(reference.evaluate(data), rel=1e-6)
    assert np.isfinite(trained(fast, data))
    assert all(value.isfinite().all() for value in fast.export().values())


@pytest.mark.parametrize("engine", [*ENGINES, ReferenceEngine])
def test_wrong_reduction_is_refused(engine):
    with pytest.raises(ValueError, match="reduction"):
        trained(engine(small(RNTN(20, 4))), text(20), reduction="max")


@needs_compiler
def test_words_outside_the_vocabulary_are_refused():
    with pytest.raises(ValueError, match="token ids"):
        FusedEngine(small(RNTN(20, 4))).evaluate(text(21, [64, 64]))
