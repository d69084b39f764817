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
from typing import Any

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
    found = terms_by_name(type(model), model) | {"V": model.V, "c": model.c}
    return Terms(**{name: None if value is None else value.detach().contiguous() for name, value in found.items()})


@torch.no_grad()
def set_gradients(model: SymbolModel, gradients: Terms) -> None:
    """Sets `.grad` of every parameter from the gradients of the terms."""
    found = gradients_by_name(type(model), model, gradients) | {"V": gradients.V, "c": gradients.c}
    for name, parameter in model.named_parameters():
        parameter.grad = found[name].contiguous()


def terms_by_name(kind: type, m: Any) -> dict[str, Tensor | None]:
    """The terms but V and c of a model of class `kind`: `m`, or whatever has its parameters as attributes.

    With a leading axis of parameters there is one of terms.
    """
    return _FAMILIES[kind][0](m)


def gradients_by_name(kind: type, m: Any, gradients: Terms) -> dict[str, Tensor]:
    """The gradients of all parameters of `m` but V and c, by name; `m` as in `terms_by_name`."""
    return _FAMILIES[kind][1](m, gradients)


def _row(vector: Tensor) -> Tensor:
    """(..., H) -> (..., 1, H), to meet a row a symbol."""
    return vector.unsqueeze(-2)


def _general(m: GSO) -> dict[str, Tensor | None]:
    D = _row(m.f) if m.D is None else m.D.mT + _row(m.f)
    return {"A": m.A, "B": m.B.mT, "C": m.C, "W": m.E, "D": D}


def _general_gradients(m: GSO, g: Terms) -> dict[str, Tensor]:
    found = {"A": g.A, "B": g.B.mT, "C": g.C, "D": g.D.mT, "E": g.W, "f": g.D.sum(-2)}
    return {name: value for name, value in found.items() if value is not None}


def _first_order(m: FirstOrder) -> dict[str, Tensor]:
    return {"W": m.W, "D": m.U.mT + _row(m.b)}


def _first_order_gradients(m: FirstOrder, g: Terms) -> dict[str, Tensor]:
    return {"U": g.D.mT, "W": g.W, "b": g.D.sum(-2)}


def _integration(m: MultiplicativeIntegration) -> dict[str, Tensor]:
    U = m.U.mT
    if m.form == "simple":
        return {"W": m.W, "S": U, "D": _row(m.b)}
    return {"W": m.W, "S": _row(m.alpha) * U + _row(m.beta_2), "D": _row(m.beta_1) * U + _row(m.b)}


def _integration_gradients(m: MultiplicativeIntegration, g: Terms) -> dict[str, Tensor]:
    if m.form == "simple":
        return {"U": g.S.mT, "W": g.W, "b": g.D.squeeze(-2)}
    U = m.U.mT
    return {
        "U": (g.S * _row(m.alpha) + g.D * _row(m.beta_1)).mT,
        "W": g.W,
        "b": g.D.sum(-2),
        "alpha": (g.S * U).sum(-2),
        "beta_1": (g.D * U).sum(-2),
        "beta_2": g.S.sum(-2),
    }


_FAMILIES: dict[type, tuple[Callable, Callable]] = {
    GSO: (_general, _general_gradients),
    FirstOrder: (_first_order, _first_order_gradients),
    MultiplicativeIntegration: (_integration, _integration_gradients),
}
