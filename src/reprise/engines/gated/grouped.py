"""GRU, LSTM and their restricted tensor networks without autograd: all that can be is one product a window.

Against autograd on the readable model: no matrix is copied for a word. Gradients of matrices and embeddings exist for
the words of the window alone; weight gradients are one product over all steps. Logits become their own derivatives in
place, and products use the whole vector width (`engines/gemm.py`). What lies between the large products is C++,
`gated.cpp`. Symbols as in `models/gated.py`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from reprise.engines import build
from reprise.engines.clipping import compute_clipping_factor
from reprise.engines.gated.reference import compute_word_share
from reprise.engines.gemm import Linear, choose_linear
from reprise.engines.readable import copy_state
from reprise.models.gated import GRU, GatedLanguageModel, Masks, State

Window = build.make_structure("i B H", "p gates candidate h c tanh_c reset dh d_gates d_candidate carried")
Matrices = build.make_structure("i B H width", "p matrices matrix_of_row order")
FUNCTIONS = {
    "lstm_forward": "-pipp",
    "lstm_backward": "-pipp",
    "gru_gates": "-pip",
    "gru_state": "-pip",
    "gru_backward": "-pip",
    "gru_backward_reset": "-pip",
    "multiply": "-pipp",
    "multiply_transposed": "-pipp",
    "softmax_minus_target": "dpiipp",
    "lanes": "i",
}


class GroupedEngine:
    """For GRU and LSTM in float32 on a CPU; see `ReferenceEngine`. NoCompiler if it cannot be compiled."""

    name = "grouped"

    def __init__(self, model: GatedLanguageModel) -> None:
        self.model, self.device = model, model.E.device
        self.state: State = ()
        self.library, self.linear = build.load_functions("gated", **FUNCTIONS), choose_linear(model.E)
        G, V, E, H, K = len(model.gates), model.vocabulary, model.embedding, model.hidden, model.matrices
        lanes = self.library.lanes() if K > 1 else 1
        width = -(-H // lanes) * lanes  # words' matrices are filled up to whole vectors with zeros
        # The logistic gates' weights one above the other; the candidate's, `_c`, apart.
        shapes = [(V, E), (G * H, E), (H, G * H), (H, E), (K, width, width), (H, V)]
        self.E, self.W, self.U_T, self.W_c, padded, self.W_o_T = build.allocate_in_huge_pages(shapes)
        self.U_c_T = padded[:, :H, :H]
        self.b, self.b_c, self.b_o = torch.zeros(G * H), torch.zeros(K, H), torch.zeros(V)
        self.load(model.state_dict())
        self.matrices = OneMatrix(self.U_c_T, self.linear) if K == 1 else WordMatrices(self.library, padded, H)
        recurrence = GRURecurrence if isinstance(model, GRU) else LSTMRecurrence
        self.recurrence = recurrence(self.library, self.U_T, self.matrices, self.linear)

    def reset(self, batch: int) -> None:
        self.state = tuple(self.E.new_zeros(batch, self.model.hidden) for _ in range(self.model.states))

    @torch.no_grad()
    def train(
        self, x: Tensor, y: Tensor, masks: Masks | None, *, learning_rate: float, reduction: str, clip_norm: float
    ) -> float:
        share = compute_word_share(reduction, *x.shape)
        words, k, e, h = self._run_forward(x, masks)
        softmax_input = h if masks is None else h * masks[1].flatten(0, 1)
        loss, dh, dW_o, db_o = self._differentiate_softmax(softmax_input, y.flatten(), share)
        if masks is not None:
            dh.mul_(masks[1].flatten(0, 1))
        d_gates, d_c = (d.flatten(0, 1) for d in self.recurrence.backward(dh.view(*x.shape, -1)))
        h_before, matrix_inputs = self.recurrence.h[:-1].flatten(0, 1), self.recurrence.matrix_inputs.flatten(0, 1)
        de = self.linear(d_gates, self.W.T, None).add_(self.linear(d_c, self.W_c.T, None))  # (T B, E)
        if masks is not None:
            de.mul_(masks[0].flatten(0, 1))
        present, place = words.unique(return_inverse=True)
        dE = de.new_zeros(len(present), de.shape[1]).index_add_(0, place, de)
        by_gates, by_c = d_gates.T.contiguous(), d_c.T.contiguous()
        gradients = [
            (self.E, present, dE),
            (self.W, None, self.linear(by_gates, e.T, None)),
            (self.U_T, None, self.linear(h_before.T.contiguous(), d_gates.T, None)),
            (self.b, None, d_gates.sum(0)),
            (self.W_c, None, self.linear(by_c, e.T, None)),
            (self.U_c_T, *self.matrices.gradient(d_c, matrix_inputs)),
            (self.b_c, None, torch.zeros_like(self.b_c).index_add_(0, k, d_c)),
            (self.W_o_T, None, dW_o),
            (self.b_o, None, db_o),
        ]
        step = learning_rate * compute_clipping_factor((g for _, _, g in gradients), clip_norm, by_rows=True)
        for parameter, rows, gradient in gradients:
            if rows is None:
                parameter.sub_(gradient, alpha=step)
            else:
                parameter.index_add_(0, rows, gradient, alpha=-step)
        return loss

    @torch.no_grad()
    def evaluate(self, x: Tensor, y: Tensor) -> float:
        _, _, _, h = self._run_forward(x, None)
        L = self.linear(h, self.W_o_T.T, self.b_o)  # (T B, V)
        return self._softmax_minus_target(L, y.flatten(), torch.zeros_like(self.b_o))

    def _run_forward(self, x: Tensor, masks: Masks | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return words, their matrices (T B,), embeddings (T B, E) and states (T B, H) of a window x (T, B)."""
        build.require_symbols(x, self.model.vocabulary, "words")
        words, k = x.flatten(), self.model.choose_matrices(x).contiguous()
        self.matrices.plan(k)
        k = k.flatten()
        e = self.E[words] if masks is None else self.E[words].mul_(masks[0].flatten(0, 1))
        gates = self.linear(e, self.W, self.b).view(*x.shape, -1)
        candidate = self.linear(e, self.W_c, None).add_(self.b_c[k]).view(*x.shape, -1)
        h, self.state = self.recurrence.forward(gates, candidate, self.state)
        return words, k, e, h.flatten(0, 1)

    def _differentiate_softmax(self, s: Tensor, y: Tensor, share: float) -> tuple[float, Tensor, Tensor, Tensor]:
        """Return the summed loss, and its derivatives by s (n, H), W_o^T (H, V) and b_o (V,), of targets y (n,)."""
        L = self.linear(s, self.W_o_T.T, self.b_o)  # (n, V)
        db_o = torch.zeros_like(self.b_o)
        loss = self._softmax_minus_target(L, y, db_o)
        ds = self.linear(L, self.W_o_T, None).mul_(share)
        return loss, ds, self.linear((s * share).T.contiguous(), L.T, None), db_o.mul_(share)

    def _softmax_minus_target(self, L: Tensor, y: Tensor, sums: Tensor) -> float:
        """Turn logits L (n, V) into the loss's derivatives by them and add these to sums (V,).

        Returns the summed loss of the targets y (n,), nats.
        """
        build.require_symbols(y, self.model.vocabulary, "words")
        return self.library.softmax_minus_target(L, *L.shape, y.contiguous(), sums)

    def export(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self._view_parameters().items()}

    def load(self, state: dict[str, Tensor]) -> None:
        copy_state(self._view_parameters(), state)

    def _view_parameters(self) -> dict[str, Tensor]:
        """Return views of the parameters, by the names and in the order of the readable model."""
        model, c = self.model, self.model.candidate
        views = {"E": self.E, "W_o": self.W_o_T.T, "b_o": self.b_o}
        views |= {f"W_h{c}": self.W_c, f"U_h{c}": self.U_c_T.mT, f"b_h{c}": self.b_c}
        for name, stacked in (("W", self.W), ("U", self.U_T.T), ("b", self.b)):
            parts = stacked.split(model.hidden)
            views |= {f"{name}_h{gate}": part for gate, part in zip(model.gates, parts, strict=True)}
        return {name: views[name] for name, _ in model.named_parameters()}


