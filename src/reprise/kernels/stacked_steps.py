"""What stacks have in common whose replicas count steps: a step is one program, on what was fed for it."""

from __future__ import annotations

import torch
from torch import Tensor

from reprise.kernels.stacked import Stack


class SteppedStack(Stack):
    """R replicas that make up to `span` steps on what is fed at a time.

    The mean losses of up to `kept` steps stay on the device until they are asked for. Subclasses compute a step.
    """

    def __init__(
        self, replicas: int, dtype: torch.dtype, span: int, kept: int, device: torch.device, capture: bool
    ) -> None:
        super().__init__(replicas, device, capture)
        self.span, self.kept = span, kept
        with self.programs.stream():
            # The step's place in what was fed, and the row that its results are kept in.
            self.place, self.row = (torch.zeros(1, dtype=torch.int64, device=device) for _ in range(2))
            self.losses = torch.zeros(kept, replicas, dtype=torch.float64, device=device)
            self.minus_one = torch.full((1, 1, 1), -1.0, dtype=dtype, device=device)

    @torch.no_grad()
    def train(self, steps: int, first: int) -> None:
        """So many steps on what was fed; their results are kept at `first`, `first` + 1, …"""
        with self.programs.stream():
            self.place.zero_()
            self.row.fill_(first)
            for _ in range(steps):
                self.programs.run("step", self._next)
            self.programs.mark()

    def step(self) -> None:
        """Of every replica a step on what was fed at `place`."""
        raise NotImplementedError

    def cross_entropy(self, logits: Tensor, y: Tensor, predictions: int) -> Tensor:
        """Keeps the loss of logits (R, N, V) at symbols y (R, N) over `predictions`; d sum / d logits, not divided."""
        log_p = torch.log_softmax(logits, 2)
        loss = -log_p.gather(2, y.unsqueeze(2)).sum((1, 2), dtype=torch.float64) / predictions
        self.losses.index_copy_(0, self.row, loss.unsqueeze(0))
        self.total.add_(loss)
        return log_p.exp_().scatter_add_(2, y.unsqueeze(2), self.minus_one.expand(*y.shape, 1))

    def _next(self) -> None:
        """A program."""
        self.step()
        self.place.add_(1)
        self.row.add_(1)
