"""The engine of log-linear RNNs over several steps, and its parts: classes, products, RMSProp."""

import copy
import math

import pytest
import torch
from compiler_helpers import needs_compiler
from loglinear_helpers import KINDS, model, windows

from reprise.engines.loglinear.classes import Classes
from reprise.engines.loglinear.native import FusedEngine, LazyRMSProp, linear
from reprise.engines.loglinear.reference import ReferenceEngine, RMSPropSettings

pytestmark = pytest.mark.usefixtures("march")


@needs_compiler
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("inside", [0.0, 1e-6], ids=["epsilon beside", "epsilon inside"])
def test_a_run_is_that_of_the_readable_model_in_float64(kind, inside):
    made = model(kind)
    settings = RMSPropSettings(learning_rate=0.002, rho=0.9, epsilon=0.0 if inside else 1e-8, epsilon_inside=inside)
    fast, reference = FusedEngine(made), ReferenceEngine(copy.deepcopy(made).double())
    for seed, B in enumerate((32, 32, 9, 32, 32)):
        x, y = windows(made, 8, B, seed)
        losses = [e.train(x, y, settings) for e in (fast, reference)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    start, ours, theirs = made.state_dict(), fast.export(), reference.export()
    for name, value in theirs.items():
        # RMSProp's first steps are the signs of the gradients: where one is nearly 0 its rounding decides.
        assert (ours[name] - value).norm() < 2e-3 * (value - start[name]).norm(), name
    x, y = windows(made, 8, 50, 9)
    assert fast.evaluate(x, y) == pytest.approx(reference.evaluate(x, y), rel=1e-5)


FAR = {"learning_rate": 1e12, "rho": 0.0, "epsilon": 1e9}
"""A step of 1000 gradients, however large their mean square."""


@pytest.mark.parametrize("kind", ["rnn", "ll-rnn"])
@pytest.mark.parametrize(
    ("engine", "exact"), [(ReferenceEngine, 1e-6), pytest.param(FusedEngine, 1e-4, marks=needs_compiler)]
)
def test_words_below_the_floor_give_no_gradient_and_their_loss_counts(kind, engine, exact):
    made = model(kind)
    exactly = copy.deepcopy(made).double()
    x, y = windows(made, 8, 64, 3)
    log_p = exactly.compute_log_p(exactly.compute_adaptors(exactly.compute_states(x, None)[0][-1])).gather(
        1, y[:, None]
    )[:, 0]
    # Between two probabilities, so that rounding decides for none.
    floor = log_p.detach().sort().values[31:33].mean().exp().item()
    inner = log_p[(log_p >= math.log(floor)) & (log_p <= math.log1p(-floor))]
    assert 0 < len(inner) < len(y)
    parameters = dict(exactly.named_parameters())
    gradients = dict(
        zip(parameters, torch.autograd.grad(-inner.sum() / len(y), list(parameters.values())), strict=True)
    )
    trained = engine(exactly if engine is ReferenceEngine else made)
    start = {name: value.double() for name, value in trained.export().items()}
    loss = trained.train(x, y, RMSPropSettings(**FAR, floor=floor))
    assert loss == pytest.approx(-log_p.detach().sum().item(), rel=1e-5)
    for name, gradient in gradients.items():
        change = (start[name] - trained.export()[name].double()) / 1e3
        assert (change - gradient).norm() < exact * (gradient.norm() + 1e-3), name


def test_the_floor_reaches_the_engine():
    options = {"learning_rate": 0.001, "rho": 0.9, "epsilon": 1e-8, "optimiser": "rmsprop"}
    assert RMSPropSettings.from_options(options).floor == 0.0
    assert RMSPropSettings.from_options(options | {"probability_floor": 1e-7}).floor == 1e-7


def test_classes_hold_the_types_with_the_same_features():
    made = model()
    classes = Classes.from_features(made.features, made.E)
    rows = [tuple(made.features.matrix.row(i)) for i in range(made.V)]
    for i in range(made.V):
        for j in range(made.V):
            assert (rows[i] == rows[j]) == bool(classes.class_of_type[i] == classes.class_of_type[j])
    assert classes.class_of_type[:20].tolist() == list(range(20))
    mass = classes.compute_log_mass(made.log_b).exp()
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
        for inputs in (x, x.T.contiguous().T):  # a state that was transposed is no memory in this order
            for matrix in (w, w.T.contiguous().T):
                torch.testing.assert_close(linear(inputs, matrix, b).double(), exact, rtol=0, atol=5e-6 * scale)


@needs_compiler
def test_rmsprop_by_rows_is_torchs_over_all_rows():
    random = torch.Generator().manual_seed(0)
    table = torch.randn(30, 5, generator=random)
    ours, theirs = {"E": table.clone()}, table.clone().requires_grad_()
    lazy = LazyRMSProp(ours, {"E"})
    optimiser = torch.optim.RMSprop([theirs], lr=0.01, alpha=0.9, eps=1e-8)
    for step in range(40):
        # rows of high numbers are rare: some are missed for tens of steps
        rows = (torch.rand(30, generator=random) < 1 / (1 + torch.arange(30))).nonzero().flatten()
        rows = rows if len(rows) else torch.tensor([step % 30])
        gradient = torch.randn(len(rows), 5, generator=random)
        theirs.grad = torch.zeros(30, 5).index_copy_(0, rows, gradient)
        optimiser.step()
        lazy.begin_step(0.01, 0.9, 1e-8)
        lazy.update_rows("E", rows, gradient)
        if step == 20:  # what is saved and taken up again goes on the same
            saved, lazy = lazy.get_state(), LazyRMSProp(ours, {"E"})
            lazy.restore(saved)
    torch.testing.assert_close(ours["E"], theirs.detach(), rtol=1e-5, atol=1e-6)
    assert (lazy.seen["E"] < 40).any()


SETTINGS = RMSPropSettings(learning_rate=0.1, rho=0.9, epsilon=1e-8)


@needs_compiler
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("type_", [-1, 2051])
def test_types_of_another_model_are_refused(kind, type_):
    made = model(kind)
    engine, (x, y) = FusedEngine(made), windows(made, 8, 4, 3)
    for words, targets in ((torch.full_like(x, type_), y), (x, torch.full_like(y, type_)), (x, y.int())):
        with pytest.raises(ValueError, match=r"types must be .*in 0 \.\. "):
            engine.train(words, targets, SETTINGS)
        with pytest.raises(ValueError, match=r"types must be .*in 0 \.\. "):
            engine.evaluate(words, targets)


@needs_compiler
@pytest.mark.parametrize("kind", KINDS)
def test_a_carried_state_is_of_as_many_texts_and_stays_where_probabilities_are_asked(kind):
    made = model(kind)
    engine, (x, y) = FusedEngine(made), windows(made, 8, 4, 3)
    engine.reset(4)
    engine.evaluate(x, y)
    carried = [part.clone() for layer in engine.state for part in layer]
    engine.compute_log_probabilities(x)
    assert all(torch.equal(*pair) for pair in zip(carried, (p for layer in engine.state for p in layer), strict=True))
    with pytest.raises(ValueError, match="of 4 texts, not 3"):
        engine.evaluate(x[:, :3], y[:3])