# Recurrences begin with the gates' products with the input, made for all steps at once: `gates` (T, B, G H) for the G
# logistic gates in the order of the equations, `candidate` (T, B, H). They end with the loss's derivatives by the same.
# What is computed for each unit of a step is in C++.


class WindowRecurrence:
    """`transposed` (H, G H) holds the gates' U^T side by side."""

    def __init__(
        self, library: SimpleNamespace, transposed: Tensor, matrices: OneMatrix | WordMatrices, linear: Linear
    ) -> None:
        self.library, self.transposed, self.matrices, self.linear = library, transposed, matrices, linear

    def begin(self, gates: Tensor, candidate: Tensor, state: State, **saved: Tensor) -> Any:
        """Make the arrays of a window with first states (B, H) and return the window, as C++ reads it."""
        T, B, H = candidate.shape
        states = [candidate.new_empty(T + 1, B, H) for _ in state]
        for every, first in zip(states, state, strict=True):
            every[0] = first
        self.h = states[0]
        self.forward_arrays = {"gates": gates, "candidate": candidate, **dict(zip("hc", states, strict=False)), **saved}
        return Window(B=B, H=H, **self.forward_arrays)

    def begin_backward(self, dh: Tensor) -> tuple[Any, Tensor, Tensor]:
        """Return the window for the way back from dh (T, B, H), and where derivatives by gates and candidate go."""
        d_gates, d_candidate = (torch.empty_like(self.forward_arrays[name]) for name in ("gates", "candidate"))
        arrays = {"dh": dh, "d_gates": d_gates, "d_candidate": d_candidate, "carried": torch.empty_like(dh[0])}
        return Window(B=dh.shape[1], H=dh.shape[2], **self.forward_arrays, **arrays), d_gates, d_candidate


