"""Check section 2.3 of document 003: the product of Jacobians and its bound, and the sigmoid's slope."""

from collections.abc import Callable, Iterator
from functools import reduce

import torch
from torch import Tensor

from reprise.checks import Finding, compute_excess, compute_relative_error
from reprise.models.recall_networks import SLOPES

_CASES, _HIDDEN, _STEPS = 20, 8, 9
_ACTIVATIONS = {"sigmoid": torch.sigmoid, "tanh": torch.tanh}


def check_notes_jacobian_printed() -> Iterator[Finding]:
    """Check equation 12: dh_t / dh_k of equation 5 as the product over j = k+1 .. t of W^T diag[f'(h_{j-1})].

    The equation prints f'(j_{j-1}), with the index of the product for a vector; equation 15 has h_{j-1}.
    """
    for name in _ACTIVATIONS:
        yield _compute_product_error(
            name, lambda W, a, slopes, h: [W.T @ torch.diag(slopes(h[j - 1])) for j in range(1, len(h))]
        )


def check_notes_jacobian_corrected() -> Iterator[Finding]:
    """Check the product over j = t .. k+1 of diag[f'(a_j)] W, a_j = W h_{j-1} + W_x x_j, the latest on the left.

    Check also the form that equation 12 belongs to, h_j = W f(h_{j-1}) + W_x x_j. Its factors are W diag[f'(h_{j-1})].
    """

    def list_factors(W: Tensor, a: list[Tensor], slopes: Callable, h: list[Tensor]) -> list[Tensor]:
        return [torch.diag(slopes(a[j])) @ W for j in range(len(h) - 1, 0, -1)]

    def list_inner_factors(W: Tensor, a: list[Tensor], slopes: Callable, h: list[Tensor]) -> list[Tensor]:
        return [W @ torch.diag(slopes(h[j - 1])) for j in range(len(h) - 1, 0, -1)]

    for name in _ACTIVATIONS:
        yield _compute_product_error(name, list_factors)
    for name in _ACTIVATIONS:
        yield _compute_product_error(f"h = W f(h) + W_x x, {name}", list_inner_factors, inside=True)


def _compute_product_error(name: str, factors: Callable[..., list[Tensor]], inside: bool = False) -> Finding:
    """Return the largest relative distance of the factors' product from the Jacobian by autograd.

    `factors` takes W, the arguments a_j and the states h_j of all steps, and a function for the slopes of f. If
    `inside`, f acts on the state before the matrix.
    """
    f, errors = _ACTIVATIONS[name.rpartition(", ")[2]], []
    slopes = torch.func.vmap(torch.func.grad(f))

    def run(h: Tensor, W: Tensor, Wx: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        arguments, states = [h], [h]  # nothing is at place 0 of the arguments
        for step in Wx:
            arguments.append(W @ (f(states[-1]) if inside else states[-1]) + step)
            states.append(arguments[-1] if inside else f(arguments[-1]))
        return arguments, states

    start = 0.1 * torch.ones(_HIDDEN, dtype=torch.float64)
    for W, Wx in _draw_steps(seed=4):
        jacobian = _compute_jacobian(lambda h, *steps: run(h, *steps)[1][-1], start, W, Wx)
        a, h = run(start, W, Wx)
        errors.append(compute_relative_error(reduce(torch.matmul, factors(W, a, slopes, h)), jacobian))
    return Finding.from_errors(name, errors)


def _compute_jacobian(last: Callable[..., Tensor], h: Tensor, *given: Tensor) -> Tensor:
    """Return d last(h, *given) / dh."""
    return torch.autograd.functional.jacobian(lambda h: last(h, *given), h)


def check_jacobian_bound() -> Iterator[Finding]:
    """Check equations 15 and 16: || dh_t / dh_k || <= (beta_W beta_h)^(t-k).

    The error is by how much a norm exceeds the bound, as a share. beta_h is the largest slope of f; the notes let it be
    1 for the sigmoid.
    """
    for name, f, beta_h in (
        ("sigmoid, beta_h = 1", torch.sigmoid, 1.0),
        ("sigmoid, beta_h = 1/4", torch.sigmoid, SLOPES["sigmoid"]),
        ("tanh, beta_h = 1", torch.tanh, SLOPES["tanh"]),
        ("ReLU, beta_h = 1", torch.relu, SLOPES["relu"]),
    ):

        def last(h: Tensor, W: Tensor, Wx: Tensor, f: Callable = f) -> Tensor:
            return reduce(lambda state, step: f(W @ state + step), Wx, h)

        above, start = [], torch.zeros(_HIDDEN, dtype=torch.float64)
        for W, Wx in _draw_steps(seed=5):
            beta_W = torch.linalg.matrix_norm(W, 2)
            for steps in range(1, _STEPS + 1):
                norm = torch.linalg.matrix_norm(_compute_jacobian(last, start, W, Wx[:steps]), 2)
                above.append(compute_excess((norm / (beta_W * beta_h) ** steps).item(), 1))
        yield Finding.from_errors(name, above)


def check_sigmoid_slope() -> Iterator[Finding]:
    """Check section 2.3: the slope of the sigmoid "can only be as large as 1". It is at most 1/4, at 0."""
    a = torch.linspace(-30, 30, 60_001, dtype=torch.float64)
    slope = torch.func.vmap(torch.func.grad(torch.sigmoid))(a)
    largest = slope.max().item()
    yield Finding("above 1", compute_excess(largest, 1), len(a), unit="1")
    yield Finding("above 1/4", compute_excess(largest, 0.25), len(a), unit="1")
    yield Finding("at 0 against 1/4", abs(slope[len(a) // 2].item() - 0.25), 1, unit="1")


def _draw_steps(seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Draw matrices W of norms below and above one, and W_x x_j of every step, (_STEPS, _HIDDEN), float64."""
    generator = torch.Generator().manual_seed(seed)
    for case in range(_CASES):
        W = torch.randn(_HIDDEN, _HIDDEN, generator=generator, dtype=torch.float64) * _HIDDEN**-0.5
        yield W * (0.25 + 0.25 * case), torch.randn(_STEPS, _HIDDEN, generator=generator, dtype=torch.float64)
