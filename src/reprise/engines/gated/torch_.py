"""GRU, LSTM and their restricted tensor networks without autograd: all that can be is one product a window.

Against autograd on the readable model: no matrix is copied for a word, gradients of matrices and embeddings exist for
the words of the window alone, weight gradients are one product over all steps, logits become their own derivatives in
place, and products use the whole vector width (`engines/gemm.py`).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from reprise.engines.gated.recurrence import GRURecurrence, LSTMRecurrence
from reprise.engines.gated.word_matrices import OneMatrix, WordMatrices
from reprise.engines.gated_step import clipped, share_of_one_word
from reprise.engines.gemm import linear_for
from reprise.engines.readable import take_state
from reprise.models.gated import GRU, GatedLanguageModel, Masks, State

# Logits that are turned into derivatives at a time, so that every pass but the first finds them in the caches.
CACHED = 500_000


class GroupedEngine:
    """A `GatedEngine` for a CPU, in the model's dtype."""

    name = "grouped"

    def __init__(self, model: GatedLanguageModel) -> None:
        self.model = model
        self.state: State = ()
        self.linear = linear_for(model.E)
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
        self,
        x: Tensor,
        y: Tensor,
        masks: Masks | None,
        *,
        learning_rate: float,
        reduction: str,
        clip_norm: float,
    ) -> float:
        """See `GatedEngine`."""
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
        step = clipped(learning_rate, clip_norm, (gradient for _, _, gradient in gradients))
        for parameter, rows, gradient in gradients:
            if rows is None:
                parameter.sub_(gradient, alpha=step)
            else:
                parameter.index_add_(0, rows, gradient, alpha=-step)
        return loss

    @torch.no_grad()
    def evaluate(self, x: Tensor, y: Tensor) -> float:
        """See `GatedEngine`."""
        _, _, _, h = self._read(x, None)
        L = self.linear(h, self.W_o_T.T, self.b_o)  # (T B, V)
        losses = [
            functional.cross_entropy(some, targets, reduction="none")
            for some, targets in zip(*self._pieces(L, y.flatten()), strict=True)
        ]
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
        """See `GatedEngine`."""
        return {name: value.clone() for name, value in self._named().items()}

    def load(self, state: dict[str, Tensor]) -> None:
        """See `GatedEngine`."""
        take_state(self._named(), state)

    def _named(self) -> dict[str, Tensor]:
        """Views of the parameters, by the names and in the order of the readable model."""
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
