"""The C++ engine of document 000's networks, called through ctypes: `gso.cpp` does the work."""

from __future__ import annotations

import ctypes
import functools
import weakref
from ctypes import POINTER, c_double, c_int32, c_int64, c_void_p

import numpy as np
import torch

from reprise.engines import build
from reprise.engines.gso.packing import PackedBatch
from reprise.engines.gso.terms import Terms, set_gradients, terms, unsuitable
from reprise.models.gso import SymbolModel


class Sizes(ctypes.Structure):
    _fields_ = [(name, c_int32) for name in ("V", "H", "M", "linear", "scaled", "shared", "tanh")]


class Parameters(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("A", "B", "C", "W", "S", "D", "V", "c")]


class Batch(ctypes.Structure):
    _fields_ = [("steps", c_int64), *((name, c_void_p) for name in ("starts", "inputs", "targets", "share"))]


class FusedPackedEngine:
    """A `PackedEngine` in float32 on the CPU.

    Raises NoCompiler where it cannot be compiled and TypeError for other models and dtypes.
    """

    name = "fused"

    def __init__(self, model: SymbolModel) -> None:
        reason = unsuitable(model) or unfused(model)
        if reason:
            raise TypeError(f"the fused engine {reason}")
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
        """See `PackedEngine`."""
        now = terms(self.model)
        gradients = now.empty_like()
        c_batch, _kept = self._batch(batch, batch.shares(reduction))
        loss = self.library.reprise_packed_train(self.packed, _pointers(now), _pointers(gradients), c_batch)
        set_gradients(self.model, gradients)
        return loss

    def evaluate(self, batch: PackedBatch) -> tuple[np.ndarray, np.ndarray]:
        """See `PackedEngine`."""
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


def unfused(model: SymbolModel) -> str:
    """Why the engine in C++ does not compute with the model's parameters; empty if it does."""
    parameter = next(model.parameters())
    if parameter.dtype != torch.float32:
        return "computes in float32 only"
    return "" if parameter.device.type == "cpu" else "computes on the CPU only"


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
