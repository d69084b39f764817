"""Check document 000: which models are cases of which, and its two products of Jacobians, by autograd in float64."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import torch
from torch import Tensor

from reprise.checks import Finding, compute_relative_error, count_parameters, draw_parameters
from reprise.models import gso_sizes
from reprise.models.gso import GSO, FirstOrder, MultiplicativeIntegration, SymbolRecurrence
from reprise.models.gso_initialisation import make_initial_model
from reprise.models.second_order import FullTensor, MultiplicativeRNN

_CASES = 20
_SYMBOLS, _HIDDEN, _RANK, _STEPS, _LINES = 5, 6, 7, 9, 4
_LETTERS, _LONG = 27, 50
_ACTIVATIONS = ("tanh", "identity")


def check_mrnn_is_the_case_without_e() -> Iterator[Finding]:
    """Check section 3: the mRNN (6) is the general model (9) with E null.

    The parameters are A = Z, B = V, C = W, D = U and f = b.
    """

    def make_general(mrnn: MultiplicativeRNN, recurrent_term: bool) -> GSO:
        model = GSO(_SYMBOLS, _HIDDEN, _RANK, True, recurrent_term, mrnn.activation).double()
        return _replace_parameters(model, A=mrnn.Z, B=mrnn.V, C=mrnn.W, D=mrnn.U, f=mrnn.b)  # E, if there, stays 0

    for name, recurrent_term in (("E left out", False), ("E = 0", True)):
        case = partial(make_general, recurrent_term=recurrent_term)
        yield _compare_with_general(name, case, lambda phi: MultiplicativeRNN(_SYMBOLS, _HIDDEN, _RANK, phi), seed=1)


def check_integration_is_the_constrained_case() -> Iterator[Finding]:
    """Check equations 10 to 12: the general MI-RNN (8) is a case of the general model (9).

    It has A = diag(alpha), D = diag(beta_1) U and E = diag(beta_2) W. The identity also needs B = U, C = W and f = b.
    The paper does not print these.
    """

    def make_general(mi: MultiplicativeIntegration) -> GSO:
        model = GSO(_SYMBOLS, _HIDDEN, _HIDDEN, True, True, mi.activation).double()
        A, D, E = torch.diag(mi.alpha), torch.diag(mi.beta_1) @ mi.U, torch.diag(mi.beta_2) @ mi.W  # (10) to (12)
        return _replace_parameters(model, A=A, B=mi.U, C=mi.W, D=D, E=E, f=mi.b)

    build = partial(MultiplicativeIntegration, _SYMBOLS, _HIDDEN, form="general")
    yield _compare_with_general("(8) as a case of (9)", make_general, lambda phi: build(activation=phi), seed=2)


def check_full_tensor_by_sufficient_rank() -> Iterator[Finding]:
    """Check that the full tensor (5) is (9) without first-order terms, of second-order size h V.

    Component (j, k) of B x * C h is x_k h_j. A holds the tensor: h^T A^(i) x = sum_jk A[i, j, k] h_j x_k.
    """

    def make_general(full: FullTensor) -> GSO:
        pairs = _HIDDEN * _SYMBOLS
        model = GSO(_SYMBOLS, _HIDDEN, pairs, False, False, full.activation).double()
        B = torch.eye(_SYMBOLS).repeat(_HIDDEN, 1)  # (hV, V): row (j, k) takes x_k
        C = torch.eye(_HIDDEN).repeat_interleave(_SYMBOLS, 0)  # (hV, h): row (j, k) takes h_j
        return _replace_parameters(model, A=full.A.reshape(_HIDDEN, pairs), B=B, C=C, f=full.b)

    yield _compare_with_general("(5) as a case of (9)", make_general, partial(FullTensor, _SYMBOLS, _HIDDEN), seed=3)


def _compare_with_general(
    name: str, make_general: Callable[..., GSO], build: Callable[[str], SymbolRecurrence], seed: int
) -> Finding:
    """Compare all states of random models, from h_0 = 0, with those of the general model that equals each."""
    with torch.no_grad():
        models = _draw_models(build, seed)
        return Finding.from_errors(
            name,
            (
                compute_relative_error(make_general(model).compute_states(x), model.compute_states(x))
                for model, x in models
            ),
        )


def check_first_order_jacobian_printed() -> Iterator[Finding]:
    """Check equation 4 as printed: dh_t / dh_{t-n+1} is a product of n + 1 factors diag(phi'_i) W, i = t-n .. t."""
    yield _check_first_order("i = t-n .. t", lambda t, n: range(t - n, t + 1))


def check_first_order_jacobian_corrected() -> Iterator[Finding]:
    """Check equation 4 with the n - 1 factors between the two states, the latest on the left: i = t .. t-n+2."""
    yield _check_first_order("i = t .. t-n+2", lambda t, n: range(t, t - n + 1, -1))


def check_second_order_jacobian_printed() -> Iterator[Finding]:
    """Check equation 13 as printed: dh_t / dh_{t-n} = prod over i = t-n+1 .. t of diag(phi'_i)(E + A diag(B x_i) C)."""
    return _check_second_order("i = t-n+1 .. t", lambda t, n: range(t - n + 1, t + 1))


def check_second_order_jacobian_corrected() -> Iterator[Finding]:
    """Check equation 13 with the latest factor on the left: i = t .. t-n+1."""
    return _check_second_order("i = t .. t-n+1", lambda t, n: range(t, t - n, -1))


@torch.no_grad()
def check_first_order_term_keeps_the_gradient() -> Iterator[Finding]:
    """Check section 4.1: E in (13) prevents gradients from vanishing. The networks have their initial weights.

    The error is the norm of dh_t / dh_{t-n} without E, as a share of that of the same network with E; n = 50.
    """
    options = {"hidden_size": 64, "second_order_size": 64, "input_term": True, "recurrent_term": True,
               "matrix_law": "orthogonal", "f_law": "normal", "f_std": 0.1}  # fmt: skip
    for activation in _ACTIVATIONS:
        generator, shares = torch.Generator().manual_seed(6), []
        for _ in range(5):
            model = make_initial_model("gso", options | {"activation": activation}, _LETTERS, generator).double()
            x = torch.randint(_LETTERS, (2 * _LONG, 1), generator=generator)
            kept = _compute_jacobian_norm(model, x)
            shares.append(_compute_jacobian_norm(_replace_parameters(model, E=torch.zeros_like(model.E)), x) / kept)
        yield Finding.from_errors(f"norm without E over norm with E, {activation}", shares, "1")


def _compute_jacobian_norm(model: GSO, x: Tensor) -> float:
    """Return the spectral norm of (13) over the last 50 of the symbols x (T, 1)."""
    h = model.compute_states(x)[:, 0]
    slopes = _compute_slopes(model, h)
    factors = [
        torch.diag(slopes[i]) @ _compute_factor(model, x[i, 0]) for i in range(len(x) - 1, len(x) - 1 - _LONG, -1)
    ]
    return float(torch.linalg.matrix_norm(reduce(torch.matmul, factors), 2))


def _compute_slopes(model: SymbolRecurrence, h: Tensor) -> Tensor:
    """Compute phi' at every step from the states h."""
    return 1 - h**2 if model.activation == "tanh" else torch.ones_like(h)


def check_sizes_of_the_budget() -> Iterator[Finding]:
    """Check every size of Table 1 and Figure 1: the module's parameters against the formula and the budget of 500,000.

    "a larger one" counts the models that would still be within the budget with one more hidden unit.
    """
    models = list(_find_sizes())
    larger = sum(count <= gso_sizes.BUDGET for _, _, count in models)
    yield Finding.from_errors(
        "module against formula", (abs(count - formula) for count, formula, _ in models), "parameters"
    )
    excesses = (max(0, count - gso_sizes.BUDGET) for count, _, _ in models)
    yield Finding.from_errors("over the budget", excesses, "parameters")
    yield Finding("a larger one within the budget", float(larger), len(models), "models")


def _find_sizes() -> Iterator[tuple[int, int, int]]:
    """Yield parameters counted on the module, by the formula, and by the formula with one more hidden unit."""
    table = [("1", 27, D, E) for D in (True, False) for E in (True, False)]
    figure = [(ratio, symbols, False, False) for symbols in (27, 703) for ratio in gso_sizes.RATIOS]
    for ratio, symbols, *terms in table + figure:
        h, m = gso_sizes.find_gso_sizes(ratio, symbols, *terms)
        larger_m = gso_sizes.compute_second_order_size(h + 1, Fraction(ratio))
        counted = _count_parameters(GSO, symbols, h, m, *terms, "tanh")
        formula = gso_sizes.count_gso_parameters(h, m, symbols, *terms)
        yield counted, formula, gso_sizes.count_gso_parameters(h + 1, larger_m, symbols, *terms)

    def count_first_order(h: int) -> int:
        return gso_sizes.count_first_order_parameters(h, 27)

    def count_integration(h: int) -> int:
        return gso_sizes.count_integration_parameters(h, 27, "general")

    h = gso_sizes.find_largest_size(count_first_order)
    yield _count_parameters(FirstOrder, 27, h, "tanh"), count_first_order(h), count_first_order(h + 1)
    h = gso_sizes.find_largest_size(count_integration)
    counted = _count_parameters(MultiplicativeIntegration, 27, h, "tanh", "general")
    yield counted, count_integration(h), count_integration(h + 1)


def _count_parameters(model: type[SymbolRecurrence], *arguments: Any) -> int:
    with torch.device("meta"):
        return count_parameters(model(*arguments))


def _check_first_order(name: str, indices: Callable[[int, int], range]) -> Finding:
    models = _draw_models(partial(FirstOrder, _SYMBOLS, _HIDDEN), seed=4)
    pairs = [(n, indices(_STEPS, n)) for n in (2, 4, 6)]
    errors = [
        _compute_product_error(model, x, n - 1, i, lambda model, x: model.W) for model, x in models for n, i in pairs
    ]
    return Finding.from_errors(name, errors)


def _check_second_order(name: str, indices: Callable[[int, int], range]) -> Iterator[Finding]:
    for n in (1, 2, 4, 6):
        models = _draw_models(partial(GSO, _SYMBOLS, _HIDDEN, _RANK, True, True), seed=5)
        errors = [_compute_product_error(model, x, n, indices(_STEPS, n), _compute_factor) for model, x in models]
        yield Finding.from_errors(f"{name}, n = {n}", errors)


def _compute_factor(model: GSO, x: Tensor) -> Tensor:
    """Compute E + A diag(B x) C of (13) for one symbol: (h, h)."""
    return model.E + model.A @ torch.diag(model.B[:, x]) @ model.C


def _compute_product_error(
    model: SymbolRecurrence, x: Tensor, back: int, indices: range, factor: Callable[[SymbolRecurrence, Tensor], Tensor]
) -> float:
    """Compare dh_T / dh_{T-back} by autograd with the product of diag(phi'_i) factor(x_i) over `indices`.

    The product goes from left to right, over the first line of x (T, B). States and symbols are counted from 1, as in
    the paper.
    """
    symbols = x[:, 0]
    with torch.no_grad():
        h = model.compute_states(x)[:, 0]  # (T, H): h[i - 1] is h_i
    last = len(symbols)

    def run(h_before: Tensor) -> Tensor:
        state = h_before[None]
        for symbol in symbols[last - back :]:
            state = model.step(symbol[None], state)
        return state[0]

    jacobian = torch.autograd.functional.jacobian(run, h[last - back - 1])
    with torch.no_grad():
        slopes = _compute_slopes(model, h)
        factors = [torch.diag(slopes[i - 1]) @ factor(model, symbols[i - 1]) for i in indices]
        return compute_relative_error(reduce(torch.matmul, factors), jacobian)


def _draw_models(build: Callable[[str], SymbolRecurrence], seed: int) -> Iterator[tuple[SymbolRecurrence, Tensor]]:
    """Draw random models in float64, of either activation in turn, and symbols (T, B) for each."""
    generator = torch.Generator().manual_seed(seed)
    for case in range(_CASES):
        model = draw_parameters(build(_ACTIVATIONS[case % 2]), 0.4, generator)
        yield model, torch.randint(_SYMBOLS, (_STEPS, _LINES), generator=generator)


@torch.no_grad()
def _replace_parameters(model: GSO, **values: Tensor) -> GSO:
    for name, value in values.items():
        model.get_parameter(name).copy_(value)
    return model
