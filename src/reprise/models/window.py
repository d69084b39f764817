"""The window-based neural language model of document 003, section 1.3.

Bengio et al., "A neural probabilistic language model" (JMLR 2003):

    y^ = softmax(W2 tanh(W1 x + b1) + W3 x + b3)          (4)

x holds the vectors of the n words before, one after the other. Without W3, the direct connection, it is the simplified
model of the notes' Figure 2, y^ = softmax(U h + b2), with U = W2, b2 = b3 and f = tanh.
"""

import torch
from torch import Tensor, nn

from reprise.models.initialisation import declare_parameters, initialise_by_columns


class WindowModel(nn.Module):
    """V words, vectors of size d, H hidden units, a window of n words; `direct` has W3."""

    def __init__(self, vocabulary: int, embedding_size: int, hidden_size: int, window: int, direct: bool) -> None:
        super().__init__()
        V, d, H, n = vocabulary, embedding_size, hidden_size, window
        self.vocabulary, self.direct = V, direct
        # row w of E is the vector of word w
        W3 = {"W3": (V, n * d)} if direct else {}
        declare_parameters(self, E=(V, d), W1=(H, n * d), b1=(H,), W2=(V, H), **W3, b3=(V,))

    def forward(self, words: Tensor) -> Tensor:
        """Compute logits of the next words (B, V) from windows of words (B, n), the latest last."""
        x = self.E[words].flatten(1)  # (B, n d)
        h = torch.tanh(x @ self.W1.T + self.b1)  # (B, H)
        logits = h @ self.W2.T + self.b3
        return logits + x @ self.W3.T if self.direct else logits  # (4)


def initialise(model: WindowModel, generator: torch.Generator) -> None:
    """Draw uniform matrices; W3 starts at zero, so that the models with and without it start as the same function."""
    initialise_by_columns(model, generator, vectors=("E",), uniform=True, zero=("W3",))
