"""A sentence as one vector, from all hidden states of its words: document 003, section 2.2.

    r = max_t h_t        r = (h_1 + ... + h_T) / T        r = h_T
    y^ = softmax(U r + c)

The first two are the notes' "element-wise max or mean of all hidden states". They are compared with the third, the
state after the last word. Of a bidirectional network the last states are [h->_T; h<-_1].
"""

import torch
from torch import Tensor, nn

from reprise.models.bidirectional import DeepBidirectional
from reprise.models.initialisation import declare_parameters


class SentenceClassifier(nn.Module):
    """`DeepBidirectional`, its states made one vector by `pooling` ("max", "mean" or "last"), and K classes."""

    def __init__(self, vocabulary: int, classes: int, pooling: str, **network: int | str) -> None:
        super().__init__()
        self.pooling = pooling
        self.network = DeepBidirectional(vocabulary, **network)
        declare_parameters(self, U=(classes, self.network.width), c=(classes,))

    def represent(self, h: Tensor, present: Tensor) -> Tensor:
        """Make r (B, width) of states (T, B, width); `present` (T, B) is true where a sentence has a word."""
        is_word = present[:, :, None]
        if self.pooling == "max":
            return h.masked_fill(~is_word, -torch.inf).amax(0)
        if self.pooling == "mean":
            return (h * is_word).sum(0) / is_word.sum(0)
        sentences = torch.arange(h.shape[1], device=h.device)
        last = h[present.sum(0) - 1, sentences]  # (B, width)
        if not self.network.both:
            return last
        H = h.shape[2] // 2
        return torch.cat([last[:, :H], h[0, :, H:]], 1)

    def forward(self, words: Tensor, present: Tensor) -> Tensor:
        """Compute logits (B, K) of sentences, words (T, B), padded where `present` (T, B) is false."""
        return self.represent(self.network.compute_states(words, present), present) @ self.U.T + self.c
