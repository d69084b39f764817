"""The readable log-linear RNN with autograd, window by window: what the fast engine is held to."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

from reprise.engines.readable import ReadableEngine
from reprise.models.loglinear import LogLinearRNN, State


class _RMSprop(torch.optim.RMSprop):
    """torch's; with an epsilon inside the root, which torch's lacks, p -= rate g / (sqrt(a + inside) + epsilon)."""

    @torch.no_grad()
    def step(self, inside: float = 0.0) -> None:
        if not inside:
            super().step()
            return
        group = self.param_groups[0]
        for p in group["params"]:
            state = self.state[p]
            if not state:
                state["step"], state["square_avg"] = torch.zeros(()), torch.zeros_like(p)
            a = state["square_avg"].mul_(group["alpha"]).addcmul_(p.grad, p.grad, value=1 - group["alpha"])
            p.addcdiv_(p.grad, (a + inside).sqrt_().add_(group["eps"]), value=-group["lr"])


class ReferenceEngine(ReadableEngine):
    """Training by torch's RMSprop, which is that of Keras (epsilon beside the root).

    Words x are (T, B) int64. Targets y are (B,), the words after the windows, or (T, B), the word after every word.
    Without a state (None) a window starts from zeros; with one, h and c of every layer (B, H), it starts there and
    leaves the last state in it.
    """

    def __init__(self, model: LogLinearRNN) -> None:
        super().__init__(model)
        self.state: State | None = None
        self.optimiser = _RMSprop(self.model.parameters())

    def train(
        self, x: Tensor, y: Tensor, *, learning_rate: float, rho: float, epsilon: float, inside: float = 0.0
    ) -> float:
        """One step on the mean loss of the targets; the summed loss, nats, under the weights before it."""
        self.optimiser.param_groups[0].update(lr=learning_rate, alpha=rho, eps=epsilon)
        self.optimiser.zero_grad()
        loss = self._loss(x, y)
        (loss / y.numel()).backward()
        self.optimiser.step(inside)
        return loss.item()

    @torch.no_grad()
    def evaluate(self, x: Tensor, y: Tensor) -> float:
        """The summed loss in nats, without a step."""
        return self._loss(x, y).item()

    def _loss(self, x: Tensor, y: Tensor) -> Tensor:
        a, state = self.model.adaptors(x, self.state)
        if self.state is not None:
            self.state = tuple((h.detach(), c.detach()) for h, c in state)
        log_p = self.model.log_p(a.flatten(0, 1) if y.dim() == 2 else a[-1])
        return -log_p.gather(1, y.view(-1, 1)).sum()

    @torch.no_grad()
    def log_probabilities(self, x: Tensor) -> Tensor:
        """log p of the word after each window, (B, V), nats."""
        return self.model.log_p(self.model.adaptors(x, self.state)[0][-1])

    def reset(self, batch: int) -> None:
        """State zero for B streams."""
        self.state = self.model.initial_state(batch)

    def optimiser_state(self) -> dict[str, Any]:
        """Copies of what RMSprop carries from step to step."""
        return copy.deepcopy(self.optimiser.state_dict())

    def restore_optimiser(self, state: dict[str, Any]) -> None:
        """Takes what `optimiser_state` gave."""
        self.optimiser.load_state_dict(state)
