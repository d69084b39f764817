"""The engine of log-linear RNNs against the readable model in float64, and its parts: classes, products, RMSprop."""

from __future__ import annotations

import copy

import pytest
import torch
from compiler_helpers import needs_compiler
from loglinear_helpers import KINDS, model, windows

from reprise.engines.loglinear.classes import Classes
from reprise.engines.loglinear.native import FusedEngine, RMSprop, linear
from reprise.engines.loglinear.reference import ReferenceEngine

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


@needs_compiler
@KIND
@pytest.mark.parametrize("every", [False, True])
def test_gradients_are_those_of_the_readable_model_in_float64(kind, every):
    for T, B in SHAPES:
        made = model(kind, seed=T)
        assert_gradients(FusedEngine(made), made, *windows(made, T, B, seed=B, every=every))


@needs_compiler
@pytest.mark.parametrize("kind", ["ll-rnn", "rnn"])
def test_a_state_is_carried(kind):
    made = model(kind)
    fast, reference = FusedEngine(made), ReferenceEngine(copy.deepcopy(made).double())
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


@needs_compiler
@KIND
@pytest.mark.parametrize("inside", [0.0, 1e-6], ids=["epsilon beside", "epsilon inside"])
def test_a_run_is_that_of_the_readable_model_in_float64(kind, inside):
    made, rates = model(kind), RATES | ({"epsilon": 0.0, "inside": inside} if inside else {})
    fast, reference = FusedEngine(made), ReferenceEngine(copy.deepcopy(made).double())
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


@needs_compiler
@KIND
def test_log_probabilities_are_exact_over_the_whole_vocabulary(kind):
    made = model(kind)
    x, y = windows(made, 8, 40)
    log_p = FusedEngine(made).log_probabilities(x)
    expected = copy.deepcopy(made).double()(x)
    torch.testing.assert_close(log_p.double(), expected, rtol=0, atol=3e-6)
    loss = FusedEngine(made).evaluate(x, y) / len(y)
    assert loss == pytest.approx(-expected.gather(1, y[:, None]).mean().item(), abs=1e-6)


@needs_compiler
@KIND
def test_what_was_exported_goes_on_to_the_same_bits(kind):
    made = model(kind)
    whole, again = FusedEngine(made), FusedEngine(made)
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


def test_classes_hold_the_types_with_the_same_features():
    made = model()
    classes = Classes.of(made.features, made.E)
    rows = [tuple(made.features.matrix.row(i)) for i in range(made.V)]
    for i in range(made.V):
        for j in range(made.V):
            assert (rows[i] == rows[j]) == bool(classes.of_type[i] == classes.of_type[j])
    assert classes.of_type[:20].tolist() == list(range(20))
    mass = classes.log_mass(made.log_b).exp()
    assert mass.sum().item() == pytest.approx(1)
    assert mass[:20].numpy() == pytest.approx(made.log_b[:20].exp().numpy())
    assert len(mass) < made.V


@needs_compiler
@pytest.mark.parametrize("depth", [1, 30, 256, 257, 600])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 33), (40, 64)])
def test_products_in_c_are_those_of_float64(depth, rows, columns):
    random = torch.Generator().manual_seed(depth)
    x, w, bias = (torch.randn(*shape, generator=random) for shape in ((rows, depth), (columns, depth), (columns,)))
    scale = depth**0.5
    for b in (bias, None):
        exact = torch.nn.functional.linear(x.double(), w.double(), None if b is None else b.double())
        for given in (x, x.T.contiguous().T):  # a state that was transposed is no memory in this order
            for matrix in (w, w.T.contiguous().T):
                torch.testing.assert_close(linear(given, matrix, b).double(), exact, rtol=0, atol=5e-6 * scale)


@needs_compiler
def test_rmsprop_by_rows_is_torchs_over_all_rows():
    random = torch.Generator().manual_seed(0)
    table = torch.randn(30, 5, generator=random)
    ours, theirs = {"E": table.clone()}, table.clone().requires_grad_()
    lazy = RMSprop(ours, {"E"})
    optimiser = torch.optim.RMSprop([theirs], lr=0.01, alpha=0.9, eps=1e-8)
    for step in range(40):
        # rows of high numbers are rare: some are missed for tens of steps
        rows = (torch.rand(30, generator=random) < 1 / (1 + torch.arange(30))).nonzero().flatten()
        rows = rows if len(rows) else torch.tensor([step % 30])
        gradient = torch.randn(len(rows), 5, generator=random)
        theirs.grad = torch.zeros(30, 5).index_copy_(0, rows, gradient)
        optimiser.step()
        lazy.begin(0.01, 0.9, 1e-8)
        lazy.rows("E", rows, gradient)
        if step == 20:  # what is saved and taken up again goes on the same
            saved, lazy = lazy.state(), RMSprop(ours, {"E"})
            lazy.restore(saved)
    torch.testing.assert_close(ours["E"], theirs.detach(), rtol=1e-5, atol=1e-6)
    assert (lazy.seen["E"] < 40).any()
