"""Networks with one loss a sequence, on its last state, with autograd: what the fast engine is held to."""

from torch import Tensor
from torch.nn import functional

from reprise.engines.readable import Readable


class ReferenceEngine(Readable):
    """Elman or LSTM."""

    def loss_and_gradients(self, x: Tensor, y: Tensor) -> tuple[float, int]:
        """Symbols x (T, B) int64 and classes y (B,) int64 -> mean cross-entropy in nats, and how many are right.

        Sets `.grad` of every parameter to new tensors, whatever it was before.
        """
        self.model.zero_grad(set_to_none=True)
        return through_softmax(self.model(x), y)


def through_softmax(logits: Tensor, y: Tensor) -> tuple[float, int]:
    """Logits (B, k) and classes y (B,): mean cross-entropy in nats and how many are right; runs autograd backwards."""
    loss = functional.cross_entropy(logits, y)
    loss.backward()
    return loss.item(), int((logits.argmax(1) == y).sum())
