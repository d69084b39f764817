"""Document 000's networks: equations 3 and 5 to 9 against sums written out, and how they start."""

import math

import numpy as np
import pytest
import torch

from reprise.catalogue.options import MODEL_OPTIONS
from reprise.catalogue.options.base import list_options
from reprise.models.gso import GSO, FirstOrder, MultiplicativeIntegration
from reprise.models.gso_initialisation import make_initial_model
from reprise.models.second_order import FullTensor, MultiplicativeRNN

V, H, M = 5, 4, 3
PHI = {"tanh": np.tanh, "identity": lambda z: z}
GSO_OPTIONS = {"hidden_size": H, "second_order_size": M, "input_term": True, "recurrent_term": True}
GSO_OPTIONS |= {"activation": "tanh", "matrix_law": "orthogonal", "f_law": "normal", "f_std": 0.1}


def one_hot(symbol):
    return np.eye(V)[symbol]


def drawn(model, seed=0):
    """The model in float64 with normal parameters, and these as arrays."""
    generator = torch.Generator().manual_seed(seed)
    model = model.double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.5, generator=generator)
    return model, {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}


def gso_step(p, h, x):
    z = p["A"] @ (p["B"] @ x * (p["C"] @ h)) + p["f"]
    return z + (p["D"] @ x if "D" in p else 0) + (p["E"] @ h if "E" in p else 0)


def full_tensor_step(p, h, x):
    return np.array([h @ p["A"][i] @ x for i in range(H)]) + p["b"]


def general_integration_step(p, h, x):
    Ux, Wh = p["U"] @ x, p["W"] @ h
    return p["alpha"] * Ux * Wh + p["beta_1"] * Ux + p["beta_2"] * Wh + p["b"]


# name: the model for an activation, and its equation without phi
EQUATIONS = {
    "(3)": (lambda phi: FirstOrder(V, H, phi), lambda p, h, x: p["U"] @ x + p["W"] @ h + p["b"]),
    "(5)": (lambda phi: FullTensor(V, H, phi), full_tensor_step),
    "(6)": (
        lambda phi: MultiplicativeRNN(V, H, M, phi),
        lambda p, h, x: p["Z"] @ (p["V"] @ x * (p["W"] @ h)) + p["U"] @ x + p["b"],
    ),
    "(7)": (
        lambda phi: MultiplicativeIntegration(V, H, phi, "simple"),
        lambda p, h, x: p["U"] @ x * (p["W"] @ h) + p["b"],
    ),
    "(8)": (lambda phi: MultiplicativeIntegration(V, H, phi, "general"), general_integration_step),
    "(9)": (lambda phi: GSO(V, H, M, True, True, phi), gso_step),
    "(9) without D": (lambda phi: GSO(V, H, M, False, True, phi), gso_step),
    "(9) without E": (lambda phi: GSO(V, H, M, True, False, phi), gso_step),
    "(9) without D and E": (lambda phi: GSO(V, H, M, False, False, phi), gso_step),
}


