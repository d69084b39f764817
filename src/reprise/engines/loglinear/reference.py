"""The readable log-linear RNN with autograd, window by window: what the fast engine is held to."""

from __future__ import annotations

import torch
from torch import Tensor

from reprise.engines.optimisers import RMSProp
from reprise.engines.readable import ReadableEngine
from reprise.models.loglinear import LogLinearRNN, State


class ReferenceEngine(ReadableEngine):
    """Training by RMSprop.

    Words x are (T, B) int64. Targets y are (B,), the words after the windows, or (T, B), the word after every word.
    Without a state (None) a window starts from zeros; with one, h and c of every layer (B, H), it starts there and
    leaves the last state in it.
    """

    def __init__(self, model: LogLinearRNN) -> None:
        super().__init__(model)
        self.state: State | None = None
        self.optimiser = RMSProp(self.model.parameters())

    def train(
        self, x: Tensor, y: Tensor, *, learning_rate: float, rho: float, epsilon: float, inside: float = 0.0
    ) -> float:
        """One step on the mean loss of the targets; the summed loss, nats, under the weights before it."""
        by = self.optimiser
        by.learning_rate, by.decay, by.epsilon, by.inside = learning_rate, rho, epsilon, inside
        self.model.zero_grad()
        loss = self._loss(x, y)
        (loss / y.numel()).backward()
        by.step()
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

    def optimiser_state(self) -> list[Tensor]:
        """Copies of what RMSprop carries from step to step."""
        return self.optimiser.state_dict()

    def restore_optimiser(self, state: list[Tensor]) -> None:
        """Takes what `optimiser_state` gave."""
        self.optimiser.load_state_dict(state)
