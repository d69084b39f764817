"""The readable deep LSTM with autograd, on windows of text: what the fast engine is held to.

An engine works on the readable model's own parameters: it fills their `.grad`, and an optimiser does the rest.
"""

from __future__ import annotations

from typing import Protocol

from torch import Tensor
from torch.nn import functional

from reprise.models.deep_lstm import DeepLSTM, State


class WindowEngine(Protocol):
    name: str

    def loss_and_gradients(self, x: Tensor, y: Tensor, state: State) -> tuple[float, State]:
        """Symbols x and their next symbols y, (T, B) int64 each -> mean cross-entropy in nats, the last state.

        Sets `.grad` of every parameter; no gradient flows into `state`, which stays as it is.
        """


class ReferenceEngine:
    """The readable model itself, on its device and in its dtype: what the fast engine is held to."""

    name = "reference"

    def __init__(self, model: DeepLSTM) -> None:
        self.model = model

    def loss_and_gradients(self, x: Tensor, y: Tensor, state: State) -> tuple[float, State]:
        self.model.zero_grad(set_to_none=True)
        logits, after = self.model(x, state)
        loss = functional.cross_entropy(logits.flatten(0, 1), y.flatten())
        loss.backward()
        return loss.item(), tuple((h.detach(), c.detach()) for h, c in after)
