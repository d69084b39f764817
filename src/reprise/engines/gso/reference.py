"""The readable models of document 000 with autograd, on padded batches: what the fast engine is held to."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from reprise.engines.gso.packing import PackedBatch
from reprise.engines.readable import Readable


class ReferenceEngine(Readable):
    """A `SymbolModel`, every line filled up to the longest of its batch."""

    def train(self, batch: PackedBatch, reduction: str) -> float:
        """Return the summed loss in nats; set `.grad` of every parameter, whatever it was, for the loss by `reduction`.

        `reduction` as in `PackedBatch.compute_shares`.
        """
        losses, _, filled = self._compute_losses(batch)
        shares = torch.from_numpy(batch.compute_shares(reduction)).to(losses)  # (lines,)
        self.model.zero_grad(set_to_none=True)
        (losses * shares)[filled].sum().backward()
        for parameter in self.model.parameters():
            if parameter.grad is None:  # a batch of one step uses no matrix between states
                parameter.grad = torch.zeros_like(parameter)
        return losses.detach()[filled].sum(dtype=torch.float64).item()

    @torch.no_grad()
    def evaluate(self, batch: PackedBatch) -> tuple[np.ndarray, np.ndarray]:
        """Return the loss of every row in nats (rows,), and its most probable symbol (rows,) int32."""
        losses, best, filled = self._compute_losses(batch)
        return losses[filled].cpu().numpy(), best[filled].cpu().numpy().astype(np.int32)

    def _compute_losses(self, batch: PackedBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Compute nats, the most probable symbol and whether the line goes on, (T, lines) each."""
        parts = batch.pad_rows(batch.inputs), batch.pad_rows(batch.targets), batch.filled
        x, y, filled = (torch.from_numpy(part).to(self.model.c.device) for part in parts)
        logits = self.model(x)  # (T, lines, V)
        losses = functional.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="none")
        return losses.view(x.shape), logits.argmax(2), filled
