"""The C++ engine of the batch-1 language models: `rntn.cpp` does the work, without the interpreter's lock.

It takes the parameters of the readable model in its own layout. Rows are padded with zeros to whole vectors, recurrence
matrices are transposed, and W_o lies in tiles of words with b_o as their last row.
"""

import math

import numpy as np
import torch
from torch import Tensor, nn

from reprise.counters import compute_dropout_threshold
from reprise.engines import build
from reprise.engines.rntn.subsequences import MAX_LENGTH, SGDSettings, Subsequences
from reprise.models.mrnn import MRNN

PADDING_BIAS = -1e30
"""b_o of the words that fill up the last tile: their probability is nothing."""

Model = build.make_structure("i V H M", "f h_0", "p matrix_of bias_of W_h U_h b_h W_o v U_l U_r")
Data = build.make_structure("p inputs targets offsets reset", "l count first_token")
FUNCTIONS = {"train": "dpppfiuuff", "evaluate": "dppp", "lanes": "i", "tile": "i", "max_length": "i"}


class FusedEngine:
    """For `RNTN` and `MRNN` in float32 on a CPU; see `ReferenceEngine`. NoCompiler if it cannot be compiled."""

    name = "fused"

    def __init__(self, model: nn.Module) -> None:
        self.library = build.load_functions("rntn", **FUNCTIONS)
        assert self.library.max_length() == MAX_LENGTH
        self.lanes, self.tile = self.library.lanes(), self.library.tile()
        self.V, self.H = model.vocabulary, model.hidden
        M = model.factors if isinstance(model, MRNN) else 0
        words = torch.arange(self.V)
        numbers = [torch.zeros_like(words)] * 2 if M else [model.choose_matrices(words), model.choose_biases(words)]
        matrix_of, bias_of = (number.to(torch.int32).numpy() for number in numbers)
        self.shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
        layouts = {name: self._compute_layout(name, shape) for name, shape in self.shapes.items() if name != "b_o"}
        arrays = dict(zip(layouts, build.allocate_in_huge_pages(list(layouts.values())), strict=True))
        self.tiles = arrays["W_o"]
        self.padded = {name: self._view_readable(name, array) for name, array in arrays.items() if name != "W_o"}
        sizes = {"V": self.V, "H": self.H, "M": M, "h_0": model.h_0}
        self.model = Model(**sizes, matrix_of=matrix_of, bias_of=bias_of, **arrays)
        self._hidden = np.full(self.H, model.h_0, dtype=np.float32)
        self.load(model.state_dict())

    @property
    def hidden(self) -> Tensor:
        """Return the carried state (H,) as a copy; assign to change it."""
        return torch.from_numpy(self._hidden.copy())

    @hidden.setter
    def hidden(self, value: Tensor) -> None:
        self._hidden[:] = value.detach().to("cpu", torch.float32).numpy()

    def train(self, data: Subsequences, settings: SGDSettings) -> float:
        """Make one SGD step a subsequence; see `ReferenceEngine.train`."""
        dropout = settings.dropout
        masks = settings.key, compute_dropout_threshold(dropout), float(np.float32(1.0 / (1.0 - dropout)))
        descent = settings.learning_rate, settings.reduction == "mean"
        bound = settings.error_bound or math.inf
        return self.library.train(self.model, self._make_data(data), self._hidden, *descent, *masks, bound)

    def evaluate(self, data: Subsequences) -> float:
        return self.library.evaluate(self.model, self._make_data(data), self._hidden)

    def export(self) -> dict[str, Tensor]:
        """Return the state_dict of the readable model, as copies."""
        words = self.tiles.mT.reshape(-1, self.H + 1)[: self.V]  # W_o and b_o side by side
        views = self.padded | {"W_o": words[:, :-1], "b_o": words[:, -1]}
        return {name: views[name].clone(memory_format=torch.contiguous_format) for name in self.shapes}

    def load(self, state: dict[str, Tensor]) -> None:
        """Take the values of a readable model's state_dict."""
        words = torch.zeros(len(self.tiles) * self.tile, self.H + 1)
        words[:, -1] = PADDING_BIAS
        words[: self.V, :-1], words[: self.V, -1] = state["W_o"], state["b_o"]
        self.tiles.copy_(words.view(-1, self.tile, self.H + 1).mT)
        for name, view in self.padded.items():
            view.copy_(state[name])

    def _compute_layout(self, name: str, shape: torch.Size) -> tuple[int, ...]:
        """Return the engine's shape of a parameter."""
        if name == "W_o":
            return -(-self.V // self.tile), self.H + 1, self.tile
        *outer, last = (*shape[:-2], shape[-1], shape[-2]) if name.startswith("U") else shape
        return *outer, -(-last // self.lanes) * self.lanes

    def _view_readable(self, name: str, array: Tensor) -> Tensor:
        """Return the engine's array of a parameter as a view in the readable model's shape."""
        shape = self.shapes[name]
        return array[..., : shape[-2]].mT if name.startswith("U") else array[..., : shape[-1]]

    def _make_data(self, data: Subsequences) -> Data:
        for tokens in (data.inputs, data.targets):
            if len(tokens) and not 0 <= tokens.min() <= tokens.max() < self.V:
                raise ValueError(f"token ids must be in 0 .. {self.V - 1}")
        if len(data) and np.diff(data.offsets).max() > MAX_LENGTH:
            raise ValueError(f"subsequences must have at most {MAX_LENGTH} words")
        return Data(
            inputs=np.ascontiguousarray(data.inputs, np.int32),
            targets=np.ascontiguousarray(data.targets, np.int32),
            offsets=np.ascontiguousarray(data.offsets, np.int64),
            reset=np.ascontiguousarray(data.reset, np.uint8),
            count=len(data),
            first_token=data.first_token,
        )
