"""The batch-1 engines against the readable models in float64, and how text is cut into subsequences."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler
from engine_helpers import export_and_load_are_exact_copies, same_bits, worst_error
from torch.nn import functional

from reprise.engines.rntn.native import FusedEngine
from reprise.engines.rntn.reference import ReferenceEngine, RowsInUse
from reprise.engines.rntn.subsequences import Subsequences, cut
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN, initialise

LENGTHS = [20, 20, 7, 13, 20, 1, 2]
# Sizes on both sides of whole vectors (4, 8, 16) and tiles (8, 16, 32); V > 800 at H = 100: several groups.
MODELS = {
    "s-rnn": lambda: RNTN(130, 16),
    "r-rntn": lambda: RNTN(137, 30, 7),
    "f_mod": lambda: RNTN(64, 31, 5, "f_mod"),
    "rntn": lambda: RNTN(50, 33, 50),
    "shared bias": lambda: RNTN(129, 17, 9, bias="shared"),
    "h_0 = 1": lambda: RNTN(40, 15, 3, h_0=1.0),
    "two words": lambda: RNTN(2, 1, 2),
    "several groups": lambda: RNTN(2051, 100, 40),
    "wide": lambda: RNTN(70, 300, 4),
    "m-rnn": lambda: MRNN(103, 40, 29),
    "m-rnn of one factor": lambda: MRNN(33, 5, 1),
}
BOTH = pytest.mark.parametrize("engine", [pytest.param(FusedEngine, marks=needs_compiler), ReferenceEngine])


def small(model, seed=0):
    """Weights under which neither the states saturate nor the recurrence amplifies rounding errors."""
    std = min(0.8, 2 / model.factors**0.5) if isinstance(model, MRNN) else min(0.3, 5 / model.hidden)
    initialise(model, std, torch.Generator().manual_seed(seed))
    return model


def text(vocabulary, lengths=LENGTHS, seed=0):
    random = np.random.default_rng(seed)
    words = random.integers(0, vocabulary, (2, sum(lengths)), dtype=np.int32)
    reset = random.random(len(lengths)) < 0.4
    return Subsequences(words[0], words[1], np.r_[0, np.cumsum(lengths)], reset, first_token=1000)


def trained(engine, data, rate=0.3, reduction="sum", dropout=0.5):
    """The engine's loss over `data`, from a state that is not h_0."""
    engine.hidden = torch.linspace(0, 1, len(engine.hidden))
    return engine.train(data, learning_rate=rate, reduction=reduction, dropout=dropout, key=2**64 - 99)


def pair(engine, model):
    """An engine and the readable model in float64, with the same parameters."""
    return engine(model), ReferenceEngine(copy.deepcopy(model).double())


@needs_compiler
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("reduction", "dropout"), [("sum", 0.5), ("mean", 0.25)])
def test_gradients_are_those_of_the_readable_model_in_float64(name, reduction, dropout):
    # One step a model, so large that the update buries the weights: what is left is the gradient's own error.
    # With a small step the rounding of the weights to float32 would be all that this measures.
    for length in sorted(set(LENGTHS)):
        model = small(MODELS[name](), seed=length)
        fast, reference = pair(FusedEngine, model)
        for e in (fast, reference):
            trained(e, text(model.vocabulary, [length]), 1e5, reduction, dropout)
        assert worst_error(fast, reference, model.state_dict()) < 2e-6, length


