"""What the fast engines of document 000 compute: one recurrence that every model of models/gso.py is a case of.

    h_t = phi(A(B x_t * C h_{t-1}) + S x_t * W h_{t-1} + D x_t),  logits V h_t + c

general model (9)       S = 1, W = E, D x + f for D x; without a term its matrices are missing
first-order RNN (3)     no A, B, C; S = 1; U x + b for D x
MI-RNN, simple (7)      no A, B, C; S = U; b for D x
MI-RNN, general (8)     no A, B, C; S x = alpha * U x + beta_2; D x = beta_1 * U x + b
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from reprise.models.gso import GSO, FirstOrder, MultiplicativeIntegration, SymbolModel


@dataclass
class Terms:
    """Matrices, or their gradients; None: the term is missing (of S: it is 1). H states, M products, n symbols."""

    D: Tensor  # (n, H), or (1, H) where all symbols have the same
    V: Tensor  # (n, H)
    c: Tensor  # (n,)
    A: Tensor | None = None  # (H, M)
    B: Tensor | None = None  # (n, M): a row a symbol
    C: Tensor | None = None  # (M, H)
    W: Tensor | None = None  # (H, H)
    S: Tensor | None = None  # (n, H)

    def empty_like(self) -> Terms:
        return Terms(**{name: None if value is None else torch.empty_like(value) for name, value in vars(self).items()})


def unsuitable(model: torch.nn.Module) -> str:
    """Why `terms` does not know the model; empty if it does."""
    return "" if type(model) in _FAMILIES else f"knows the models of document 000, not {type(model).__name__}"


@torch.no_grad()
def terms(model: SymbolModel) -> Terms:
    """The terms under the model's present parameters, contiguous."""
    found = _FAMILIES[type(model)][0](model)
    found |= {"V": model.V, "c": model.c}
    return Terms(**{name: None if value is None else value.detach().contiguous() for name, value in found.items()})


@torch.no_grad()
def set_gradients(model: SymbolModel, gradients: Terms) -> None:
    """Sets `.grad` of every parameter from the gradients of the terms."""
    found = _FAMILIES[type(model)][1](model, gradients) | {"V": gradients.V, "c": gradients.c}
    for name, parameter in model.named_parameters():
        parameter.grad = found[name].contiguous()


def _general(m: GSO) -> dict[str, Tensor | None]:
    D = m.f[None] if m.D is None else m.D.T + m.f
    return {"A": m.A, "B": m.B.T, "C": m.C, "W": m.E, "D": D}


def _general_gradients(m: GSO, g: Terms) -> dict[str, Tensor]:
    found = {"A": g.A, "B": g.B.T, "C": g.C, "D": g.D.T, "E": g.W, "f": g.D.sum(0)}
    return {name: value for name, value in found.items() if value is not None}


def _first_order(m: FirstOrder) -> dict[str, Tensor]:
    return {"W": m.W, "D": m.U.T + m.b}


def _first_order_gradients(m: FirstOrder, g: Terms) -> dict[str, Tensor]:
    return {"U": g.D.T, "W": g.W, "b": g.D.sum(0)}


def _integration(m: MultiplicativeIntegration) -> dict[str, Tensor]:
    if m.form == "simple":
        return {"W": m.W, "S": m.U.T, "D": m.b[None]}
    return {"W": m.W, "S": m.alpha * m.U.T + m.beta_2, "D": m.beta_1 * m.U.T + m.b}


def _integration_gradients(m: MultiplicativeIntegration, g: Terms) -> dict[str, Tensor]:
    if m.form == "simple":
        return {"U": g.S.T, "W": g.W, "b": g.D[0]}
    U = m.U.T
    return {
        "U": (g.S * m.alpha + g.D * m.beta_1).T,
        "W": g.W,
        "b": g.D.sum(0),
        "alpha": (g.S * U).sum(0),
        "beta_1": (g.D * U).sum(0),
        "beta_2": g.S.sum(0),
    }


_FAMILIES: dict[type, tuple[Callable, Callable]] = {
    GSO: (_general, _general_gradients),
    FirstOrder: (_first_order, _first_order_gradients),
    MultiplicativeIntegration: (_integration, _integration_gradients),
}
