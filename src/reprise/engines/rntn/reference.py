"""The readable model itself with autograd and plain SGD: what the fast engine is held to."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise.counters import draw_dropout_mask_torch
from reprise.engines.readable import LossReceiver, ReadableEngine
from reprise.engines.rntn.subsequences import SGDSettings, Subsequences
from reprise.sums import add_in_order

_READING = SGDSettings(learning_rate=0.0, reduction="sum", dropout=0.0, key=0)
"""Neither dropout nor a bound: what `evaluate` computes with."""


class ReferenceEngine(ReadableEngine):
    """Any batch-1 language model. `train` and `evaluate` start from `hidden` (H,) and leave the last state in it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.hidden: Tensor = self.model.initial_state()

    def train(self, data: Subsequences, settings: SGDSettings) -> float:
        """Make one SGD step a subsequence.

        Returns:
            The sum of all losses in nats, each word's under the weights before its step.
        """
        total = 0.0
        for i in range(len(data)):
            loss = self._compute_loss(data, i, settings)  # sum over the words
            total += loss.item()
            if settings.reduction == "mean":
                loss = loss / int(data.offsets[i + 1] - data.offsets[i])
            self.descend(loss, settings.learning_rate)
        return total

    @torch.no_grad()
    def evaluate(self, data: Subsequences, receive_losses: LossReceiver | None = None) -> float:
        """Return the summed loss in nats, without dropout or steps; `receive_losses` takes every word's."""
        return add_in_order(self._compute_loss(data, i, _READING, receive_losses).item() for i in range(len(data)))

    def _compute_loss(
        self, data: Subsequences, i: int, settings: SGDSettings, receive_losses: LossReceiver | None = None
    ) -> Tensor:
        """Compute the summed loss of subsequence i in nats, and carry the state on."""
        begin, end = int(data.offsets[i]), int(data.offsets[i + 1])
        h = self.model.initial_state() if data.reset[i] else self.hidden.to(self.model.W_h)
        x = torch.from_numpy(data.inputs[begin:end]).to(h.device, torch.int64)
        y = torch.from_numpy(data.targets[begin:end]).to(h.device, torch.int64)
        mask = None
        if settings.dropout:
            place = data.first_token + begin, end - begin, len(h)
            mask = draw_dropout_mask_torch(settings.key, *place, settings.dropout, h.device, h.dtype)
        if bound := settings.error_bound:
            states = []
            for word in x[:, None]:
                (h,) = self.model.compute_states(word, _bound_gradient(h, bound))
                states.append(h)
            logits = self.model.compute_logits([_bound_gradient(state, bound) for state in states], mask)
        else:
            logits, h = self.model(x, h, mask)
        self.hidden = h.detach()
        if receive_losses:
            receive_losses(x.cpu(), y.cpu(), functional.cross_entropy(logits, y, reduction="none").cpu())
        return functional.cross_entropy(logits, y, reduction="sum")


def _bound_gradient(h: Tensor, bound: float) -> Tensor:
    """Return a copy of a state, whose derivative is cut off at plus and minus `bound`."""
    copy = h.clone()
    if copy.requires_grad:
        copy.register_hook(lambda gradient: gradient.clamp(-bound, bound))
    return copy
