"""Stacks of the networks of document 002 and of document 003's recall: steps on batches of one size, clipped."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise.engines.stack.family import Family
from reprise.engines.stack.optimisers import Adam, Clip, RMSProp
from reprise.engines.stack.programs import Tensors
from reprise.engines.stack.stack import Member, Stack
from reprise.models.deep_lstm import DeepLSTM, State

_AS_TORCH_CLIPS = 1e-6
"""What `torch.nn.utils.clip_grad_norm_` adds to a norm."""


class PalindromeFamily(Family):
    """One loss a sequence, on its last state: Elman and LSTM of document 002, part 1."""

    told: ClassVar[tuple[str, ...]] = ("loss", "right")

    def compute(self, model: nn.Module, batch: Tensors) -> tuple[Tensor, Tensors]:
        """See `Family`: the mean cross-entropy in nats, and how many are right."""
        logits = model(batch["x"])
        loss = functional.cross_entropy(logits, batch["y"])
        return loss, {"loss": loss, "right": (logits.argmax(1) == batch["y"]).sum()}


class PalindromeMember(Member):
    """Updates an Elman network or LSTM by Adam."""

    def __init__(self, stack: Stack, model: nn.Module, clip_norm: float) -> None:
        super().__init__(stack, PalindromeFamily(model, Adam(), Clip(clip_norm, _AS_TORCH_CLIPS)), model)

    def update(self, x: Tensor, y: Tensor, learning_rate: float) -> tuple[float, int]:
        """One update on symbols x (T, B), classes y (B,): the mean loss in nats before it, and how many are right."""
        found = self.ask("train", x=x, y=y, rate=learning_rate)
        return float(found["loss"]), int(found["right"])


class BookFamily(Family):
    """The stacked LSTM of document 002, part 2, on windows of characters, with or without a carried state."""

    told: ClassVar[tuple[str, ...]] = ("loss",)

    def compute(self, model: nn.Module, batch: Tensors) -> tuple[Tensor, Tensors]:
        """See `Family`: the mean cross-entropy in nats."""
        state = tuple((batch[f"h_{i}"], batch[f"c_{i}"]) for i in range(model.layers))
        logits, after = model(batch["x"], state)
        loss = functional.cross_entropy(logits.flatten(0, 1), batch["y"].flatten())
        return loss, {"loss": loss} | _by_name(after)


class BookMember(Member):
    """Updates a stacked LSTM by TensorFlow's RMSProp."""

    def __init__(self, stack: Stack, model: DeepLSTM, optimiser: RMSProp, clip_norm: float) -> None:
        super().__init__(stack, BookFamily(model, optimiser, Clip(clip_norm)), model)

    def update(self, x: Tensor, y: Tensor, state: State, learning_rate: float) -> tuple[float, State]:
        """One update on symbols x and their next ones y, (T, B): the mean loss in nats before it, the last state."""
        found = self.ask("train", x=x, y=y, rate=learning_rate, **_by_name(state))
        return float(found["loss"]), tuple((found[f"h_{i}"], found[f"c_{i}"]) for i in range(len(state)))


class RecallFamily(PalindromeFamily):
    """The networks of document 003 that recall a name at the end of a text; texts of different lengths go together.

    A shorter text is filled up at its end, and its state taken after its own last word.
    """

    round_up: ClassVar[tuple[str, ...]] = ("x",)

    def compute(self, model: nn.Module, batch: Tensors) -> tuple[Tensor, Tensors]:
        """See `Family`."""
        h = torch.stack([state[0] for state in model.states(batch["x"])])  # (T + 1, B, H), h_0 first
        logits = h.index_select(0, batch["length"].view(1))[0] @ model.W_S.T  # (6)
        loss = functional.cross_entropy(logits, batch["y"])
        return loss, {"loss": loss, "right": (logits.argmax(1) == batch["y"]).sum()}

    def signature(self, batch: dict[str, Any]) -> Any:
        """See `Family`: lengths may differ."""
        return tuple(batch["y"].shape)


class RecallMember(Member):
    """Updates a network by Adam."""

    def __init__(self, stack: Stack, model: nn.Module, clip_norm: float) -> None:
        super().__init__(stack, RecallFamily(model, Adam(), Clip(clip_norm)), model)

    def update(self, x: Tensor, y: Tensor, learning_rate: float) -> float:
        """One update on words x (T, B) and the words after them y (B,): the mean loss in nats before it."""
        return float(self.ask("train", x=x, y=y, length=torch.tensor(len(x)), rate=learning_rate)["loss"])


def _by_name(state: State) -> Tensors:
    return {f"{part}_{i}": value for i, pair in enumerate(state) for part, value in zip("hc", pair, strict=True)}
