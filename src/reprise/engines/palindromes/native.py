"""The C++ engine of document 002's Elman and LSTM networks with a loss on the last state, called through ctypes."""

from __future__ import annotations

import ctypes
import functools
import weakref
from ctypes import POINTER, c_int, c_void_p

import torch
from torch import Tensor, nn

from reprise.engines import build
from reprise.engines.choice import check_fit
from reprise.engines.palindromes.reference import through_softmax
from reprise.models.elman import Elman
from reprise.models.lstm import LSTM


class Parameters(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("W_x", "W_h", "b")]


class FusedEngine:
    """The recurrence in C++ (palindromes.cpp), in float32 on the CPU; the output layer stays torch's.

    Raises NoCompiler where it cannot be compiled and TypeError for other models and dtypes.
    """

    name = "fused"

    def __init__(self, model: nn.Module) -> None:
        check_fit(model, (Elman, LSTM))
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
        """As `LastStepEngine` says; ValueError for symbols that the model does not have."""
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
            result = through_softmax(h @ W.t() + b, y)
        dh = h.grad.contiguous()
        self.library.reprise_sequence_backward(self.sequence, _pointers(gradients), x.data_ptr(), T, B, dh.data_ptr())
        for parameter, gradient in zip(self.recurrent, gradients, strict=True):
            parameter.grad = gradient
        return result


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