@pytest.mark.parametrize("phi", PHI)
@pytest.mark.parametrize("name", EQUATIONS)
def test_the_equation(name, phi):
    build, equation = EQUATIONS[name]
    model, p = drawn(build(phi))
    symbols = torch.tensor([[1, 4], [0, 0], [3, 1]])
    h = np.zeros((2, H))
    expected = []
    for row in symbols.tolist():
        h = np.stack([PHI[phi](equation(p, h[b], one_hot(x))) for b, x in enumerate(row)])
        expected.append(h)
    with torch.no_grad():
        states = model.compute_states(symbols)
        step = model.step(symbols[2], states[1])
    np.testing.assert_allclose(states, np.stack(expected), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(step, expected[2], rtol=1e-12, atol=1e-13)


def test_the_output_layer_and_a_given_first_state():
    model, p = drawn(GSO(V, H, M, True, True, "tanh"))
    symbols, h_0 = torch.tensor([[2], [1]]), torch.full((1, H), 0.3, dtype=torch.float64)
    with torch.no_grad():
        logits = model(symbols, h_0)
    h = np.full(H, 0.3)
    for t, x in enumerate([2, 1]):
        h = np.tanh(gso_step(p, h, one_hot(x)))
        np.testing.assert_allclose(logits[t, 0], p["V"] @ h + p["c"], rtol=1e-12)


def test_with_f_0_and_without_d_only_f_and_c_learn_from_the_first_batch():
    model, _ = drawn(GSO(V, H, M, False, True, "tanh"))
    with torch.no_grad():
        model.f.zero_()
    symbols = torch.tensor([[0, 3], [1, 1], [2, 4]])
    assert not model.compute_states(symbols).any()
    torch.nn.functional.cross_entropy(model(symbols).flatten(0, 1), symbols.roll(-1, 0).flatten()).backward()
    moved = {name for name, parameter in model.named_parameters() if parameter.grad.any()}
    assert moved == {"f", "c"}


def start(name, seed=0, vocabulary=27, **options):
    return make_initial_model(name, options, vocabulary, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("h", "m"), [(40, 40), (60, 20), (20, 60)])
def test_orthogonal_start(h, m):
    model = start("gso", **{**GSO_OPTIONS, "hidden_size": h, "second_order_size": m})
    for name in ("A", "C", "E"):
        W = model.get_parameter(name).detach()
        short = W if W.shape[0] <= W.shape[1] else W.T
        torch.testing.assert_close(short @ short.T, torch.eye(len(short)), atol=1e-5, rtol=0)


def test_multipliers_start_at_their_values_or_around_them():
    options = {"hidden_size": 2000, "activation": "tanh", "matrix_law": "glorot-uniform", "b_law": "zero", "b_std": 0.0}
    options |= {"form": "general", "alpha": 1.0, "beta_1": 0.5, "beta_2": 0.0}
    for spread in (0.0, 0.1):
        model = start("mi-rnn", **options, multiplier_std=spread)
        for name in ("alpha", "beta_1", "beta_2"):
            values = model.get_parameter(name).detach()
            assert values.std().item() == pytest.approx(spread, rel=0.1)
            assert values.mean().item() == pytest.approx(options[name], abs=0.01)
    assert torch.equal(start("mi-rnn", **options).U, start("mi-rnn", **options, multiplier_std=0.0).U)


def test_glorot_start():
    h = 300
    model = start("gso", **{**GSO_OPTIONS, "hidden_size": h, "second_order_size": h, "matrix_law": "glorot-uniform"})
    for name in ("A", "B", "C", "D", "E", "V"):
        W = model.get_parameter(name).detach()
        bound = math.sqrt(6 / sum(W.shape))
        assert 0.98 * bound < float(W.abs().max()) <= bound
        assert float(W.std()) == pytest.approx(bound / math.sqrt(3), rel=0.05)


def test_biases_start_as_they_are_told():
    h = {**GSO_OPTIONS, "hidden_size": 2000, "second_order_size": 1, "recurrent_term": False}
    normal = start("gso", **{**h, "f_std": 0.3})
    assert float(normal.f.detach().std()) == pytest.approx(0.3, rel=0.05)
    assert not normal.c.any()
    assert not start("gso", **{**h, "f_law": "zero"}).f.any()
    options = {"hidden_size": 500, "activation": "tanh", "matrix_law": "orthogonal", "b_law": "normal", "b_std": 0.2}
    assert float(start("first-order", **options).b.detach().std()) == pytest.approx(0.2, rel=0.1)
    starts = {"alpha": 2.0, "beta_1": 0.5, "beta_2": 0.25}
    model = start("mi-rnn", **options, form="general", **starts)
    assert {name: set(model.get_parameter(name).tolist()) for name in starts} == {k: {v} for k, v in starts.items()}
    assert start("mi-rnn", **options, form="simple", **starts).alpha is None


def test_a_start_is_that_of_its_seed_and_every_parameter_has_one():
    first_order = {"hidden_size": 6, "activation": "tanh", "matrix_law": "orthogonal", "b_law": "normal", "b_std": 1.0}
    options = {"gso": GSO_OPTIONS, "first-order": first_order}
    options["mi-rnn"] = {**options["first-order"], "form": "general", "alpha": 1.0, "beta_1": 0.5, "beta_2": 0.5}
    options["mi-rnn"]["multiplier_std"] = 0.0
    for name, stated in options.items():
        assert set(stated) == set(list_options(MODEL_OPTIONS[name]))
        one, repeated, other = (start(name, seed, **stated).state_dict() for seed in (1, 1, 2))
        assert all(torch.equal(one[key], repeated[key]) for key in one)
        constant = {"c", "alpha", "beta_1", "beta_2"} & set(one)
        assert {key for key in one if torch.equal(one[key], other[key])} == constant
        assert all(one[key].any() for key in set(one) - {"c"})
