"""Stacks of the networks of document 002 and of document 003's recall: steps on batches of one size, clipped."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise.engines.readable import name_states, pair_states
from reprise.engines.stack.member import Member
from reprise.engines.stack.programs import Tensors
from reprise.engines.stack.sentences import RaggedMember
from reprise.models.deep_lstm import State


class PalindromeMember(Member):
    """One loss a sequence, on its last state: Elman and LSTM of document 002, part 1."""

    def compute(self, model: nn.Module, batch: Tensors) -> tuple[Tensor, Tensors]:
        """See `Member`: of symbols x (T, B) and classes y (B,) the mean loss, and how many are right."""
        logits = model(batch["x"])
        loss = functional.cross_entropy(logits, batch["y"])
        return loss, {"nats": loss, "right": (logits.argmax(1) == batch["y"]).sum()}

    def summarize(self, outputs: Tensors, *batch: Tensor) -> tuple[float, int]:
        """See `Member`: the mean loss in nats, and how many are right."""
        return float(outputs["nats"]), int(outputs["right"])


class BookMember(Member):
    """The stacked LSTM of document 002, part 2, on windows of characters, with or without a carried state."""

    def compute(self, model: nn.Module, batch: Tensors) -> tuple[Tensor, Tensors]:
        """See `Member`: of symbols x and their next ones y, (T, B), the mean loss, and the last state."""
        logits, after = model(batch["x"], pair_states(batch, model.layers))
        loss = functional.cross_entropy(logits.flatten(0, 1), batch["y"].flatten())
        return loss, {"nats": loss} | name_states(after)

    def make_inputs(self, x: Tensor, y: Tensor, state: State) -> Tensors:
        """See `Member`."""
        return {"x": x, "y": y} | name_states(state)

    def summarize(self, outputs: Tensors, x: Tensor, y: Tensor, state: State) -> tuple[float, State]:
        """See `Member`: the mean loss in nats, and the last state."""
        return float(outputs["nats"]), pair_states(outputs, len(state))


class RecallMember(RaggedMember):
    """The networks of document 003 that recall a name at the end of a text; texts of different lengths go together.

    A shorter text is filled up at its end, and its state taken after its own last word.
    """

    def compute(self, model: nn.Module, batch: Tensors) -> tuple[Tensor, Tensors]:
        """See `Member`: of words x (T, B) and the words after them y (B,) the mean loss."""
        h = torch.stack([state[0] for state in model.compute_states(batch["x"])])  # (T + 1, B, H), h_0 first
        logits = h.index_select(0, batch["length"].view(1))[0] @ model.W_S.T  # (6)
        loss = functional.cross_entropy(logits, batch["y"])
        return loss, {"nats": loss}

    def make_inputs(self, x: Tensor, y: Tensor) -> Tensors:
        """See `Member`."""
        return {"x": x, "y": y, "length": torch.tensor(len(x))}
