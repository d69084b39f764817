"""GRU, LSTM and their restricted tensor networks without autograd: all that can be is one product a window.

Against autograd on the readable model: no matrix is copied for a word, gradients of matrices and embeddings exist for
the words of the window alone, weight gradients are one product over all steps, logits become their own derivatives in
place, and products use the whole vector width (`engines/gemm.py`). Symbols as in `models/gated.py`.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from reprise.engines.clipping import clipping_factor
from reprise.engines.gated.reference import share_of_one_word
from reprise.engines.gemm import Linear, linear_for
from reprise.engines.readable import take_state
from reprise.models.gated import GRU, GatedLanguageModel, Masks, State

# Logits that are turned into derivatives at a time, so that every pass but the first finds them in the caches.
CACHED = 500_000


class GroupedEngine:
    """For a CPU, in the model's dtype; see `ReferenceEngine`."""

    name = "grouped"

    def __init__(self, model: GatedLanguageModel) -> None:
        self.model = model
        self.state: State = ()
        self.device, self.linear = model.E.device, linear_for(model.E)
        new, G = model.E.detach().new_empty, len(model.gates)
        V, E, H, K = model.vocabulary, model.embedding, model.hidden, model.matrices
        self.E = new(V, E)
        # The logistic gates' weights one above the other; the candidate's, `_c`, apart.
        self.W, self.U_T, self.b = new(G * H, E), new(H, G * H), new(G * H)
        self.W_c, self.U_c_T, self.b_c = new(H, E), new(K, H, H), new(K, H)
        self.W_o_T, self.b_o = new(H, V), new(V)
        self.load(model.state_dict())
        matrices = OneMatrix if K == 1 else WordMatrices
        self.matrices = matrices(self.U_c_T, self.linear)
        recurrence = GRURecurrence if isinstance(model, GRU) else LSTMRecurrence
        self.recurrence = recurrence(self.U_T, self.matrices, self.linear)

    def reset(self, batch: int) -> None:
        self.state = tuple(self.E.new_zeros(batch, self.model.hidden) for _ in range(self.model.states))

    @torch.no_grad()
    def train(
        self, x: Tensor, y: Tensor, masks: Masks | None, *, learning_rate: float, reduction: str, clip_norm: float
    ) -> float:
        share = share_of_one_word(reduction, *x.shape)
        words, k, e, h = self._read(x, masks)
        softmax_input = h if masks is None else h * masks[1].flatten(0, 1)
        loss, dh, dW_o, db_o = self._through_softmax(softmax_input, y.flatten(), share)
        if masks is not None:
            dh.mul_(masks[1].flatten(0, 1))
        d_gates, d_c = (d.flatten(0, 1) for d in self.recurrence.backward(dh.view(*x.shape, -1)))
        h_before, multiplied = self.recurrence.h[:-1].flatten(0, 1), self.recurrence.multiplied.flatten(0, 1)
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
            (self.U_c_T, *self.matrices.gradient(d_c, multiplied)),
            (self.b_c, None, torch.zeros_like(self.b_c).index_add_(0, k, d_c)),
            (self.W_o_T, None, dW_o),
            (self.b_o, None, db_o),
        ]
        step = learning_rate * clipping_factor((g for _, _, g in gradients), clip_norm, by_rows=True)
        for parameter, rows, gradient in gradients:
            if rows is None:
                parameter.sub_(gradient, alpha=step)
            else:
                parameter.index_add_(0, rows, gradient, alpha=-step)
        return loss

    @torch.no_grad()
    def evaluate(self, x: Tensor, y: Tensor) -> float:
        _, _, _, h = self._read(x, None)
        L = self.linear(h, self.W_o_T.T, self.b_o)  # (T B, V)
        pieces = zip(*self._pieces(L, y.flatten()), strict=True)
        losses = [functional.cross_entropy(some, targets, reduction="none") for some, targets in pieces]
        return torch.cat(losses).sum(dtype=torch.float64).item()

    def _read(self, x: Tensor, masks: Masks | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Words, their matrices (T B,), embeddings (T B, E) and states (T B, H) of a window x (T, B)."""
        words, k = x.flatten(), self.model.matrix_index(x)
        self.matrices.plan(k)
        k = k.flatten()
        e = self.E[words] if masks is None else self.E[words].mul_(masks[0].flatten(0, 1))
        gates = self.linear(e, self.W, self.b).view(*x.shape, -1)
        candidate = self.linear(e, self.W_c, None).add_(self.b_c[k]).view(*x.shape, -1)
        h, self.state = self.recurrence.forward(gates, candidate, self.state)
        return words, k, e, h.flatten(0, 1)

    def _through_softmax(self, s: Tensor, y: Tensor, share: float) -> tuple[float, Tensor, Tensor, Tensor]:
        """Softmax input s (n, H), targets (n,): summed loss; derivatives by s (n, H), W_o^T (H, V) and b_o (V,)."""
        L = self.linear(s, self.W_o_T.T, self.b_o)  # (n, V)
        loss, db_o = 0.0, torch.zeros_like(self.b_o)
        for some, targets in zip(*self._pieces(L, y), strict=True):
            loss += _softmax_minus_target(some, targets[:, None])
            db_o += some.sum(0)
        ds = self.linear(L, self.W_o_T, None).mul_(share)
        return loss, ds, self.linear((s * share).T.contiguous(), L.T, None), db_o.mul_(share)

    def _pieces(self, L: Tensor, y: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Logits (n, V) and targets (n,) in stretches of rows that fit into the caches."""
        rows = max(1, CACHED // L.shape[1])
        return L.split(rows), y.split(rows)

    def export(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self._named().items()}

    def load(self, state: dict[str, Tensor]) -> None:
        take_state(self._named(), state)

    def _named(self) -> dict[str, Tensor]:
        """Return views of the parameters, by the names and in the order of the readable model."""
        model, c = self.model, self.model.candidate
        views = {"E": self.E, "W_o": self.W_o_T.T, "b_o": self.b_o}
        views |= {f"W_h{c}": self.W_c, f"U_h{c}": self.U_c_T.mT, f"b_h{c}": self.b_c}
        for name, stacked in (("W", self.W), ("U", self.U_T.T), ("b", self.b)):
            parts = stacked.split(model.hidden)
            views |= {f"{name}_h{gate}": part for gate, part in zip(model.gates, parts, strict=True)}
        return {name: views[name] for name, _ in model.named_parameters()}


def _softmax_minus_target(L: Tensor, target: Tensor) -> float:
    """Logits L (n, V) become their loss's derivatives in place; the summed loss of targets (n, 1), nats."""
    log_p = L.gather(1, target) - L.amax(1, keepdim=True)
    torch.softmax(L, 1, out=L)
    # log Z = - log of the greatest probability, which cannot underflow as the target's can
    log_p += L.amax(1, keepdim=True).log()
    L.scatter_add_(1, target, torch.full_like(log_p, -1.0))
    return -log_p.sum(dtype=torch.float64).item()


# Recurrences begin with the gates' products with the input, made for all steps at once: `gates` (T, B, G H) for the G
# logistic gates in the order of the equations, `candidate` (T, B, H). They end with the loss's derivatives by the same.


class Recurrence:
    """`transposed` (H, G H) holds the gates' U^T side by side."""

    def __init__(self, transposed: Tensor, matrices: OneMatrix | WordMatrices, linear: Linear) -> None:
        self.transposed, self.matrices, self.linear = transposed, matrices, linear


class GRURecurrence(Recurrence):
    """Equations (6)-(9)."""

    def forward(self, gates: Tensor, candidate: Tensor, state: State) -> tuple[Tensor, State]:
        """Finishes the gates in place: all states h (T, B, H), the last one."""
        T, B, H = candidate.shape
        self.gates, self.candidate = gates, candidate
        self.h = candidate.new_empty(T + 1, B, H)
        self.h[0] = state[0]
        self.multiplied = torch.empty_like(candidate)  # r_t * h_{t-1}, which meets the matrix
        parts = gates, gates[..., :H], gates[..., H:], candidate, self.multiplied, self.h[:-1], self.h[1:]
        steps = zip(*(part.unbind() for part in parts), strict=True)
        for t, (both, r, z, c, rh, h, h_next) in enumerate(steps):
            both.add_(self.linear(h, self.transposed.T, None)).sigmoid_()  # (6), (7)
            torch.mul(r, h, out=rh)
            c.add_(self.matrices.multiply(t, rh)).tanh_()  # (8)
            torch.lerp(c, h, z, out=h_next)  # (9): c + z (h - c)
        return self.h[1:], (self.h[-1],)

    def backward(self, dh: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the derivatives by gates and candidate from dh (T, B, H), those by states of the softmax, used up."""
        T, _, H = dh.shape
        h, c, r, z = self.h[:-1], self.candidate, self.gates[..., :H], self.gates[..., H:]
        by_r, by_z, by_c = h * r * (1 - r), (h - c) * z * (1 - z), (1 - z) * (1 - c * c)
        d_gates, d_candidate = torch.empty_like(self.gates), torch.empty_like(c)
        d_r, d_z = d_gates[..., :H], d_gates[..., H:]
        for t in range(T - 1, -1, -1):
            d = dh[t]
            torch.mul(d, by_c[t], out=d_candidate[t])
            torch.mul(d, by_z[t], out=d_z[t])
            d_rh = self.matrices.multiply_transposed(t, d_candidate[t])
            torch.mul(d_rh, by_r[t], out=d_r[t])
            if t:
                dh[t - 1].add_(self.linear(d_gates[t], self.transposed, None)).addcmul_(d, z[t]).addcmul_(d_rh, r[t])
        return d_gates, d_candidate


class LSTMRecurrence(Recurrence):
    """Equations (10)-(15)."""

    def forward(self, gates: Tensor, candidate: Tensor, state: State) -> tuple[Tensor, State]:
        """Finish the gates in place; return all states h (T, B, H) and the last (h, c)."""
        T, B, H = candidate.shape
        self.gates, self.candidate = gates, candidate
        self.h, self.c = candidate.new_empty(T + 1, B, H), candidate.new_empty(T + 1, B, H)
        self.h[0], self.c[0] = state
        self.multiplied = self.h[:-1]
        self.tanh_c = torch.empty_like(candidate)
        parts = gates, *gates.split(H, -1), candidate, self.tanh_c, self.h[:-1], self.h[1:], self.c[:-1], self.c[1:]
        steps = zip(*(part.unbind() for part in parts), strict=True)
        for t, (all_three, f, i, o, new, tanh_c, h, h_next, c, c_next) in enumerate(steps):
            all_three.add_(self.linear(h, self.transposed.T, None)).sigmoid_()  # (10), (11), (12)
            new.add_(self.matrices.multiply(t, h)).tanh_()  # (13)
            torch.mul(i, new, out=c_next).addcmul_(f, c)  # (14)
            torch.mul(o, torch.tanh(c_next, out=tanh_c), out=h_next)  # (15)
        return self.h[1:], (self.h[-1], self.c[-1])

    def backward(self, dh: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the derivatives by gates and candidate from dh (T, B, H), those by states of the softmax, used up."""
        T, _, H = dh.shape
        new, c, tanh_c = self.candidate, self.c[:-1], self.tanh_c
        f, i, o = self.gates.split(H, -1)
        by_f, by_i, by_o = c * f * (1 - f), new * i * (1 - i), tanh_c * o * (1 - o)
        by_new, by_c = i * (1 - new * new), o * (1 - tanh_c * tanh_c)
        d_gates, d_candidate = torch.empty_like(self.gates), torch.empty_like(new)
        d_f, d_i, d_o = d_gates.split(H, -1)
        dc = torch.zeros_like(dh[0])
        for t in range(T - 1, -1, -1):
            d = dh[t]
            dc.addcmul_(d, by_c[t])
            torch.mul(dc, by_f[t], out=d_f[t])
            torch.mul(dc, by_i[t], out=d_i[t])
            torch.mul(d, by_o[t], out=d_o[t])
            torch.mul(dc, by_new[t], out=d_candidate[t])
            dc.mul_(f[t])
            if t:
                dh[t - 1].add_(self.linear(d_gates[t], self.transposed, None))
                dh[t - 1].add_(self.matrices.multiply_transposed(t, d_candidate[t]))
        return d_gates, d_candidate


# Products of a batch's rows with matrices that depend on the word: U^k h, k = f(w), of r-GRU and r-LSTM. A gather U[k]
# would copy a matrix for every row and step, and its gradient as well. Here the rows of a step are sorted by their
# matrix and each matrix that occurs is used once, where it lies; its gradient is one product over all rows of the
# window that used it. Matrices that no word of the window asked for have none.


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
    """U (K, H, H), given transposed: read along its rows, one row of h times a matrix is twice as fast.

    It is used where it lies, so that it may be changed in place.
    """

    def __init__(self, transposed: Tensor, linear: Linear) -> None:
        self.transposed, self.each = transposed.unbind(), transposed.mT.unbind()

    def plan(self, k: Tensor) -> None:
        """Take the matrix of each word of a window, k (T, B), and sort the rows of every step by it."""
        table = k.cpu().numpy()
        order = np.argsort(table, axis=1, kind="stable")
        self.order = torch.from_numpy(order).to(k.device).unbind()
        self.back = torch.from_numpy(np.argsort(order, axis=1)).to(k.device).unbind()
        self.runs = [_runs(row) for row in np.take_along_axis(table, order, axis=1)]
        flat = table.ravel()
        self.window = torch.from_numpy(np.argsort(flat, kind="stable")).to(k.device)
        self.window_runs = _runs(np.sort(flat))

    def multiply(self, t: int, h: Tensor) -> Tensor:
        """U^k_b h_b of each row b of step t: h (B, H) -> (B, H)."""
        return self._by_matrix(t, h, self.transposed)

    def multiply_transposed(self, t: int, d: Tensor) -> Tensor:
        """Multiply the transposed matrices with d_b, (B, H) -> (B, H)."""
        return self._by_matrix(t, d, self.each)

    def _by_matrix(self, t: int, h: Tensor, matrices: tuple[Tensor, ...]) -> Tensor:
        if len(h) == 1:
            return h @ matrices[self.runs[t][0][0]]
        h = h.index_select(0, self.order[t])
        out = torch.empty_like(h)
        for k, first, last in self.runs[t]:
            torch.mm(h[first:last], matrices[k], out=out[first:last])
        return out.index_select(0, self.back[t])

    def gradient(self, d: Tensor, h: Tensor) -> tuple[Tensor | None, Tensor]:
        """Sum d_i h_i^T, transposed, over the rows i of each matrix that occurs, d and h (T B, H).

        Returns which matrices (P,), sums (P, H, H); with a single matrix None, (1, H, H).
        """
        d, h = d.index_select(0, self.window), h.index_select(0, self.window)
        sums = h.new_empty(len(self.window_runs), *self.transposed[0].shape)
        for total, (_, first, last) in zip(sums, self.window_runs, strict=True):
            torch.mm(h[first:last].T, d[first:last], out=total)
        present = torch.tensor([k for k, _, _ in self.window_runs], device=h.device)
        return present, sums


def _runs(sorted_values: np.ndarray) -> list[tuple[int, int, int]]:
    """(value, first, last + 1) of each run of equal values."""
    values, first = np.unique(sorted_values, return_index=True)
    last = [*first[1:].tolist(), len(sorted_values)]
    return list(zip(values.tolist(), first.tolist(), last, strict=True))
