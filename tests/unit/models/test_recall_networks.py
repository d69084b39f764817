"""The notes' recurrent networks against torch's own, and their Jacobians against autograd."""

import pytest
import torch

from reprise.evaluation.jacobians import LOG10_FLOOR, JacobianNorms, compute_jacobian_norms, compute_jacobians
from reprise.models.recall_networks import GRU, LSTM, RNN, SLOPES

LAWS = {"recurrent_law": "gaussian", "recurrent_scale": 1.0, "input_std": 1.0}
NETWORKS = {
    "sigmoid": lambda V, H, **laws: RNN(V, H, "sigmoid", **LAWS | laws),
    "tanh": lambda V, H, **laws: RNN(V, H, "tanh", **LAWS | laws),
    "relu": lambda V, H, **laws: RNN(V, H, "relu", **LAWS | laws),
    "gru": lambda V, H, **laws: GRU(V, H, **LAWS | laws),
    "lstm": lambda V, H, **laws: LSTM(V, H, **LAWS | laws),
}


def network(name, vocabulary=11, hidden=6, seed=1, **laws):
    model = NETWORKS[name](vocabulary, hidden, **laws)
    model.initialise(torch.Generator().manual_seed(seed))
    return model.double()


def words(model, length=9, batch=4):
    return torch.randint(model.vocabulary, (length, batch), generator=torch.Generator().manual_seed(3))


# torch's order of the gates.
TORCH = {
    "tanh": (lambda V, H: torch.nn.RNN(V, H, bias=False), [0]),
    "relu": (lambda V, H: torch.nn.RNN(V, H, nonlinearity="relu", bias=False), [0]),
    "gru": (lambda V, H: torch.nn.GRU(V, H, bias=False), [1, 0, 2]),
    "lstm": (lambda V, H: torch.nn.LSTM(V, H, bias=False), [0, 1, 3, 2]),
}


@pytest.mark.parametrize("name", TORCH)
def test_they_are_those_of_torch(name):
    model, (build, gates) = network(name), TORCH[name]
    theirs = build(11, 6).double()
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(model.W_x[gates].flatten(0, 1))
        theirs.weight_hh_l0.copy_(model.W_h[gates].flatten(0, 1))
    x = words(model)
    states, _ = theirs(torch.nn.functional.one_hot(x, 11).double())
    ours = torch.stack([state[0] for state in model.compute_states(x)[1:]])
    torch.testing.assert_close(ours, states)
    torch.testing.assert_close(model(x), states[-1] @ model.W_S.T)


def test_the_sigmoid_network_is_equation_5():
    model = network("sigmoid")
    x, h = words(model), torch.zeros(6, dtype=torch.float64)
    for symbol in x[:, 0]:
        h = 1 / (1 + torch.exp(-(model.W_h[0] @ h + model.W_x[0][:, symbol])))  # (5)
    torch.testing.assert_close(model.compute_states(x)[-1][0][0], h)


def test_identity_matrices_of_a_scale():
    model = network("relu", recurrent_law="identity", recurrent_scale=1.5)
    assert torch.equal(model.W_h[0], 1.5 * torch.eye(6, dtype=torch.float64))
    radius = torch.linalg.eigvals(network("tanh", hidden=200, recurrent_scale=0.7).W_h[0]).abs().max()
    assert 0.6 < radius < 0.8


@pytest.mark.parametrize("name", NETWORKS)
def test_jacobians_are_those_of_autograd(name):
    model = network(name)
    x = words(model, 7, 3)
    states = model.compute_states(x)

    def last(joined, k, text):
        state = tuple(part[None] for part in joined.split(model.hidden))
        for Wx in model.read(x[k:, text : text + 1]):
            state = model.step(Wx, state)
        return torch.cat(state, 1)[0]

    for distance, products in enumerate(compute_jacobians(model, x), 1):
        k = len(x) - distance
        for text, product in enumerate(products):
            before = torch.cat([part[text] for part in states[k]]).detach()
            expected = torch.autograd.functional.jacobian(lambda s, k=k, text=text: last(s, k, text), before)
            torch.testing.assert_close(product, expected)


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "relu"])
def test_norms_are_within_the_bound_of_equation_16(name):
    model = network(name, recurrent_scale=1.3)
    norms = compute_jacobian_norms(model, words(model, 30))
    beta = torch.linalg.matrix_norm(model.W_h[0], 2).item() * SLOPES[name]
    assert norms.bound == pytest.approx([beta**d for d in range(1, 31)])
    assert norms.excess < 1e-12
    assert all(norm <= bound * (1 + 1e-12) for norm, bound in zip(norms.norms, norms.bound, strict=True))
    if name == "sigmoid":
        assert norms.bound_slope_1 == pytest.approx([4**d * b for d, b in enumerate(norms.bound, 1)])


def test_a_norm_beyond_the_bound_would_show(monkeypatch):
    monkeypatch.setitem(SLOPES, "tanh", 0.1)
    assert compute_jacobian_norms(network("tanh"), words(network("tanh"))).excess > 0.5


def test_norms_and_bounds_that_underflow_hide_no_other_distance():
    model = network("sigmoid")
    near, far = (compute_jacobian_norms(model, words(model, 700)[-length:]) for length in (20, 700))
    assert far.bound[-1] == 0
    assert near.excess - 0.5 < far.excess < 0


def test_relu_with_the_identity_hands_the_gradient_on_as_it_is():
    model = network("relu", hidden=30, recurrent_law="identity")
    with torch.no_grad():
        model.W_x.abs_()  # no unit is ever off
    assert compute_jacobian_norms(model, words(model, 50)).norms == [1.0] * 50


def test_logarithms_have_a_floor():
    norms = JacobianNorms([1e-3, 0.0], None, None, None)
    assert (norms.get_log10_norm(1), norms.get_log10_norm(2)) == (pytest.approx(-3), LOG10_FLOOR)
    assert [m["metric"] for m in norms.make_metrics("start", [1, 2], 5)] == [
        "log10_jacobian_at_1",
        "log10_jacobian_at_2",
    ]
    assert [c["metric"] for c in norms.make_curves("start")] == ["jacobian_norm"]
