"""The engines of the translation model: the readable one with autograd, and one with larger products.

Both are the same module but for the functions that autograd knows: in the engine `hand` layers go back through time by
`through_time`, products are oneDNN's where it has them, and the softmax leaves its gradient in the place of its logits.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional

from reprise.engines.choice import no_engine
from reprise.engines.gemm import linear_for
from reprise.engines.lecture.through_time import Affine, GRUThroughTime, LSTMThroughTime, RNNThroughTime
from reprise.models.recurrences import GRU, LSTM, RNN, State
from reprise.models.translation import Translator


class ReferenceTranslator(Translator):
    """The readable model and its loss."""

    name = "reference"

    def nats(self, h: Tensor, y: Tensor) -> Tensor:
        """- sum over n of ln p(y_n) by (25), with h (N, H) and words y (N,)."""
        return functional.cross_entropy(self.logits(h), y, reduction="sum")


class _HandRNN(RNN):
    linear = staticmethod(Affine.apply)

    def forward(self, Wx: Tensor, state: State) -> State:
        return (RNNThroughTime.apply(Wx, *state, self.V),)


class _HandGRU(GRU):
    linear = staticmethod(Affine.apply)

    def forward(self, Wx: Tensor, state: State) -> State:
        return (GRUThroughTime.apply(Wx, *state, self.V),)


class _HandLSTM(LSTM):
    linear = staticmethod(Affine.apply)

    def forward(self, Wx: Tensor, state: State) -> State:
        return LSTMThroughTime.apply(Wx, *state, self.V)


class HandTranslator(Translator):
    """The same functions of the same parameters."""

    name = "hand"
    units = {"rnn": _HandRNN, "gru": _HandGRU, "lstm": _HandLSTM}
    linear = staticmethod(Affine.apply)

    def nats(self, h: Tensor, y: Tensor) -> Tensor:
        """See `ReferenceTranslator`."""
        return _Nats.apply(h, self.W_S, self.b_S, y)


class _Nats(Function):
    """h (N, H), W (V, H), b (V,), y (N,) -> the sum of -ln softmax(W h + b)_y."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, W: Tensor, b: Tensor, y: Tensor) -> Tensor:
        logits = linear_for(h)(h, W, b)  # (N, V)
        at = torch.arange(len(y)), y
        logits -= logits.amax(1, keepdim=True)
        of_y = logits[at]
        p = logits.exp_()
        total = p.sum(1, keepdim=True)
        p /= total
        p[at] -= 1
        ctx.save_for_backward(h, W, p)
        return (total.squeeze(1).log() - of_y).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, share: Tensor) -> tuple[Tensor | None, ...]:
        h, W, p = ctx.saved_tensors
        linear = linear_for(h)
        dh, dW, db = linear(p, W.T, None), linear(p.T, h.T, None), p.sum(0)
        return dh.mul_(share), dW.mul_(share), db.mul_(share), None


ENGINES = {engine.name: engine for engine in (HandTranslator, ReferenceTranslator)}


def translator_of(engine: str) -> type[HandTranslator] | type[ReferenceTranslator]:
    """The class called `engine`; "auto" is hand. `UserError` for another name."""
    if engine == "auto":
        return HandTranslator
    if engine not in ENGINES:
        raise no_engine(engine, ENGINES)
    return ENGINES[engine]
