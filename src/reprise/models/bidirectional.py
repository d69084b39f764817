"""Deep bidirectional recurrent networks that classify every word of a sentence.

Document 003, section 2.5, after Irsoy and Cardie. "->" reads from left to right and "<-" from right to left, with
L layers of each:

    h->_t^(i) = f(W->^(i) h_t^(i-1) + V->^(i) h->_{t-1}^(i) + b->^(i))        (17), (20)
    h<-_t^(i) = f(W<-^(i) h_t^(i-1) + V<-^(i) h<-_{t+1}^(i) + b<-^(i))        (18), (21)
    y^_t = g(U h_t^(L) + c) = g(U [h->_t^(L); h<-_t^(L)] + c)                 (19), (22)

h_t^(0) is x_t, the vector of the word, and g the softmax over the classes. Where the notes slip:

* The notes let (19) predict the next word. A network that has read the sentence from both ends has read the next word.
  It can predict the class of the word at t.
* (20) and (21) print h_t^(i-1) without a direction. By the text and Figure 9 it is both, [h->_t; h<-_t], as in (22).
  With one direction, each would be a network of its own up to the output (`lower_layer` "own").
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise.models.initialisation import declare_parameters, initialise_by_columns

_ACTIVATIONS = {"sigmoid": torch.sigmoid, "tanh": torch.tanh, "relu": functional.relu}


class DirectionalLayer(nn.Module):
    """One layer in one direction: h_t = f(W x_t + V h_{t-1} + b), or h_{t+1} in the place of h_{t-1} (`backwards`)."""

    def __init__(self, inputs: int, hidden: int, activation: str, backwards: bool) -> None:
        super().__init__()
        declare_parameters(self, W=(hidden, inputs), V=(hidden, hidden), b=(hidden,))
        self.f, self.backwards = _ACTIVATIONS[activation], backwards

    def forward(self, x: Tensor, present: Tensor) -> Tensor:
        """Compute states (T, B, H) of inputs (T, B, inputs), zero where `present`, (T, B, 1), is 0.

        Sentences are padded at their ends, so that reading backwards starts from zero at each one's last word.
        """
        h = x.new_zeros(x.shape[1], len(self.b))
        steps = list(zip((x @ self.W.T + self.b).unbind(), present.unbind(), strict=True))  # (B, H) and (B, 1) each
        states = []
        for Wx_b, is_word in reversed(steps) if self.backwards else steps:
            h = self.f(torch.addmm(Wx_b, h, self.V.T)) * is_word
            states.append(h)
        return torch.stack(states[::-1] if self.backwards else states)


class DeepBidirectional(nn.Module):
    """V words, vectors of size d, L layers of H units a direction.

    `directions` "forward" reads from left to right alone, with everything else the same: the network of section 2 with
    biases. `activation` is f.
    """

    def __init__(
        self,
        vocabulary: int,
        embedding_size: int,
        hidden_size: int,
        layers: int,
        directions: str,
        lower_layer: str,
        activation: str,
    ) -> None:
        super().__init__()
        self.both = directions == "both"
        self.lower_layer, self.width = lower_layer, hidden_size * (1 + self.both)
        declare_parameters(self, x=(vocabulary, embedding_size))  # row w is the vector of word w
        above = self.width if lower_layer == "both" else hidden_size
        sizes = [embedding_size] + [above] * (layers - 1)
        self.right = nn.ModuleList(DirectionalLayer(n, hidden_size, activation, False) for n in sizes)  # ->
        self.left = nn.ModuleList(DirectionalLayer(n, hidden_size, activation, True) for n in sizes if self.both)  # <-

    def compute_states(self, words: Tensor, present: Tensor) -> Tensor:
        """Compute h_t^(L) (T, B, H), or (T, B, 2 H) of both directions.

        Args:
            words: (T, B) int64.
            present: (T, B), false where a sentence is padded.
        """
        is_word = present[:, :, None].to(self.x.dtype)
        h = functional.embedding(words, self.x)  # (T, B, d)
        if not self.both:
            for right in self.right:
                h = right(h, is_word)
            return h
        h_right = h_left = h
        for right, left in zip(self.right, self.left, strict=True):
            if self.lower_layer == "both" and right is not self.right[0]:
                h_right = h_left = torch.cat([h_right, h_left], 2)  # (T, B, 2 H)
            h_right, h_left = right(h_right, is_word), left(h_left, is_word)  # (T, B, H) each   (20), (21)
        return torch.cat([h_right, h_left], 2)


class Tagger(nn.Module):
    """`DeepBidirectional` under a softmax over K classes for every word: equations 19 and 22."""

    def __init__(self, vocabulary: int, classes: int, **network: int | str) -> None:
        super().__init__()
        self.network = DeepBidirectional(vocabulary, **network)
        declare_parameters(self, U=(classes, self.network.width), c=(classes,))

    def forward(self, words: Tensor, present: Tensor) -> Tensor:
        """Compute logits (T, B, K) of words (T, B); those of padding mean nothing."""
        return self.network.compute_states(words, present) @ self.U.T + self.c  # (22)


def initialise(model: nn.Module, generator: torch.Generator) -> None:
    """Draw matrices and vectors from normal laws, see `initialise_by_columns`."""
    initialise_by_columns(model, generator, vectors=("network.x",))
