"""The readable gated language models with autograd, batch by batch: what the fast engine is held to.

Salle and Villavicencio (ACL 2018), section 4: plain SGD on windows of B streams and T steps, the state carried from
window to window, the gradient's norm over all parameters clipped.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from reprise.engines.readable import ReadableEngine
from reprise.models.gated import GatedLanguageModel, Masks, State


class ReferenceEngine(ReadableEngine):
    """Words x and targets y are (T, B) int64.

    `train` and `evaluate` start from `state`, (B, H) each, and leave the last one in it.
    """

    def __init__(self, model: GatedLanguageModel) -> None:
        super().__init__(model)
        self.state: State = ()

    def reset(self, batch: int) -> None:
        """State zero for B streams."""
        self.state = self.model.initial_state(batch)

    def train(
        self, x: Tensor, y: Tensor, masks: Masks | None, *, learning_rate: float, reduction: str, clip_norm: float
    ) -> float:
        """One SGD step; the summed loss in nats, under the weights before it.

        The step is on the loss summed over the steps ("sum-steps") or averaged over them ("mean-steps"), and averaged
        over the streams. `masks` as in the model's `forward`.
        """
        share = share_of_one_word(reduction, *x.shape)
        loss = self._loss(x, y, masks)
        self.descend(loss * share, learning_rate, clip_norm)
        return loss.item()

    @torch.no_grad()
    def evaluate(self, x: Tensor, y: Tensor) -> float:
        """The summed loss in nats, without dropout and without a step."""
        return self._loss(x, y, None).item()

    def _loss(self, x: Tensor, y: Tensor, masks: Masks | None) -> Tensor:
        logits, state = self.model(x, self.state, masks)
        self.state = tuple(s.detach() for s in state)
        return functional.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")


def share_of_one_word(reduction: str, T: int, B: int) -> float:
    """How much a word's loss counts in a window of T steps and B streams; see `ReferenceEngine.train`."""
    if reduction not in ("sum-steps", "mean-steps"):
        raise ValueError(f"reduction must be sum-steps or mean-steps, not {reduction}")
    return 1 / B if reduction == "sum-steps" else 1 / (T * B)
