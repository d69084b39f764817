"""The readable model with autograd and plain SGD: what the fast engine is held to, and what trains without one."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from reprise.counters import dropout_mask_torch
from reprise.engines.readable import ReadableEngine
from reprise.engines.rntn.subsequences import MAX_LENGTH, Subsequences
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN


class ReferenceEngine(ReadableEngine):
    """A `SubsequenceEngine` for any readable model, on its device and in its dtype.

    Of an `RNTN` or `MRNN` a step differentiates the rows and matrices that the subsequence reads, a copy for each of
    its words, so that its cost grows with V in the softmax alone, and not with K.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.hidden: Tensor = self.model.initial_state()
        self.rows = _rows_of(self.model)
        self.frame = self.model  # the equations, called with parameters of a step's own
        if self.rows:
            self.frame = copy.deepcopy(self.model).to("meta")
            if isinstance(model, RNTN):
                # The t-th word is called t, and reads the t-th row and matrix.
                self.frame.matrices, self.frame.mapping = MAX_LENGTH, "f"

    def train(self, data: Subsequences, *, learning_rate: float, reduction: str, dropout: float, key: int) -> float:
        """One SGD step a subsequence; the summed loss in nats. See `SubsequenceEngine`."""
        if reduction not in ("sum", "mean"):
            raise ValueError(f"reduction must be sum or mean, not {reduction}")
        total = 0.0
        for i in range(len(data)):
            x, y, h = self._read(data, i)
            mask = None
            if dropout:
                first = data.first_token + int(data.offsets[i])
                mask = dropout_mask_torch(key, first, len(x), len(h), dropout, h.device, h.dtype)
            loss = self._step(x, y, h, mask, learning_rate / len(x) if reduction == "mean" else learning_rate)
            total += loss
        return total

    @torch.no_grad()
    def evaluate(self, data: Subsequences) -> float:
        """The summed loss in nats, without dropout and without steps."""
        total = 0.0
        for i in range(len(data)):
            x, y, h = self._read(data, i)
            logits, self.hidden = self.model(x, h)
            total += functional.cross_entropy(logits, y, reduction="sum").item()
        return total

    def _read(self, data: Subsequences, i: int) -> tuple[Tensor, Tensor, Tensor]:
        """Words (T,), next words (T,) and the state before them (H,)."""
        begin, end = int(data.offsets[i]), int(data.offsets[i + 1])
        h = self.model.initial_state() if data.reset[i] else self.hidden.to(self.model.W_h)
        x, y = (torch.from_numpy(words[begin:end]).to(h.device, torch.int64) for words in (data.inputs, data.targets))
        return x, y, h

    def _step(self, x: Tensor, y: Tensor, h: Tensor, mask: Tensor | None, learning_rate: float) -> float:
        """SGD on the summed loss of the next words, which it returns."""
        rows = {name: of(x) for name, of in self.rows.items()}
        parameters = dict(self.model.named_parameters())
        leaves = {
            name: (p.detach()[rows[name]] if name in rows else p.detach()).requires_grad_()
            for name, p in parameters.items()
        }
        words = torch.arange(len(x), device=x.device) if rows else x
        logits, h = functional_call(self.frame, leaves, (words, h, mask))
        self.hidden = h.detach()
        loss = functional.cross_entropy(logits, y, reduction="sum")
        gradients = torch.autograd.grad(loss, list(leaves.values()))
        with torch.no_grad():
            for (name, p), gradient in zip(parameters.items(), gradients, strict=True):
                if name in rows:
                    p.index_add_(0, rows[name], gradient, alpha=-learning_rate)
                else:
                    p.sub_(gradient, alpha=learning_rate)
        return loss.item()


def _rows_of(model: nn.Module) -> dict[str, Callable[[Tensor], Tensor]]:
    """Parameters of which words (T,) read a row each, and which; empty for other models than the two."""
    if type(model) is RNTN:
        rows = {"W_h": lambda x: x, "U_h": model.matrix_index}
        return rows | ({"b_h": model.bias_index} if model.bias == "matrix" else {})
    return {name: lambda x: x for name in ("W_h", "v")} if type(model) is MRNN else {}
