"""Document 002, part 1: its parameter formula and the gradients of question 1.1, against exact counts and autograd."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from reprise.checks import Finding, parameters, relative
from reprise.models.elman import Elman
from reprise.models.lstm import LSTM

_SIZES = ((1, 128, 10), (10, 128, 10), (3, 5, 7), (7, 1, 2))


def lstm_parameter_count() -> list[Finding]:
    """Question 1.5b: 4dn + 4n^2 + 4n + kn + k = 4n(d + n + 1) + k(n + 1), counted on real models."""
    worst = 0
    for d, n, k in _SIZES:
        worst = max(worst, abs(parameters(LSTM(d, n, k)) - (4 * n * (d + n + 1) + k * (n + 1))))
    return [Finding("4n(d+n+1) + k(n+1)", float(worst), len(_SIZES), unit="parameters")]


def output_weight_gradient() -> list[Finding]:
    """Question 1.1: dL/dW_oh = (y_hat - y) h(T)^T, against autograd, for single sequences in float64."""
    generator = torch.Generator().manual_seed(1)
    worst, cases = 0.0, 20
    for _ in range(cases):
        model, x, y = _small_rnn(generator)
        loss = functional.cross_entropy(model(x), y)
        (gradient,) = torch.autograd.grad(loss, [model.W_oh])
        h = _states(model, x)[-1]
        error = torch.softmax(model.W_oh @ h + model.b_o, 0) - functional.one_hot(y[0], len(model.b_o))
        worst = max(worst, relative(torch.outer(error, h), gradient))
    return [Finding("(y_hat - y) h(T)^T", worst, cases)]


def omega_recursion_printed() -> list[Finding]:
    """Question 1.1 as printed: Omega(t) = (1 - h(t-1)^2) [Theta(t) + Gamma(t)]."""
    return [_omega_recursion("slope 1 - h(t-1)^2", lambda before, after: 1 - before**2)]


def omega_recursion_corrected() -> list[Finding]:
    """The same with the slope of tanh at step t: Omega(t) = (1 - h(t)^2) [Theta(t) + Gamma(t)]."""
    return [_omega_recursion("slope 1 - h(t)^2", lambda before, after: 1 - after**2)]


def _omega_recursion(name: str, slope) -> Finding:
    """Omega_l(t)_ij = dh_l(t) / d(W_hh)_ij by the recursion, Omega(0) = 0; dL/dW_hh from it, against autograd.

    Theta_l(t)_ij = delta_il h_j(t-1);  Gamma_l(t) = sum_a (W_hh)_la Omega_a(t-1).
    """
    generator = torch.Generator().manual_seed(2)
    worst, cases = 0.0, 20
    for _ in range(cases):
        model, x, y = _small_rnn(generator)
        loss = functional.cross_entropy(model(x), y)
        (gradient,) = torch.autograd.grad(loss, [model.W_hh])
        states = _states(model, x)
        n = len(states[0])
        omega = torch.zeros(n, n, n, dtype=torch.float64)  # (l, i, j)
        for before, after in zip(states, states[1:], strict=False):
            theta = torch.einsum("li,j->lij", torch.eye(n, dtype=torch.float64), before)
            gamma = torch.einsum("la,aij->lij", model.W_hh.detach(), omega)
            omega = slope(before, after)[:, None, None] * (theta + gamma)
        h = states[-1]
        error = torch.softmax(model.W_oh @ h + model.b_o, 0) - functional.one_hot(y[0], len(model.b_o))
        worst = max(worst, relative(torch.einsum("l,lij->ij", model.W_oh.t() @ error, omega), gradient))
    return Finding(name, worst, cases)


def _small_rnn(generator: torch.Generator) -> tuple[Elman, Tensor, Tensor]:
    """A random model (d = 4, n = 6, k = 3), a sequence (T = 7, 1) and its class (1,), float64."""
    model = Elman(4, 6, 3).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    x = torch.randint(4, (7, 1), generator=generator)
    return model, x, torch.randint(3, (1,), generator=generator)


@torch.no_grad()
def _states(model: Elman, x: Tensor) -> list[Tensor]:
    """h(0), …, h(T), each (n,)."""
    states = [torch.zeros(len(model.b_h), dtype=torch.float64)]
    for symbol in x[:, 0]:
        states.append(torch.tanh(model.W_hx[:, symbol] + model.W_hh @ states[-1] + model.b_h))
    return states
