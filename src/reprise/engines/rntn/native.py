"""The C++ engine of the batch-1 language models: `rntn.cpp` does the work, without the interpreter's lock.

Here the parameters of the readable model are laid out as it needs them: rows padded with zeros to whole vectors,
recurrence matrices transposed, W_o in tiles of words with b_o as their last row.
"""

from __future__ import annotations

import contextlib
import mmap

import numpy as np
import torch
from torch import Tensor, nn

from reprise.counters import dropout_threshold
from reprise.engines import build
from reprise.engines.readable import check_state
from reprise.engines.rntn.subsequences import MAX_LENGTH, Subsequences
from reprise.models.mrnn import MRNN

PADDING_BIAS = -1e30
"""b_o of the words that fill up the last tile: their probability is nothing."""

_HUGE = 1 << 21
"""Bytes of a huge page, on x86-64 and mostly elsewhere."""

Model = build.structure("i V H M", "f h_0", "p matrix_of bias_of W_h U_h b_h W_o v U_l U_r")
Data = build.structure("p inputs targets offsets reset", "l count first_token")
FUNCTIONS = {"train": "dpppfiuuf", "evaluate": "dppp", "lanes": "i", "tile": "i", "max_length": "i"}


class FusedEngine:
    """For `RNTN` and `MRNN` in float32 on a CPU; see `ReferenceEngine`. NoCompiler if it cannot be compiled."""

    name = "fused"

    def __init__(self, model: nn.Module) -> None:
        self.library = build.functions("rntn", **FUNCTIONS)
        assert self.library.max_length() == MAX_LENGTH
        self.lanes, self.tile = self.library.lanes(), self.library.tile()
        self.V, self.H = model.vocabulary, model.hidden
        M = model.factors if isinstance(model, MRNN) else 0
        words = torch.arange(self.V)
        numbers = [torch.zeros_like(words)] * 2 if M else [model.matrix_index(words), model.bias_index(words)]
        matrix_of, bias_of = (number.to(torch.int32).numpy() for number in numbers)
        self.shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
        self.arrays = {name: _zeros(self._layout(name)) for name in self.shapes if name not in ("W_o", "b_o")}
        self.arrays["W_o"] = _zeros((-(-self.V // self.tile), self.H + 1, self.tile))
        self.arrays["W_o"][:, self.H] = PADDING_BIAS
        sizes = {"V": self.V, "H": self.H, "M": M, "h_0": model.h_0}
        self.model = Model(**sizes, matrix_of=matrix_of, bias_of=bias_of, **self.arrays)
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
        if reduction not in ("sum", "mean"):
            raise ValueError(f"reduction must be sum or mean, not {reduction}")
        kept = float(np.float32(1.0 / (1.0 - dropout)))
        how = learning_rate, int(reduction == "mean"), key, dropout_threshold(dropout), kept
        return self.library.train(self.model, self._data(data), self._hidden, *how)

    def evaluate(self, data: Subsequences) -> float:
        return self.library.evaluate(self.model, self._data(data), self._hidden)

    def export(self) -> dict[str, Tensor]:
        """The state_dict of the readable model, as copies."""
        seen = {n: self._words(n)[: self.V] if n in ("W_o", "b_o") else self._view(n) for n in self.shapes}
        return {name: torch.from_numpy(np.array(array, order="C")) for name, array in seen.items()}

    def load(self, state: dict[str, Tensor]) -> None:
        """Takes the values of a readable model's state_dict; ValueError if names or shapes differ."""
        check_state(state, self.shapes)
        for name, value in state.items():
            values, view = value.detach().to("cpu", torch.float32).numpy(), self._view(name)
            if name in ("W_o", "b_o"):
                words = self._words(name)
                words[: self.V] = values
                values = words
            view[...] = values.reshape(view.shape)

    def _layout(self, name: str) -> tuple[int, ...]:
        """The engine's shape of a parameter but W_o and b_o."""
        shape = self.shapes[name]
        if name.startswith("U"):
            shape = (*shape[:-2], shape[-1], shape[-2])
        return (*shape[:-1], -(-shape[-1] // self.lanes) * self.lanes)

    def _view(self, name: str) -> np.ndarray:
        """The engine's array of a parameter, seen in the readable model's shape, W_o and b_o tile by tile."""
        if name in ("W_o", "b_o"):
            return np.moveaxis(self.arrays["W_o"][:, slice(0, self.H) if name == "W_o" else self.H], -1, 1)
        shape, array = self.shapes[name], self.arrays[name]
        if name.startswith("U"):
            return np.swapaxes(array[..., : shape[-2]], -1, -2)
        return array[..., : shape[-1]]

    def _words(self, name: str) -> np.ndarray:
        """A copy of W_o or b_o, a row a word; those that fill up the last tile come last."""
        tiles = self._view(name)
        return np.array(tiles, order="C").reshape(-1, *tiles.shape[2:])

    def _data(self, data: Subsequences) -> Data:
        for tokens in (data.inputs, data.targets):
            if len(tokens) and not 0 <= tokens.min() <= tokens.max() < self.V:
                raise ValueError(f"token ids must be in 0 .. {self.V - 1}")
        return Data(
            inputs=np.ascontiguousarray(data.inputs, np.int32),
            targets=np.ascontiguousarray(data.targets, np.int32),
            offsets=np.ascontiguousarray(data.offsets, np.int64),
            reset=np.ascontiguousarray(data.reset, np.uint8),
            count=len(data),
            first_token=data.first_token,
        )


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
