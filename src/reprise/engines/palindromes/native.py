"""Engines of the networks with one loss a sequence, on its last state: Elman and LSTM of document 002.

An engine works on the readable model's own parameters: it fills their `.grad`, and an optimiser of torch does the rest.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from ctypes import POINTER, c_int, c_void_p
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise.engines import build
from reprise.engines.choice import choose
from reprise.models.elman import Elman
from reprise.models.lstm import LSTM


class LastStepEngine(Protocol):
    name: str

    def loss_and_gradients(self, x: Tensor, y: Tensor) -> tuple[float, int]:
        """Symbols x (T, B) int64 and classes y (B,) int64 -> mean cross-entropy in nats, and how many are right.

        Sets `.grad` of every parameter to new tensors, whatever it was before.
        """
        ...


class AutogradEngine:
    """The readable model itself, on its device and in its dtype: what the fast engine is held to."""

    name = "reference"

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def loss_and_gradients(self, x: Tensor, y: Tensor) -> tuple[float, int]:
        """See `LastStepEngine`."""
        self.model.zero_grad(set_to_none=True)
        return _loss_and_gradients(self.model(x), y)


class Parameters(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("W_x", "W_h", "b")]


class SequenceEngine:
    """The recurrence in C++ (palindromes.cpp), in float32 on the CPU; the output layer stays torch's.

    Raises NoCompiler where it cannot be compiled and TypeError for other models and dtypes.
    """

    name = "fused"

    def __init__(self, model: nn.Module) -> None:
        reason = unsuitable(model)
        if reason:
            raise TypeError(f"the fused engine {reason}")
        self.library = _library()
        if isinstance(model, LSTM):
            gates, self.recurrent = 4, (model.W_x, model.W_h, model.b)
            self.output = model.W_out, model.b_out
        else:
            gates, self.recurrent = 1, (model.W_hx, model.W_hh, model.b_h)
            self.output = model.W_oh, model.b_o
        self.symbols, self.n = self.recurrent[0].shape[1], self.recurrent[1].shape[1]
        self.sequence = self.library.reprise_sequence(gates, self.symbols, self.n)
        weakref.finalize(self, self.library.reprise_sequence_free, self.sequence)

    @torch.no_grad()
    def loss_and_gradients(self, x: Tensor, y: Tensor) -> tuple[float, int]:
        """See `LastStepEngine`; ValueError for symbols that the model does not have."""
        T, B = x.shape
        if x.dtype != torch.int64 or not 0 <= x.min() <= x.max() < self.symbols:
            raise ValueError(f"symbols must be int64 in 0 .. {self.symbols - 1}")
        x = x.contiguous()
        weights = [p.detach().contiguous() for p in self.recurrent]
        gradients = [torch.empty_like(w) for w in weights]
        h = torch.empty(B, self.n)
        self.library.reprise_sequence_forward(self.sequence, _pointers(weights), x.data_ptr(), T, B, h.data_ptr())
        W, b = self.output
        W.grad = b.grad = None
        with torch.enable_grad():
            h.requires_grad_()
            result = _loss_and_gradients(h @ W.t() + b, y)
        dh = h.grad.contiguous()
        self.library.reprise_sequence_backward(self.sequence, _pointers(gradients), x.data_ptr(), T, B, dh.data_ptr())
        for parameter, gradient in zip(self.recurrent, gradients, strict=True):
            parameter.grad = gradient
        return result


ENGINES = {"reference": AutogradEngine, "fused": SequenceEngine}


def choose_engine(name: str, model: nn.Module) -> LastStepEngine:
    """The engine called `name` (reference, fused) around `model`.

    "auto" is fused; reference for what fused does not compute, and where there is no compiler, said on stderr.
    Raises UserError for another name, and where fused is asked for and cannot be had.
    """
    unfit = unsuitable(model)
    known, slower = (Elman, LSTM), "3 times slower or more"
    return choose(name, model, ENGINES, "fused", "reference", knows=known, unfit=unfit, slower=slower)


def unsuitable(model: nn.Module) -> str:
    """Why the fused engine does not compute this model; empty if it does."""
    if type(model) not in (Elman, LSTM):
        return f"knows Elman and LSTM, not {type(model).__name__}"
    parameter = next(model.parameters())
    if parameter.dtype != torch.float32:
        return "computes in float32 only"
    return "" if parameter.device.type == "cpu" else "computes on the CPU only"


def _loss_and_gradients(logits: Tensor, y: Tensor) -> tuple[float, int]:
    loss = functional.cross_entropy(logits, y)
    loss.backward()
    return loss.item(), int((logits.argmax(1) == y).sum())


def _pointers(tensors: list[Tensor]) -> Parameters:
    return Parameters(*(t.data_ptr() for t in tensors))


@functools.cache
def _library() -> ctypes.CDLL:
    library = build.load("palindromes")
    library.reprise_sequence.argtypes, library.reprise_sequence.restype = [c_int] * 3, c_void_p
    library.reprise_sequence_free.argtypes, library.reprise_sequence_free.restype = [c_void_p], None
    for function in (library.reprise_sequence_forward, library.reprise_sequence_backward):
        function.argtypes = [c_void_p, POINTER(Parameters), c_void_p, c_int, c_int, c_void_p]
        function.restype = None
    return library
