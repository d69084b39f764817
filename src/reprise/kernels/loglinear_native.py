"""The passes and the LSTM layer of a log-linear RNN in C++ (loglinear.cpp), in float32 on a CPU."""

from __future__ import annotations

import ctypes
import functools
import weakref
from ctypes import POINTER, c_float, c_int, c_int64, c_long, c_void_p

import torch
from torch import Tensor

from reprise.kernels import build
from reprise.kernels.gemm import Linear
from reprise.kernels.loglinear_classes import Classes
from reprise.kernels.loglinear_lstm import LSTMLayer
from reprise.kernels.loglinear_passes import Passes, Rates


class NativePasses(Passes):
    """See `Passes`; all tensors are contiguous. Raises NoCompiler where it cannot be compiled."""

    def __init__(self, linear: Linear) -> None:
        super().__init__(linear)
        self.library = _library()

    def add_rows(self, rows: Tensor, number: Tensor, out: Tensor) -> None:
        """See `Passes`."""
        self.library.reprise_ll_add_rows(*rows.shape, *_pointers(rows, number, out))

    def embed(self, table: Tensor, classes: Classes, ids: Tensor) -> Tensor:
        """See `Passes`."""
        out = table.new_empty(len(ids), table.shape[1])
        if classes.identities:
            first = table[ids.clamp(max=classes.M)]
        tensors = _pointers(table, classes.indptr, classes.indices, ids, out)
        self.library.reprise_ll_sum_rows(*out.shape, *tensors)
        return out.add_(first) if classes.identities else out

    def softmax(self, L: Tensor, target: Tensor, weight: float) -> Tensor:
        """See `Passes`."""
        losses = torch.empty(len(L), dtype=torch.float64)
        scores, target_, losses_ = _pointers(L, target, losses)
        self.library.reprise_ll_softmax(*L.shape, scores, target_, weight, losses_)
        return losses

    def class_softmax(
        self, a: Tensor, classes: Classes, log_mass: Tensor, target: Tensor, weight: float
    ) -> tuple[Tensor, Tensor]:
        """See `Passes`."""
        losses = torch.empty(len(a), dtype=torch.float64)
        da = torch.empty_like(a) if weight else None
        arrays = _pointers(classes.indptr, classes.indices, log_mass)
        sizes = len(classes.tags), classes.M, classes.identities, a.shape[1]
        a_, target_, da_, losses_ = _pointers(a, target, da, losses)
        self.library.reprise_ll_class_softmax(_Classes(*sizes, *arrays), len(a), a_, target_, weight, da_, losses_)
        return a if da is None else da, losses

    def rmsprop(self, p: Tensor, a: Tensor, g: Tensor, rates: Rates) -> None:
        """See `Passes`."""
        self.library.reprise_ll_rmsprop(p.numel(), *_pointers(p, a, g), _Rates(*rates))

    def rmsprop_rows(
        self, p: Tensor, a: Tensor, seen: Tensor, rows: Tensor, g: Tensor, step: int, rates: Rates
    ) -> None:
        """See `Passes`."""
        tensors = _pointers(rows, p, a, seen, g)
        self.library.reprise_ll_rmsprop_rows(*g.shape, *tensors, step, _Rates(*rates))

    def rmsprop_product(self, p: Tensor, a: Tensor, d: Tensor, h: Tensor, rates: Rates) -> None:
        """See `Passes`."""
        self.library.reprise_ll_rmsprop_product(*p.shape, len(h), *_pointers(d, h, p, a), _Rates(*rates))


class NativeLSTMLayer(LSTMLayer):
    """See `LSTMLayer`."""

    def __init__(self, U: Tensor, linear: Linear) -> None:
        super().__init__(U, linear)
        self.library = _library()
        self.layer = self.library.reprise_ll_layer(len(U))
        weakref.finalize(self, self.library.reprise_ll_layer_free, self.layer)

    def _read(self, x: Tensor, number: Tensor | None) -> None:
        state = self.state or (None, None)
        left = (self.gates, self.c, self.tanh_c, self.h)
        self.given = x, number, *state, *left  # they have to live until `backward`
        self.window = _Window(*self.h.shape[:2], *_pointers(*self.given))
        self.library.reprise_ll_forward(self.layer, self.window, *_pointers(self.U))

    def backward(self, dh: Tensor) -> Tensor:
        """See `LSTMLayer`."""
        U, given, out = _pointers(self.U, dh.contiguous(), self.d_gates)
        self.library.reprise_ll_backward(self.layer, self.window, U, given, dh.dim() == 3, out)
        return self.d_gates


class _Rates(ctypes.Structure):
    _fields_ = [(name, c_float) for name in Rates._fields]


class _Classes(ctypes.Structure):
    _fields_ = [
        *((name, c_int) for name in ("C", "M", "identities", "features")),
        *((name, c_void_p) for name in ("indptr", "indices", "log_mass")),
    ]


class _Window(ctypes.Structure):
    _fields_ = [
        *((name, c_int) for name in ("T", "B")),
        *((name, c_void_p) for name in ("x", "number", "h_0", "c_0", "gates", "c", "tanh_c", "h")),
    ]


def _pointers(*tensors: Tensor | None) -> list[int | None]:
    for tensor in tensors:
        if tensor is not None and not tensor.is_contiguous():
            raise ValueError(f"a tensor of strides {tensor.stride()} cannot be passed to C++")
    return [None if tensor is None else tensor.data_ptr() for tensor in tensors]


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(build.library("loglinear")))
    pointer, window = c_void_p, POINTER(_Window)
    signatures = {
        "layer": [c_int],
        "layer_free": [pointer],
        "forward": [pointer, window, pointer],
        "backward": [pointer, window, pointer, pointer, c_int, pointer],
        "add_rows": [c_int] * 2 + [pointer] * 3,
        "sum_rows": [c_int] * 2 + [pointer] * 5,
        "softmax": [c_int] * 2 + [pointer] * 2 + [c_float, pointer],
        "class_softmax": [POINTER(_Classes), c_int, pointer, pointer, c_float, pointer, pointer],
        "rmsprop": [c_long] + [pointer] * 3 + [_Rates],
        "rmsprop_rows": [c_int] * 2 + [pointer] * 5 + [c_int64, _Rates],
        "rmsprop_product": [c_int] * 3 + [pointer] * 4 + [_Rates],
    }
    for name, arguments in signatures.items():
        function = getattr(library, f"reprise_ll_{name}")
        function.argtypes, function.restype = arguments, c_void_p if name == "layer" else None
    return library
