"""Check part 1 of document 002: its parameter formula by counting, the gradients of question 1.1 by autograd."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional

from reprise.checks import Finding, compute_relative_error, count_parameters, draw_parameters
from reprise.models.elman import Elman
from reprise.models.lstm import LSTM

_SIZES = ((1, 128, 10), (10, 128, 10), (3, 5, 7), (7, 1, 2))
_CASES = 20


def check_lstm_parameter_count() -> Iterator[Finding]:
    """Check question 1.5b on real models: 4dn + 4n^2 + 4n + kn + k = 4n(d + n + 1) + k(n + 1)."""
    errors = [abs(count_parameters(LSTM(d, n, k)) - (4 * n * (d + n + 1) + k * (n + 1))) for d, n, k in _SIZES]
    yield Finding.from_errors("4n(d+n+1) + k(n+1)", errors, "parameters")


def check_output_weight_gradient() -> Iterator[Finding]:
    """Check question 1.1: dL/dW_oh = (y_hat - y) h(T)^T, against autograd, for single sequences in float64."""
    errors = []
    for model, loss, states, y_error in _draw_rnns(seed=1):
        (gradient,) = torch.autograd.grad(loss, [model.W_oh])
        errors.append(compute_relative_error(torch.outer(y_error, states[-1]), gradient))
    yield Finding.from_errors("(y_hat - y) h(T)^T", errors)


def check_omega_recursion_printed() -> Iterator[Finding]:
    """Check question 1.1 as printed: Omega(t) = (1 - h(t-1)^2) [Theta(t) + Gamma(t)]."""
    yield _check_omega_recursion("slope 1 - h(t-1)^2", lambda before, after: 1 - before**2)


def check_omega_recursion_corrected() -> Iterator[Finding]:
    """Check the same with the slope of tanh at step t: Omega(t) = (1 - h(t)^2) [Theta(t) + Gamma(t)]."""
    yield _check_omega_recursion("slope 1 - h(t)^2", lambda before, after: 1 - after**2)


def _check_omega_recursion(name: str, slope: Callable[[Tensor, Tensor], Tensor]) -> Finding:
    """Compare dL/dW_hh by the recursion of Omega_l(t)_ij = dh_l(t) / d(W_hh)_ij, Omega(0) = 0, with autograd.

    Theta_l(t)_ij = delta_il h_j(t-1);  Gamma_l(t) = sum_a (W_hh)_la Omega_a(t-1).
    """
    errors = []
    for model, loss, states, y_error in _draw_rnns(seed=2):
        (gradient,) = torch.autograd.grad(loss, [model.W_hh])
        n = len(states[0])
        omega = torch.zeros(n, n, n, dtype=torch.float64)  # (l, i, j)
        for before, after in zip(states, states[1:], strict=False):
            theta = torch.einsum("li,j->lij", torch.eye(n, dtype=torch.float64), before)
            gamma = torch.einsum("la,aij->lij", model.W_hh.detach(), omega)
            omega = slope(before, after)[:, None, None] * (theta + gamma)
        errors.append(compute_relative_error(torch.einsum("l,lij->ij", model.W_oh.t() @ y_error, omega), gradient))
    return Finding.from_errors(name, errors)


def _draw_rnns(seed: int) -> Iterator[tuple[Elman, Tensor, list[Tensor], Tensor]]:
    """Draw models (d = 4, n = 6, k = 3) in float64, each with a sequence of seven symbols and its class.

    Yields:
        The model, its loss, its states h(0), …, h(T), each (n,), and y_hat - y, (k,).
    """
    generator = torch.Generator().manual_seed(seed)
    for _ in range(_CASES):
        model = draw_parameters(Elman(4, 6, 3), 0.5, generator)
        x = torch.randint(4, (7, 1), generator=generator)
        y = torch.randint(3, (1,), generator=generator)
        with torch.no_grad():
            states = [torch.zeros(6, dtype=torch.float64)]
            for symbol in x[:, 0]:
                states.append(torch.tanh(model.W_hx[:, symbol] + model.W_hh @ states[-1] + model.b_h))
            y_hat = torch.softmax(model.W_oh @ states[-1] + model.b_o, 0)
        yield model, functional.cross_entropy(model(x), y), states, y_hat - functional.one_hot(y[0], 3)
