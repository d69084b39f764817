"""The recurrences of the gated networks over a window of words, and the weights that they use."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from reprise.engines import build
from reprise.models.gated import GRU, GatedLanguageModel, State

Arrays = build.make_structure("i T B H G a_row", "p a h c tanh_c reset U b U_c b_c dh da dU dU_c matrix_of_row")
WordMatrices = build.make_structure("i B H width", "p matrices matrix_of_row order")
FUNCTIONS = {f"run_{cell}{way}": "-pp" for cell in ("lstm", "gru") for way in ("", "_back")}
"""What the recurrences call of `gated.cpp`: signatures, as `load_functions` takes them."""

Gradient = tuple[Tensor, Tensor | None, Tensor]
"""A parameter, which of its rows, None for all, and their gradient."""


@dataclass(frozen=True)
class Window:
    """What a pass over a window leaves for the way back: words' matrices k (T, B) and arrays of each step."""

    k: Tensor
    words: ctypes.Structure | None
    arrays: dict[str, Any]

    @property
    def h(self) -> Tensor:
        """Return the states (T B, H) after each step."""
        return self.arrays["h"][1:].flatten(0, 1)

    @property
    def state(self) -> State:
        """Return the last states, copies of (B, H) each."""
        return tuple(self.arrays[name][-1].clone() for name in ("h", "c") if name in self.arrays)


class RecurrentLayer:
    """Matrices U and biases of the gates and of the candidate.

    The candidate's matrices are transposed if they depend on the word, (K, width, width), filled up with zeros to whole
    vectors. Rows of a batch that use one matrix are computed together, where it lies: no matrix is copied for a word.
    """

    def __init__(self, library: SimpleNamespace, model: GatedLanguageModel) -> None:
        cell = "gru" if isinstance(model, GRU) else "lstm"
        self.library, self.model = library, model
        self._run, self._run_back = (getattr(library, f"run_{cell}{way}") for way in ("", "_back"))
        G, H, K, lanes = len(model.gates), model.hidden, model.matrices, library.get_lanes()
        width = -(-H // lanes) * lanes if K > 1 else H
        self.U, self.matrices = build.allocate_in_huge_pages([(G * H, H), (K, width, width)])
        self.U_c = self.matrices[:, :H, :H].mT if K > 1 else self.matrices
        self.b, self.b_c = torch.zeros(G * H), torch.zeros(K, H)

    def view_parameters(self) -> dict[str, Tensor]:
        """Return views of the parameters by the readable model's names."""
        model, c = self.model, self.model.candidate
        views = {f"U_h{c}": self.U_c, f"b_h{c}": self.b_c}
        for name, stacked in (("U", self.U), ("b", self.b)):
            views |= {
                f"{name}_h{gate}": part for gate, part in zip(model.gates, stacked.split(model.hidden), strict=True)
            }
        return views

    def run(self, words: Tensor, a: Tensor, state: State) -> Window:
        """Read words (T, B) from the states (B, H) on.

        a (T B, at least (G+1) H) holds the products with the inputs, gate by gate in the order of the equations and the
        candidate last; afterwards it holds the values of the gates and of the candidate.
        """
        (T, B), model = words.shape, self.model
        H, k = model.hidden, model.choose_matrices(words).contiguous()
        own = None
        if model.matrices > 1:
            order = k.argsort(dim=1, stable=True)
            sizes = {"B": B, "H": H, "width": self.matrices.shape[1]}
            own = WordMatrices(**sizes, matrices=self.matrices, matrix_of_row=k, order=order)
        states = {name: a.new_empty(T + 1, B, H) for name in "hc"[: model.states]}
        for every, first in zip(states.values(), state, strict=True):
            every[0] = first
        kept = {"reset" if isinstance(model, GRU) else "tanh_c": a.new_empty(T, B, H)}
        sizes = {"T": T, "B": B, "H": H, "G": len(model.gates), "a_row": a.shape[1]}
        weights = {"U": self.U, "b": self.b, "U_c": self.matrices, "b_c": self.b_c, "matrix_of_row": k}
        window = Window(k.flatten(), own, {**sizes, **weights, **states, **kept, "a": a})
        self._run(Arrays(**window.arrays), own)
        return window

    def run_back(self, window: Window, dh: Tensor) -> tuple[Tensor, list[Gradient]]:
        """Compute the derivatives by the products with the inputs, shaped as these, and the gradients of all weights.

        Those by h, dh (T B, H), came through the softmax.
        """
        a, H, gates = window.arrays["a"], self.model.hidden, len(self.b)
        da, dU = torch.zeros_like(a), torch.empty_like(self.U)
        dU_c = torch.empty_like(self.matrices) if window.words is None else None
        self._run_back(Arrays(**window.arrays, dh=dh, da=da, dU=dU, dU_c=dU_c), window.words)
        d_c = da[:, gates : gates + H]
        return da, [
            (self.U, None, dU),
            (self.b, None, da[:, :gates].sum(0)),
            self._sum_by_word(window, d_c) if dU_c is None else (self.matrices, None, dU_c),
            (self.b_c, None, torch.zeros_like(self.b_c).index_add_(0, window.k, d_c)),
        ]

    def _sum_by_word(self, window: Window, d: Tensor) -> Gradient:
        """Sum d_i h_i^T over the rows i of each matrix that occurs: d (T B, H), and h that the matrix multiplied.

        A gather U[k] would copy a matrix for every row, and its gradient as well.
        """
        k, arrays = window.k, window.arrays
        h = (arrays["reset"] if "reset" in arrays else arrays["h"][:-1]).flatten(0, 1)
        sorted_k, rows = k.sort(stable=True)
        present, counts = sorted_k.unique_consecutive(return_counts=True)
        sums = h.new_empty(len(present), h.shape[1], h.shape[1])
        parts = (some.index_select(0, rows).split(counts.tolist()) for some in (d, h))
        for total, of_d, of_h in zip(sums, *parts, strict=True):
            torch.mm(of_h.T, of_d, out=total)
        return self.U_c.mT, present, sums
