"""Networks with one loss a sequence, on its last state, with autograd: what the fast engine is held to."""

from torch import Tensor
from torch.nn import functional

from reprise.engines.readable import Readable


class ReferenceEngine(Readable):
    """Elman or LSTM."""

    def compute_gradients(self, x: Tensor, y: Tensor) -> tuple[float, int]:
        """Return the mean cross-entropy in nats of symbols x (T, B) and classes y (B,), int64, and how many are right.

        Sets `.grad` of every parameter to new tensors, whatever it was before.
        """
        self.model.zero_grad(set_to_none=True)
        return backpropagate_softmax(self.model(x), y)


def backpropagate_softmax(logits: Tensor, y: Tensor) -> tuple[float, int]:
    """Return the mean cross-entropy of logits (B, k) for classes y (B,), and how many are right; run autograd."""
    loss = functional.cross_entropy(logits, y)
    loss.backward()
    return loss.item(), int((logits.argmax(1) == y).sum())
