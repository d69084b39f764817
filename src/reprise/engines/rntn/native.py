"""The C++ engine of the batch-1 language models, called through ctypes.

`rntn.cpp` does the work, without the interpreter's lock. Here the parameters of the readable model are
laid out as it needs them: rows padded with zeros to whole vectors, recurrence matrices transposed, W_o
in tiles of words with b_o as their last row.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
from ctypes import POINTER, c_double, c_float, c_int, c_int32, c_int64, c_uint64, c_void_p

import numpy as np
import torch
from torch import Tensor, nn

from reprise.counters import dropout_threshold
from reprise.engines import build
from reprise.engines.choice import check_fit
from reprise.engines.readable import check_state
from reprise.engines.rntn.subsequences import MAX_LENGTH, Subsequences
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN

PADDING_BIAS = -1e30
"""b_o of the words that fill up the last tile: their probability is nothing."""

_HUGE = 1 << 21
"""Bytes of a huge page, on x86-64 and mostly elsewhere."""


class Model(ctypes.Structure):
    _fields_ = [
        ("V", c_int32),
        ("H", c_int32),
        ("M", c_int32),
        ("h_0", c_float),
        *((name, c_void_p) for name in ("matrix_of", "bias_of")),
        *((name, c_void_p) for name in ("W_h", "U_h", "b_h", "W_o", "v", "U_l", "U_r")),
    ]


class Data(ctypes.Structure):
    _fields_ = [
        *((name, c_void_p) for name in ("inputs", "targets", "offsets", "reset")),
        ("count", c_int64),
        ("first_token", c_int64),
    ]


class FusedEngine:
    """A `SubsequenceEngine` for `RNTN` and `MRNN` in float32; NoCompiler if it cannot be compiled."""

    name = "fused"

    def __init__(self, model: nn.Module) -> None:
        check_fit(model, (RNTN, MRNN))
        self.library = _library()
        self.lanes, self.tile = self.library.reprise_lanes(), self.library.reprise_tile()
        self.V, self.H = model.vocabulary, model.hidden
        self.M = model.factors if isinstance(model, MRNN) else 0
        words = torch.arange(self.V)
        zero = torch.zeros_like(words)
        self.arrays = {
            "matrix_of": (zero if self.M else model.matrix_index(words)).to(torch.int32).numpy(),
            "bias_of": (zero if self.M else model.bias_index(words)).to(torch.int32).numpy(),
        }
        self.shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
        for name in ("W_h", "U_h", "b_h", "v", "U_l", "U_r"):
            if name in self.shapes:
                self.arrays[name] = _zeros(self._layout(name))
        self.tiles = -(-self.V // self.tile)
        self.arrays["W_o"] = _zeros((self.tiles, self.H + 1, self.tile))
        self.arrays["W_o"][:, self.H] = PADDING_BIAS
        pointers = {name: array.ctypes.data for name, array in self.arrays.items()}
        self.model = Model(self.V, self.H, self.M, model.h_0, **pointers)
        self._hidden = np.full(self.H, model.h_0, dtype=np.float32)
        self.load(model.state_dict())

    @property
    def hidden(self) -> Tensor:
        """The carried state (H,): a copy; assign to change it."""
        return torch.from_numpy(self._hidden.copy())

    @hidden.setter
    def hidden(self, value: Tensor) -> None:
        self._hidden[:] = value.detach().to("cpu", torch.float32).numpy()

    def train(self, data: Subsequences, *, learning_rate: float, reduction: str, dropout: float, key: int) -> float:
        """One SGD step a subsequence; the summed loss in nats. See `SubsequenceEngine`."""
        if reduction not in ("sum", "mean"):
            raise ValueError(f"reduction must be sum or mean, not {reduction}")
        arguments, _kept = self._arguments(data)
        return self.library.reprise_train(
            *arguments,
            learning_rate,
            int(reduction == "mean"),
            key,
            dropout_threshold(dropout),
            float(np.float32(1.0 / (1.0 - dropout))),
        )

    def evaluate(self, data: Subsequences) -> float:
        """The summed loss in nats, without dropout and without steps."""
        arguments, _kept = self._arguments(data)
        return self.library.reprise_evaluate(*arguments)

    def export(self) -> dict[str, Tensor]:
        """The state_dict of the readable model, as copies."""
        state = {}
        for name, shape in self.shapes.items():
            if name in ("W_o", "b_o"):
                rows = slice(0, self.H) if name == "W_o" else self.H
                words = np.moveaxis(self.arrays["W_o"][:, rows], -1, 1)  # (tiles, tile[, H])
                array = words.reshape(self.tiles * self.tile, *words.shape[2:])[: self.V]
            else:
                array = self._as_read(name)
            state[name] = torch.from_numpy(np.array(array, order="C").reshape(shape))
        return state

    def load(self, state: dict[str, Tensor]) -> None:
        """Takes the values of a readable model's state_dict; ValueError if names or shapes differ."""
        check_state(state, self.shapes)
        for name, value in state.items():
            array = value.detach().to("cpu", torch.float32).numpy()
            if name in ("W_o", "b_o"):
                fill = PADDING_BIAS if name == "b_o" else 0.0
                words = np.full((self.tiles * self.tile, *array.shape[1:]), fill, dtype=np.float32)
                words[: self.V] = array
                words = words.reshape(self.tiles, self.tile, *array.shape[1:])
                rows = slice(0, self.H) if name == "W_o" else self.H
                self.arrays["W_o"][:, rows] = np.moveaxis(words, 1, -1)
            else:
                view = self._as_read(name)
                view[...] = array.reshape(view.shape)

    def _layout(self, name: str) -> tuple[int, ...]:
        """The engine's shape of a parameter."""
        shape = self.shapes[name]
        if name.startswith("U"):
            shape = (*shape[:-2], shape[-1], shape[-2])
        padded = -(-shape[-1] // self.lanes) * self.lanes
        return (*shape[:-1], padded)

    def _as_read(self, name: str) -> np.ndarray:
        """The engine's array of a parameter, seen in the readable model's shape."""
        shape, array = self.shapes[name], self.arrays[name]
        if name.startswith("U"):
            return np.swapaxes(array[..., : shape[-2]], -1, -2)
        return array[..., : shape[-1]]

    def _arguments(self, data: Subsequences) -> tuple[tuple, list[np.ndarray]]:
        """The first arguments of both C functions, and the arrays that must outlive the call."""
        kept = [
            np.ascontiguousarray(data.inputs, dtype=np.int32),
            np.ascontiguousarray(data.targets, dtype=np.int32),
            np.ascontiguousarray(data.offsets, dtype=np.int64),
            np.ascontiguousarray(data.reset, dtype=np.uint8),
        ]
        for tokens in kept[:2]:
            if len(tokens) and not 0 <= tokens.min() <= tokens.max() < self.V:
                raise ValueError(f"token ids must be in 0 .. {self.V - 1}")
        c_data = Data(*(array.ctypes.data for array in kept), len(data), data.first_token)
        return (ctypes.byref(self.model), ctypes.byref(c_data), self._hidden.ctypes.data), kept


@functools.cache
def _library() -> ctypes.CDLL:
    library = build.load("rntn")
    start = [POINTER(Model), POINTER(Data), c_void_p]
    library.reprise_train.argtypes = [*start, c_float, c_int, c_uint64, c_uint64, c_float]
    library.reprise_train.restype = library.reprise_evaluate.restype = c_double
    library.reprise_evaluate.argtypes = start
    assert library.reprise_max_length() == MAX_LENGTH
    return library


def _zeros(shape: tuple[int, ...]) -> np.ndarray:
    """float32 zeros on the boundary of a huge page, in huge pages where the system has them.

    Tables of many megabytes otherwise miss the CPU's buffer of page addresses. The memory is this process's own: Linux
    gives shared memory, which `mmap` makes unless told otherwise, no huge pages by default.
    """
    count = int(np.prod(shape))
    memory = mmap.mmap(-1, 4 * count + _HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # of a kernel that was built without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    begin = -np.frombuffer(memory, dtype=np.uint8, count=1).ctypes.data % _HUGE
    return np.frombuffer(memory, dtype=np.float32, count=count, offset=begin).reshape(shape)
