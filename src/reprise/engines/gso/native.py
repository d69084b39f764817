"""The C++ engine of document 000's networks, called through ctypes: `gso.cpp` does the work.

It computes one recurrence that every model of models/gso.py is a case of:

    h_t = phi(A(B x_t * C h_{t-1}) + S x_t * W h_{t-1} + D x_t),  logits V h_t + c

general model (9)       S = 1, W = E, D x + f for D x; without a term its matrices are missing
first-order RNN (3)     no A, B, C; S = 1; U x + b for D x
MI-RNN, simple (7)      no A, B, C; S = U; b for D x
MI-RNN, general (8)     no A, B, C; S x = alpha * U x + beta_2; D x = beta_1 * U x + b
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Callable
from ctypes import POINTER, c_double, c_int32, c_int64, c_void_p
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reprise.engines import build
from reprise.engines.choice import check_fit
from reprise.engines.gso.packing import PackedBatch
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
    return FAMILIES[kind][0](m)


def gradients_by_name(kind: type, m: Any, gradients: Terms) -> dict[str, Tensor]:
    """The gradients of all parameters of `m` but V and c, by name; `m` as in `terms_by_name`."""
    return FAMILIES[kind][1](m, gradients)


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


FAMILIES: dict[type, tuple[Callable, Callable]] = {
    GSO: (_general, _general_gradients),
    FirstOrder: (_first_order, _first_order_gradients),
    MultiplicativeIntegration: (_integration, _integration_gradients),
}


class Sizes(ctypes.Structure):
    _fields_ = [(name, c_int32) for name in ("V", "H", "M", "linear", "scaled", "shared", "tanh")]


class Parameters(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("A", "B", "C", "W", "S", "D", "V", "c")]


class Batch(ctypes.Structure):
    _fields_ = [("steps", c_int64), *((name, c_void_p) for name in ("starts", "inputs", "targets", "share"))]


class FusedEngine:
    """A `PackedEngine` in float32 on the CPU.

    Raises NoCompiler where it cannot be compiled and TypeError for other models and dtypes.
    """

    name = "fused"

    def __init__(self, model: SymbolModel) -> None:
        check_fit(model, FAMILIES)
        self.model, self.library = model, _library()
        t = terms(model)
        sizes = Sizes(
            V=model.vocabulary,
            H=model.hidden,
            M=0 if t.A is None else t.A.shape[1],
            linear=t.W is not None,
            scaled=t.S is not None,
            shared=len(t.D) == 1,
            tanh=model.activation == "tanh",
        )
        self.packed = self.library.reprise_packed(ctypes.byref(sizes))
        weakref.finalize(self, self.library.reprise_packed_free, self.packed)

    def train(self, batch: PackedBatch, reduction: str) -> float:
        now = terms(self.model)
        gradients = now.empty_like()
        c_batch, _kept = self._batch(batch, batch.shares(reduction))
        loss = self.library.reprise_packed_train(self.packed, _pointers(now), _pointers(gradients), c_batch)
        set_gradients(self.model, gradients)
        return loss

    def evaluate(self, batch: PackedBatch) -> tuple[np.ndarray, np.ndarray]:
        nats, best = np.empty(len(batch), np.float32), np.empty(len(batch), np.int32)
        now = terms(self.model)
        c_batch, _kept = self._batch(batch, None)
        self.library.reprise_packed_evaluate(self.packed, _pointers(now), c_batch, nats.ctypes.data, best.ctypes.data)
        return nats, best

    def _batch(self, batch: PackedBatch, shares: np.ndarray | None) -> tuple[Batch, list[np.ndarray]]:
        """The batch for C++, and the arrays that must outlive the call. ValueError for symbols that do not exist."""
        kept = [np.ascontiguousarray(batch.starts, np.int64)]
        for tokens in (batch.inputs, batch.targets):
            if not 0 <= tokens.min() <= tokens.max() < self.model.vocabulary:
                raise ValueError(f"tokens must be in 0 .. {self.model.vocabulary - 1}")
            kept.append(np.ascontiguousarray(tokens, np.int32))
        if shares is not None:
            kept.append(np.ascontiguousarray(shares, np.float32))
        return Batch(len(batch.active), *(array.ctypes.data for array in kept)), kept


def _pointers(values: Terms) -> Parameters:
    return Parameters(**{name: None if t is None else t.data_ptr() for name, t in vars(values).items()})


@functools.cache
def _library() -> ctypes.CDLL:
    library = build.load("gso")
    library.reprise_packed.argtypes, library.reprise_packed.restype = [POINTER(Sizes)], c_void_p
    library.reprise_packed_free.argtypes, library.reprise_packed_free.restype = [c_void_p], None
    two = [POINTER(Parameters), POINTER(Parameters)]
    library.reprise_packed_train.argtypes = [c_void_p, *two, POINTER(Batch)]
    library.reprise_packed_train.restype = c_double
    library.reprise_packed_evaluate.argtypes = [c_void_p, POINTER(Parameters), POINTER(Batch), c_void_p, c_void_p]
    library.reprise_packed_evaluate.restype = None
    return library
