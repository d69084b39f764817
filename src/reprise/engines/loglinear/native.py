"""The passes and the LSTM layer of a log-linear RNN in C++ (loglinear.cpp), in float32 on a CPU."""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Mapping
from ctypes import POINTER, c_float, c_int, c_int64, c_long, c_void_p

import torch
from torch import Tensor

from reprise.engines import build
from reprise.engines.gemm import Linear
from reprise.engines.loglinear.classes import Classes
from reprise.engines.loglinear.lstm import LSTMLayer
from reprise.engines.loglinear.passes import Passes, Rates

HUGE, ALIGNED = (1 << 21) // 4, 1 << 10
"""Floats of a huge page, and of an ordinary one, where tensors in such pages begin."""


class NativeLinear:
    """`Linear` in float32; one of w and its transpose is contiguous."""

    def __init__(self) -> None:
        self.product = _library().reprise_ll_product

    def __call__(self, x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
        """See `Linear`."""
        (rows, depth), columns, transposed = x.shape, w.shape[0], w.is_contiguous()
        x, out = x.contiguous(), x.new_empty(rows, columns)
        self.product(rows, depth, columns, transposed, *_pointers(x, w if transposed else w.T, bias, out))
        return out


class NativePasses(Passes):
    """See `Passes`; all tensors are contiguous. Raises NoCompiler where it cannot be compiled."""

    def __init__(self, linear: Linear) -> None:
        super().__init__(linear)
        self.library = _library()

    def kept(self, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """See `Passes`: side by side, in huge pages where the system has them."""
        sizes = [-(-value.numel() // ALIGNED) * ALIGNED for value in values.values()]
        space = torch.empty(sum(sizes) + HUGE, dtype=torch.float32)
        self.library.reprise_ll_huge_pages(*_pointers(space), space.nbytes)
        begin = -(space.data_ptr() // space.itemsize) % HUGE
        places = space[begin : begin + sum(sizes)].split(sizes)
        return {
            name: place[: value.numel()].view(value.shape).copy_(value)
            for (name, value), place in zip(values.items(), places, strict=True)
        }

    def add_rows(self, rows: Tensor, number: Tensor, out: Tensor) -> None:
        """See `Passes`."""
        self.library.reprise_ll_add_rows(*rows.shape, *_pointers(rows, number, out))

    def embed(self, table: Tensor, classes: Classes, ids: Tensor) -> Tensor:
        """See `Passes`."""
        out = table.new_empty(ids.shape[0], table.shape[1])
        tensors = _pointers(table, classes.indptr, classes.indices, ids, out)
        self.library.reprise_ll_sum_rows(*out.shape, classes.M if classes.identities else -1, *tensors)
        return out

    def softmax(self, L: Tensor, target: Tensor, weight: float) -> Tensor:
        """See `Passes`."""
        losses = torch.empty(L.shape[0], dtype=torch.float64)
        scores, target_, losses_ = _pointers(L, target, losses)
        self.library.reprise_ll_softmax(*L.shape, scores, target_, weight, losses_)
        return losses

    def class_softmax(
        self, a: Tensor, classes: Classes, log_mass: Tensor, target: Tensor, weight: float
    ) -> tuple[Tensor, Tensor]:
        """See `Passes`."""
        losses = torch.empty(a.shape[0], dtype=torch.float64)
        da = torch.empty_like(a) if weight else None
        arrays = _pointers(classes.indptr, classes.indices, log_mass)
        sizes = classes.tags.shape[0], classes.M, classes.identities, a.shape[1]
        a_, target_, da_, losses_ = _pointers(a, target, da, losses)
        self.library.reprise_ll_class_softmax(_Classes(*sizes, *arrays), a.shape[0], a_, target_, weight, da_, losses_)
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
        self.library.reprise_ll_rmsprop_product(*p.shape, h.shape[0], *_pointers(d, h, p, a), _Rates(*rates))


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
    library = build.load("loglinear")
    pointer, window = c_void_p, POINTER(_Window)
    signatures = {
        "layer": [c_int],
        "layer_free": [pointer],
        "forward": [pointer, window, pointer],
        "backward": [pointer, window, pointer, pointer, c_int, pointer],
        "product": [c_int] * 4 + [pointer] * 4,
        "huge_pages": [pointer, c_long],
        "add_rows": [c_int] * 2 + [pointer] * 3,
        "sum_rows": [c_int] * 3 + [pointer] * 5,
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
