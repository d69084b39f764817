"""The engines of log-linear RNNs against the readable model in float64."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from loglinear_helpers import KINDS, model, windows
from subsequence_helpers import needs_compiler

from reprise.engines import build, gemm
from reprise.engines.loglinear import native as loglinear_native
from reprise.engines.loglinear.choose import FusedEngine, HandEngine, ReferenceEngine, choose_window_engine
from reprise.errors import UserError

ENGINES = [pytest.param(FusedEngine, marks=needs_compiler), HandEngine]
EACH = pytest.mark.parametrize("engine", ENGINES)
KIND = pytest.mark.parametrize("kind", KINDS)
RATES = {"learning_rate": 0.002, "rho": 0.9, "epsilon": 1e-8}
# T and B: the paper's window, a last batch, one word, one stream, enough streams for oneDNN.
SHAPES = [(8, 32), (8, 5), (1, 9), (3, 1)]


class Recorder:
    """Stands in for RMSprop and keeps the gradients that it is given."""

    def __init__(self, parameters):
        self.gradients = {name: torch.zeros_like(value) for name, value in parameters.items()}

    def begin(self, *_):
        pass

    def dense(self, name, gradient):
        self.gradients[name] += gradient

    def product(self, name, d, h):
        self.gradients[name] += d.T @ h

    def rows(self, name, rows, gradient):
        assert len(rows.unique()) == len(rows)
        self.gradients[name].index_add_(0, rows, gradient)


def gradients(fast, x, y):
    fast.optimiser = Recorder(fast.p)
    return fast.train(x, y, **RATES), fast.optimiser.gradients


def exact(made, x, y, state=None):
    """Summed loss and gradients of the mean loss, by autograd in float64."""
    made = copy.deepcopy(made).double()
    a, _ = made.adaptors(x, state)
    log_p = made.log_p(a.flatten(0, 1) if y.dim() == 2 else a[-1])
    loss = -log_p.gather(1, y.reshape(-1, 1)).sum()
    names, parameters = zip(*made.named_parameters(), strict=True)
    found = torch.autograd.grad(loss / y.numel(), parameters)
    return loss.item(), dict(zip(names, found, strict=True))


def assert_gradients(fast, made, x, y, state=None):
    loss, found = gradients(fast, x, y)
    expected_loss, expected = exact(made, x, y, state)
    assert loss == pytest.approx(expected_loss, rel=1e-6)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert (found[name] - value).norm() < 1e-5 * value.norm() + 1e-12, name


@EACH
@KIND
@pytest.mark.parametrize("every", [False, True])
def test_gradients_are_those_of_the_readable_model_in_float64(engine, kind, every):
    for T, B in SHAPES:
        made = model(kind, seed=T)
        assert_gradients(engine(made), made, *windows(made, T, B, seed=B, every=every))


@EACH
@KIND
def test_random_sizes(engine, kind):
    random = np.random.default_rng(5)
    for seed in range(5):
        V, K, D, H, T, B = (int(random.integers(2, top)) for top in (300, 90, 50, 40, 9, 40))
        top, layers = int(random.integers(0, V + 1)), 1 + seed % 3
        made = model(kind, types=V, tags=K, top=top, source="train", sizes=(D, H), layers=layers, seed=seed)
        assert_gradients(engine(made), made, *windows(made, T, B, seed, every=seed % 2 == 1))


@EACH
@pytest.mark.parametrize("kind", ["ll-rnn", "rnn"])
def test_a_state_is_carried(engine, kind):
    made = model(kind)
    fast, reference = engine(made), ReferenceEngine(copy.deepcopy(made).double())
    for e in (fast, reference):
        e.reset(6)
    for seed in range(3):
        x, y = windows(made, 5, 6, seed, every=True)
        state = copy.deepcopy(reference.state)
        assert fast.evaluate(x, y) == pytest.approx(reference.evaluate(x, y), rel=1e-6)
        if seed == 2:
            fast.state = tuple((h.float(), c.float()) for h, c in state)
            assert_gradients(fast, made, x, y, state)
    for ours, theirs in zip(fast.state, reference.state, strict=True):
        torch.testing.assert_close(torch.stack(ours).double(), torch.stack(theirs), rtol=1e-5, atol=1e-6)


@EACH
@KIND
@pytest.mark.parametrize("inside", [0.0, 1e-6], ids=["epsilon beside", "epsilon inside"])
def test_a_run_is_that_of_the_readable_model_in_float64(engine, kind, inside):
    made, rates = model(kind), RATES | ({"epsilon": 0.0, "inside": inside} if inside else {})
    fast, reference = engine(made), ReferenceEngine(copy.deepcopy(made).double())
    for seed, B in enumerate((32, 32, 9, 32, 32)):
        x, y = windows(made, 8, B, seed)
        losses = [e.train(x, y, **rates) for e in (fast, reference)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    start, ours, theirs = made.state_dict(), fast.export(), reference.export()
    for name, value in theirs.items():
        # RMSprop's first steps are the signs of the gradients: where one is nearly 0 its rounding decides.
        assert (ours[name] - value).norm() < 2e-3 * (value - start[name]).norm(), name
    x, y = windows(made, 8, 50, 9)
    assert fast.evaluate(x, y) == pytest.approx(reference.evaluate(x, y), rel=1e-5)


@EACH
@pytest.mark.parametrize("inside", [0.0, 0.04])
def test_an_epsilon_inside_the_root_is_added_to_the_mean_square(engine, inside):
    """One step from a = 0: p - rate g / sqrt(0.1 g^2 + inside), of a bias whose gradient is known."""
    made = model("ll-rnn")
    x, y = windows(made, 8, 32, 1)
    _, expected = exact(made, x, y)
    fast, before = engine(made), made.state_dict()["b_a"].double()
    fast.train(x, y, learning_rate=0.5, rho=0.9, epsilon=0.0 if inside else 1e-8, inside=inside)
    g = expected["b_a"]
    step = 0.5 * g / ((0.1 * g**2 + inside).sqrt() + (0.0 if inside else 1e-8))
    large = g.abs() > 1e-5
    torch.testing.assert_close((before - fast.export()["b_a"])[large], step[large], rtol=2e-3, atol=1e-6)


@EACH
@KIND
def test_log_probabilities_are_exact_over_the_whole_vocabulary(engine, kind):
    made = model(kind)
    x, y = windows(made, 8, 40)
    log_p = engine(made).log_probabilities(x)
    expected = copy.deepcopy(made).double()(x)
    torch.testing.assert_close(log_p.double(), expected, rtol=0, atol=3e-6)
    loss = engine(made).evaluate(x, y) / len(y)
    assert loss == pytest.approx(-expected.gather(1, y[:, None]).mean().item(), abs=1e-6)


@EACH
@KIND
def test_what_was_exported_goes_on_to_the_same_bits(engine, kind):
    made = model(kind)
    whole, again = engine(made), engine(made)
    again.train(*windows(made, 8, 32, 7), **RATES)
    for seed in range(3):
        whole.train(*windows(made, 8, 32, seed), **RATES)
    state = whole.export()
    again.load(state)
    again.restore_optimiser(whole.optimiser_state())
    for seed in range(3, 6):
        for e in (whole, again):
            e.train(*windows(made, 8, 32, seed), **RATES)
    assert list(state) == list(made.state_dict())
    assert all(torch.equal(value, again.export()[name]) for name, value in whole.export().items())
    assert any(not torch.equal(value, state[name]) for name, value in whole.export().items()), "export is a copy"


def test_a_state_of_another_model_is_refused():
    with pytest.raises(ValueError, match="shapes"):
        HandEngine(model()).load(model(top=3).state_dict())


@EACH
def test_a_loss_beyond_the_smallest_float_is_told_exactly(engine):
    for kind in ("rnn", "ll-rnn"):
        made = model(kind)
        with torch.no_grad():
            made.b_a[3] = 300.0
        x, y = windows(made, 8, 12)
        expected, _ = exact(made, x, y)
        assert engine(made).evaluate(x, y) == pytest.approx(expected, rel=1e-6)
        assert expected > 1000


def test_engines_are_chosen_by_name_and_precision(monkeypatch, capsys):
    made = model()
    for name, kind in (("reference", ReferenceEngine), ("hand", HandEngine)):
        assert type(choose_window_engine(name, made)) is kind
    assert choose_window_engine("auto", copy.deepcopy(made).double()).name == "hand"
    with pytest.raises(UserError, match="float32"):
        choose_window_engine("fused", copy.deepcopy(made).double())
    with pytest.raises(UserError, match="grouped"):
        choose_window_engine("grouped", made)
    other = copy.deepcopy(made)
    other.__class__ = type("Other", (type(made),), {})  # with equations of its own, for all that the engines know
    assert choose_window_engine("auto", other).name == "reference"
    with pytest.raises(UserError, match="hand knows LogLinearRNN, not Other"):
        choose_window_engine("hand", other)

    def missing(name):
        raise build.NoCompiler("no C++ compiler (c++) on the path")

    monkeypatch.setattr(build, "library", missing)
    monkeypatch.setattr(loglinear_native, "_library", loglinear_native._library.__wrapped__)
    assert choose_window_engine("auto", made).name == "hand"
    assert "no C++ compiler" in capsys.readouterr().err
    with pytest.raises(UserError, match="install a C"):
        choose_window_engine("fused", made)


def test_without_onednn_torch_multiplies(monkeypatch):
    made = model()
    x, y = windows(made, 8, 32)
    gemm._onednn_works.cache_clear()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(gemm, "_onednn", lambda *_: (_ for _ in ()).throw(AttributeError("no such operation")))
            assert_gradients(HandEngine(made), made, x, y)
    finally:
        gemm._onednn_works.cache_clear()