class GRURecurrence(WindowRecurrence):
    """Equations (6)-(9)."""

    def forward(self, gates: Tensor, candidate: Tensor, state: State) -> tuple[Tensor, State]:
        """Finish the gates in place; return all states h (T, B, H) and the last (h,)."""
        self.matrix_inputs = torch.empty_like(candidate)  # r_t * h_{t-1}, which meets the matrix
        window = self.begin(gates, candidate, state, reset=self.matrix_inputs)
        for t, (h, rh) in enumerate(zip(self.h[:-1].unbind(), self.matrix_inputs.unbind(), strict=True)):
            self.library.gru_gates(window, t, self.linear(h, self.transposed.T, None))  # (6), (7)
            self.library.gru_state(window, t, self.matrices.multiply(t, rh))  # (8), (9)
        return self.h[1:], (self.h[-1],)

    def backward(self, dh: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the derivatives by gates and candidate from those by states, dh (T, B, H), of the softmax."""
        window, d_gates, d_candidate = self.begin_backward(dh)
        by_gates = None  # the part of dh that comes from the next step's gates
        for t in range(len(dh) - 1, -1, -1):
            self.library.gru_backward(window, t, by_gates)
            self.library.gru_backward_reset(window, t, self.matrices.multiply_transposed(t, d_candidate[t]))
            by_gates = self.linear(d_gates[t], self.transposed, None) if t else None
        return d_gates, d_candidate


class LSTMRecurrence(WindowRecurrence):
    """Equations (10)-(15)."""

    def forward(self, gates: Tensor, candidate: Tensor, state: State) -> tuple[Tensor, State]:
        """Finish the gates in place; return all states h (T, B, H) and the last (h, c)."""
        window = self.begin(gates, candidate, state, tanh_c=torch.empty_like(candidate))
        self.matrix_inputs = self.h[:-1]
        for t, h in enumerate(self.matrix_inputs.unbind()):
            by_gates, by_candidate = self.linear(h, self.transposed.T, None), self.matrices.multiply(t, h)
            self.library.lstm_forward(window, t, by_gates, by_candidate)
        return self.h[1:], (self.h[-1], self.forward_arrays["c"][-1])

    def backward(self, dh: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the derivatives by gates and candidate from those by states, dh (T, B, H), of the softmax."""
        window, d_gates, d_candidate = self.begin_backward(dh)
        by_gates = by_candidate = None  # the parts of dh that come from the next step
        for t in range(len(dh) - 1, -1, -1):
            self.library.lstm_backward(window, t, by_gates, by_candidate)
            if t:
                by_gates = self.linear(d_gates[t], self.transposed, None)
                by_candidate = self.matrices.multiply_transposed(t, d_candidate[t])
        return d_gates, d_candidate


# Products of a batch's rows with matrices that depend on the word: U^k h, k = f(w), of r-GRU and r-LSTM. A gather U[k]
# would copy a matrix for every row and step, and its gradient as well. Here the rows of a step are sorted by their
# matrix, and each matrix that occurs is used once, where it lies. Its gradient is one product over all rows of the
# window that used it. Matrices that no word of the window uses have none.


class OneMatrix:
    """K = 1: all words share U (1, H, H), given transposed. The interface is that of `WordMatrices`."""

    def __init__(self, transposed: Tensor, linear: Linear) -> None:
        self.transposed, self.linear = transposed[0], linear

    def plan(self, k: Tensor) -> None:
        """Do nothing: with one matrix there is nothing to sort."""

    def multiply(self, t: int, h: Tensor) -> Tensor:
        return self.linear(h, self.transposed.T, None)

    def multiply_transposed(self, t: int, d: Tensor) -> Tensor:
        return self.linear(d, self.transposed, None)

    def gradient(self, d: Tensor, h: Tensor) -> tuple[Tensor | None, Tensor]:
        return None, self.linear(h.T.contiguous(), d.T, None)[None]


class WordMatrices:
    """U (K, H, H), given transposed and filled up with zeros: (K, width, width)."""

    def __init__(self, library: SimpleNamespace, padded: Tensor, hidden: int) -> None:
        self.library, self.padded, self.hidden = library, padded, hidden

    def plan(self, k: Tensor) -> None:
        """Take the matrix of each word of a window, k (T, B), and sort the rows of every step by it."""
        order, (flat, self.window) = k.argsort(dim=1, stable=True), k.flatten().sort(stable=True)
        self.present, counts = flat.unique_consecutive(return_counts=True)
        self.counts = counts.tolist()
        sizes = {"B": k.shape[1], "H": self.hidden, "width": self.padded.shape[1]}
        self.window_matrices = Matrices(**sizes, matrices=self.padded, matrix_of_row=k, order=order)

    def multiply(self, t: int, h: Tensor) -> Tensor:
        """Multiply each row b of h by its word's matrix at step t, U^k_b h_b: (B, H) -> (B, H)."""
        out = torch.empty_like(h)
        self.library.multiply(self.window_matrices, t, h, out)
        return out

    def multiply_transposed(self, t: int, d: Tensor) -> Tensor:
        """Multiply the transposed matrices with d_b, (B, H) -> (B, H)."""
        out = torch.empty_like(d)
        self.library.multiply_transposed(self.window_matrices, t, d, out)
        return out

    def gradient(self, d: Tensor, h: Tensor) -> tuple[Tensor | None, Tensor]:
        """Sum d_i h_i^T, transposed, over the rows i of each matrix that occurs, d and h (T B, H).

        Returns which matrices (P,), sums (P, H, H); with a single matrix None, (1, H, H).
        """
        sums = h.new_empty(len(self.counts), self.hidden, self.hidden)
        rows = (some.index_select(0, self.window).split(self.counts) for some in (d, h))
        for total, of_d, of_h in zip(sums, *rows, strict=True):
            torch.mm(of_h.T, of_d, out=total)
        return self.present, sums
