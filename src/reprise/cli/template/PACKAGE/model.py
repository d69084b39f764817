"""The structurally constrained recurrent network of Mikolov et al. (2014)."""

import torch
from torch import Tensor, nn

State = tuple[Tensor, Tensor]


class SCRN(nn.Module):
    """Slow context units s beside the hidden units h of a simple recurrent network (SRN):

    s_t = (1 - alpha) B x_t + alpha s_{t-1}
    h_t = sigma(P s_t + A x_t + R h_{t-1})
    y_t = softmax(U h_t + V s_t)

    Without context units (`context_size` 0) it is the SRN.
    """

    def __init__(self, vocabulary: int, hidden_size: int, context_size: int, alpha: float = 0.95):
        super().__init__()
        self.alpha, self.sizes = alpha, (context_size, hidden_size)
        self.A, self.R = nn.Embedding(vocabulary, hidden_size), nn.Linear(hidden_size, hidden_size, bias=False)
        self.U = nn.Linear(hidden_size, vocabulary)
        if context_size:
            self.B, self.P = nn.Embedding(vocabulary, context_size), nn.Linear(context_size, hidden_size, bias=False)
            self.V = nn.Linear(context_size, vocabulary, bias=False)

    def initial_state(self, batch: int) -> State:
        """Return the state before the first word: s (B, C) and h (B, H) of zeros."""
        s, h = (self.U.weight.new_zeros(batch, size) for size in self.sizes)
        return s, h

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Compute logits (T, B, V) of the next words, and the state after the last, from words x (T, B)."""
        s, h = state
        slow, fast = [], []
        for word in x:
            Ax = self.A(word)
            if self.sizes[0]:
                s = (1 - self.alpha) * self.B(word) + self.alpha * s
                Ax = Ax + self.P(s)
            h = torch.sigmoid(Ax + self.R(h))
            slow.append(s)
            fast.append(h)
        logits = self.U(torch.stack(fast))
        if self.sizes[0]:
            logits = logits + self.V(torch.stack(slow))
        return logits, (s, h)
