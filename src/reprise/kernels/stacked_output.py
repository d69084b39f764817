"""The softmax layer of a stack of batch-1 language models: forward, backward and SGD step as batched products.

W_o and b_o of all replicas are one tensor (H', R, V'): b_o is row H, met by a 1 beside the state, and rows and words
are filled up to whole vectors. With the replicas inside, every product is one batched GEMM on strided views, and the
words can be split into parts that add up a long sum at the same time (a GPU has more to do then than R products).
"""

from __future__ import annotations

import torch
from torch import Tensor

from reprise.kernels.stacked import everyone
from reprise.kernels.stacked_programs import shaped

PADDING_BIAS = -1e30
"""b_o of the words that fill up the last vector: their probability is nothing."""

WORDS, UNITS = 64, 4
"""V' and H' are multiples of these."""

# Products at a time that keep a large GPU busy, and the fewest words worth one of them.
_PARALLEL, _FEWEST_WORDS = 256, 256


class StackedOutput:
    """Softmax layers of R replicas over V words, states of H units; subsequences of at most `longest` words."""

    def __init__(self, R: int, V: int, H: int, longest: int, like: Tensor) -> None:
        self.R, self.V, self.H = R, V, H
        self.padded_V, self.padded_H = -(-V // WORDS) * WORDS, -(-(H + 1) // UNITS) * UNITS
        self.parts = parts_for(R, self.padded_V, like.device)
        self.W = like.new_zeros(self.padded_H, R, self.padded_V)
        self.W[H, :, V:].fill_(PADDING_BIAS)
        self.inputs = like.new_zeros(longest, R, self.padded_H)
        self.inputs[:, :, H].fill_(1)
        self.scaled = like.new_zeros(longest, R, self.padded_H)
        self.minus_one = like.new_full((1, 1, 1), -1.0)
        self._logits = like.new_zeros(longest * R * self.padded_V)
        self._partial = like.new_zeros(R * self.parts * longest * H)

    def named(self, replica: int) -> dict[str, Tensor]:
        """Views of a replica's parameters in the readable model's shapes."""
        own = self.W[:, replica, : self.V]
        return {"W_o": own[: self.H].T, "b_o": own[self.H]}

    def log_probabilities(self, T: int, h: Tensor, mask: Tensor | None, targets: Tensor) -> Tensor:
        """States h (T, R, H) -> log P of the targets (T,), (T, R); all log P stay here for `derivative`."""
        inputs = self.inputs[:T]
        if mask is None:
            inputs[:, :, : self.H].copy_(h)
        else:
            torch.mul(h, mask, out=inputs[:, :, : self.H])
        self.P = shaped(self._logits, T, self.R, self.padded_V)
        torch.bmm(inputs.transpose(0, 1), self.W.transpose(0, 1), out=self.P.transpose(0, 1))
        torch.log_softmax(self.P, 2, out=self.P)
        return self.P.gather(2, everyone(targets, self.R, 1)).squeeze(2)

    def derivative(self, T: int, targets: Tensor, out: Tensor) -> None:
        """The loss's derivative by the softmax input, without its mask, into `out` (T, R, H)."""
        R, G, H = self.R, self.parts, self.H
        self.P.exp_().scatter_add_(2, everyone(targets, R, 1), self.minus_one.expand(T, R, 1))
        by_logits = self.P.view(T, R * G, -1).transpose(0, 1)  # (R G, T, V'/G)
        weights = self.W[:H].view(H, R * G, -1).permute(1, 2, 0)  # (R G, V'/G, H)
        partial = shaped(self._partial, R * G, T, H)
        torch.bmm(by_logits, weights, out=partial)
        torch.sum(partial.view(R, G, T, H), 1, out=out.transpose(0, 1))

    def step(self, T: int, rates: Tensor) -> None:
        """W_o and b_o: adds `rates` (R,) times the gradient."""
        scaled = torch.mul(self.inputs[:T], rates[:, None], out=self.scaled[:T])
        self.W.transpose(0, 1).baddbmm_(scaled.permute(1, 2, 0), self.P.transpose(0, 1))


def parts_for(R: int, V: int, device: torch.device) -> int:
    """Into how many equal parts the words are split: a power of two, 1 on a CPU."""
    parts = 1
    if device.type == "cpu":
        return parts
    while R * parts < _PARALLEL and parts < WORDS and V // (2 * parts) >= _FEWEST_WORDS:
        parts *= 2
    return parts