@needs_compiler
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("rate", "reduction", "dropout"), [(0.3, "sum", 0.5), (3.0, "mean", 0.0)])
def test_a_run_is_that_of_the_readable_model_in_float64(name, rate, reduction, dropout):
    # Learning rates for which the update is as large as the weights: or their rounding would dominate.
    model = small(MODELS[name]())
    data = text(model.vocabulary, [64, *LENGTHS])
    fast, reference = pair(FusedEngine, model)
    losses = [trained(e, data, rate, reduction, dropout) for e in (fast, reference)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    assert worst_error(fast, reference, model.state_dict()) < 1e-5
    torch.testing.assert_close(fast.hidden.double(), reference.hidden, rtol=1e-5, atol=2e-5)
    assert fast.evaluate(data) == pytest.approx(reference.evaluate(data), rel=1e-6)


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


@BOTH
@pytest.mark.parametrize("name", MODELS)
def test_export_and_load_are_exact(engine, name):
    model, other = small(MODELS[name]()), small(MODELS[name](), seed=1)
    fast = engine(model)
    export_and_load_are_exact_copies(fast, model, other, lambda: trained(fast, text(model.vocabulary)))


@BOTH
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
def test_a_diverged_run_says_so_and_what_does_not_fit_is_refused():
    model = small(RNTN(40, 6, 2))
    with torch.no_grad():
        model.U_h[1, 2, 3] = float("nan")
    engine = FusedEngine(model)
    assert np.isnan(engine.evaluate(text(40)))
    with pytest.raises(ValueError, match="shapes"):
        engine.load(RNTN(40, 6, 3).state_dict())
    with pytest.raises(ValueError, match="token ids"):
        engine.evaluate(text(41, [64, 64]))
    for either in (engine, ReferenceEngine(model)):
        with pytest.raises(ValueError, match="reduction"):
            trained(either, text(40), reduction="max")


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


@pytest.mark.parametrize("name", ["s-rnn", "r-rntn", "rntn", "shared bias", "m-rnn"])
def test_a_step_by_the_rows_in_use_has_the_bits_of_one_by_whole_tables(name):
    model = small(MODELS[name]())
    other = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(3)
    for _ in range(3):
        x, y = (torch.randint(0, min(9, model.vocabulary), (20,), generator=generator) for _ in range(2))
        with RowsInUse(model) as rows:
            logits, _ = model(x, model.initial_state())
        rows.descend(functional.cross_entropy(logits, y, reduction="sum"), 0.3)
        assert model.W_h.shape in {table.shape for table, _, _ in rows.taken}
        logits, _ = other(x, other.initial_state())
        parameters = list(other.parameters())
        gradients = torch.autograd.grad(functional.cross_entropy(logits, y, reduction="sum"), parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(gradient, alpha=0.3)
        assert same_bits(model.state_dict(), other.state_dict())


def sentences(*lengths):
    return SimpleNamespace(
        tokens=np.arange(10, 10 + sum(lengths), dtype=np.int32), offsets=np.r_[0, np.cumsum(lengths)]
    )


def test_sentences_are_cut_from_their_start():
    data = cut(sentences(5, 1, 0, 3, 2), start=9, length=3)
    assert data.offsets.tolist() == [0, 3, 5, 6, 9, 11]
    assert data.reset.tolist() == [True, False, True, True, True]
    assert data.targets.tolist() == list(range(10, 21))
    assert data.inputs.tolist() == [9, 10, 11, 12, 13, 9, 9, 16, 17, 9, 19]
    assert data.tokens == 11


def test_running_text_is_reset_once():
    data = cut(sentences(5, 2), start=9, length=3, carry=True)
    assert data.offsets.tolist() == [0, 3, 6, 7]
    assert data.reset.tolist() == [True, False, False]
    assert data.inputs.tolist() == [9, 10, 11, 12, 13, 14, 15]
    bare = cut(sentences(5, 2), start=None, length=3, carry=True)
    assert (bare.inputs.tolist(), bare.targets.tolist()) == (list(range(10, 16)), list(range(11, 17)))
    assert bare.offsets.tolist() == [0, 3, 6]
    with pytest.raises(ValueError, match="start"):
        cut(sentences(5), start=None)


def test_a_slice_knows_its_place_in_the_epoch():
    data = cut(sentences(5, 4), start=9, length=3)
    part = data.slice(1, 3).slice(1, 2)
    assert (part.first_token, part.inputs.tolist(), part.reset.tolist()) == (5, [9, 15, 16], [True])
    assert part.offsets.tolist() == [0, 3]


@pytest.mark.parametrize("offsets", [[0, 65], [0, 2, 2, 65], [0, 3], [1, 65]])
def test_subsequences_that_no_engine_can_read_are_refused(offsets):
    words = np.zeros(65, dtype=np.int32)
    with pytest.raises(ValueError, match="subsequence|offsets"):
        Subsequences(words, words, np.array(offsets), np.ones(len(offsets) - 1, dtype=bool))
