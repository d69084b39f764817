"""The readable deep LSTM with autograd, on windows of text: what the fast engine is held to."""

from torch import Tensor
from torch.nn import functional

from reprise.engines.readable import Readable
from reprise.models.deep_lstm import State


class ReferenceEngine(Readable):
    """A `DeepLSTM`."""

    def loss_and_gradients(self, x: Tensor, y: Tensor, state: State) -> tuple[float, State]:
        """Symbols x and their next symbols y, (T, B) int64 each -> mean cross-entropy in nats, the last state.

        Sets `.grad` of every parameter; no gradient flows into `state`, which stays as it is.
        """
        self.model.zero_grad(set_to_none=True)
        logits, after = self.model(x, state)
        loss = functional.cross_entropy(logits.flatten(0, 1), y.flatten())
        loss.backward()
        return loss.item(), tuple((h.detach(), c.detach()) for h, c in after)
