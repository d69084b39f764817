"""The engines of the translation model: the readable one with autograd, and one with larger products.

In the engine `hand` layers go back through time by the functions below, in which the gradient of V is one product over
all times; products are oneDNN's where it has them, and the softmax leaves its gradient in the place of its logits.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional

from reprise.engines.choice import no_engine
from reprise.engines.gemm import linear_for
from reprise.models.recurrences import GRU, LSTM, RNN, Recurrence, State
from reprise.models.translation import Translator


class ReferenceTranslator(Translator):
    """The readable model and its loss."""

    name = "reference"

    def nats(self, h: Tensor, y: Tensor) -> Tensor:
        """- sum over n of ln p(y_n) by (25), with h (N, H) and words y (N,)."""
        return functional.cross_entropy(self.logits(h), y, reduction="sum")


# Forward and backward through time of the layers in models/recurrences.py, as functions of autograd. Symbols as there;
# d... is the loss's derivative by what follows the d.


class Affine(Function):
    """x (..., k), W (m, k), b (m,) or None -> W x + b, (..., m)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, W: Tensor, b: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, W)
        ctx.biased = b is not None
        return linear_for(x)(x.flatten(0, -2), W, b).view(*x.shape[:-1], -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        x, W = ctx.saved_tensors
        dy = dy.flatten(0, -2)
        dx = linear_for(x)(dy, W.T, None).view_as(x) if ctx.needs_input_grad[0] else None
        return dx, _product(dy, x), dy.sum(0) if ctx.biased else None


class RNNThroughTime(Function):
    """W x_t + b (T, B, H), h_0 (B, H), V -> h_1 .. h_T (T, B, H)."""

    @staticmethod
    def forward(ctx: Any, Wx: Tensor, h_0: Tensor, V: Tensor) -> Tensor:
        linear, T = linear_for(Wx), len(Wx)
        h = Wx.new_empty(T + 1, *Wx.shape[1:])
        h[0] = h_0
        for t in range(T):
            torch.tanh(linear(h[t], V, None).add_(Wx[t]), out=h[t + 1])
        ctx.save_for_backward(h, V)
        return h[1:].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dh: Tensor) -> tuple[Tensor, ...]:
        h, V = ctx.saved_tensors
        linear, slopes = linear_for(h), 1 - h[1:] * h[1:]
        dWx, carried = torch.empty_like(dh), torch.zeros_like(dh[0])
        for t in range(len(dh) - 1, -1, -1):
            torch.mul(carried.add_(dh[t]), slopes[t], out=dWx[t])
            carried = linear(dWx[t], V.T, None)
        return dWx, carried, _product(dWx, h[:-1])


class GRUThroughTime(Function):
    """W x_t + b (T, B, 3 H), h_0 (B, H), V -> h_1 .. h_T (T, B, H)."""

    @staticmethod
    def forward(ctx: Any, Wx: Tensor, h_0: Tensor, V: Tensor) -> Tensor:
        linear, T, H = linear_for(Wx), len(Wx), h_0.shape[1]
        h = Wx.new_empty(T + 1, *h_0.shape)
        gates, u, new = Wx[..., : 2 * H].contiguous(), torch.empty_like(h[1:]), torch.empty_like(h[1:])
        h[0] = h_0
        for t in range(T):
            Vh = linear(h[t], V, None)
            r, z = gates[t].add_(Vh[:, : 2 * H]).sigmoid_().chunk(2, 1)
            u[t] = Vh[:, 2 * H :]
            torch.tanh(torch.addcmul(Wx[t, :, 2 * H :], r, u[t]), out=new[t])
            torch.lerp(new[t], h[t], z, out=h[t + 1])
        ctx.save_for_backward(h, V, gates, u, new)
        return h[1:].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dh: Tensor) -> tuple[Tensor, ...]:
        h, V, gates, u, new = ctx.saved_tensors
        linear, H = linear_for(h), h.shape[2]
        r, z = gates.chunk(2, 2)
        by_new, by_z, by_r = (1 - z) * (1 - new * new), (h[:-1] - new) * z * (1 - z), u * r * (1 - r)
        dVh, d_new = dh.new_empty(*dh.shape[:2], 3 * H), torch.empty_like(dh)
        carried = torch.zeros_like(dh[0])
        for t in range(len(dh) - 1, -1, -1):
            d = carried.add_(dh[t])
            torch.mul(d, by_new[t], out=d_new[t])
            torch.mul(d_new[t], by_r[t], out=dVh[t, :, :H])
            torch.mul(d, by_z[t], out=dVh[t, :, H : 2 * H])
            torch.mul(d_new[t], r[t], out=dVh[t, :, 2 * H :])
            carried = linear(dVh[t], V.T, None).addcmul_(d, z[t])
        return torch.cat([dVh[..., : 2 * H], d_new], 2), carried, _product(dVh, h[:-1])


class LSTMThroughTime(Function):
    """W x_t + b (T, B, 4 H), h_0 and c_0 (B, H), V -> h_1 .. h_T and c_1 .. c_T, (T, B, H) each."""

    @staticmethod
    def forward(ctx: Any, Wx: Tensor, h_0: Tensor, c_0: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
        linear, T, H = linear_for(Wx), len(Wx), h_0.shape[1]
        h, c = Wx.new_empty(T + 1, *h_0.shape), Wx.new_empty(T + 1, *h_0.shape)
        gates, tanh_c = Wx.clone(), torch.empty_like(h[1:])
        h[0], c[0] = h_0, c_0
        for t in range(T):
            gates[t].add_(linear(h[t], V, None))
            i, f, o = gates[t, :, : 3 * H].sigmoid_().chunk(3, 1)
            torch.mul(i, gates[t, :, 3 * H :].tanh_(), out=c[t + 1]).addcmul_(f, c[t])
            torch.mul(o, torch.tanh(c[t + 1], out=tanh_c[t]), out=h[t + 1])
        ctx.save_for_backward(h, c, V, gates, tanh_c)
        return h[1:].clone(), c[1:].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dh: Tensor, dc: Tensor) -> tuple[Tensor, ...]:
        h, c, V, gates, tanh_c = ctx.saved_tensors
        linear, H = linear_for(h), h.shape[2]
        i, f, o, new = gates.chunk(4, 2)
        by_c = torch.cat([new * i * (1 - i), c[:-1] * f * (1 - f), i * (1 - new * new)], 2)  # of i, f and c~
        by_o, to_c = tanh_c * o * (1 - o), o * (1 - tanh_c * tanh_c)
        dWx = torch.empty_like(gates)
        carried, carried_c = torch.zeros_like(dh[0]), torch.zeros_like(dh[0])
        for t in range(len(dh) - 1, -1, -1):
            d = carried.add_(dh[t])
            d_c = carried_c.add_(dc[t]).addcmul_(d, to_c[t])
            torch.mul(d_c.repeat(1, 2), by_c[t, :, : 2 * H], out=dWx[t, :, : 2 * H])
            torch.mul(d, by_o[t], out=dWx[t, :, 2 * H : 3 * H])
            torch.mul(d_c, by_c[t, :, 2 * H :], out=dWx[t, :, 3 * H :])
            carried, carried_c = linear(dWx[t], V.T, None), d_c * f[t]
        return dWx, carried, carried_c, _product(dWx, h[:-1])


def _product(left: Tensor, right: Tensor) -> Tensor:
    """The sum of left_n right_n^T over all rows n, (m, k)."""
    return linear_for(left)(left.flatten(0, -2).T, right.flatten(0, -2).T, None)


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


def _by_hand(unit: type[Recurrence], through_time: type[Function]) -> type[Recurrence]:
    class ByHand(unit):
        linear = staticmethod(Affine.apply)

        def forward(self, Wx: Tensor, state: State) -> State:
            states = through_time.apply(Wx, *state, self.V)
            return states if self.parts > 1 else (states,)

    return ByHand


class HandTranslator(Translator):
    """The same functions of the same parameters."""

    name = "hand"
    units = {
        "rnn": _by_hand(RNN, RNNThroughTime),
        "gru": _by_hand(GRU, GRUThroughTime),
        "lstm": _by_hand(LSTM, LSTMThroughTime),
    }
    linear = staticmethod(Affine.apply)

    def nats(self, h: Tensor, y: Tensor) -> Tensor:
        return _Nats.apply(h, self.W_S, self.b_S, y)


def translator_of(engine: str) -> type[HandTranslator] | type[ReferenceTranslator]:
    """The class called `engine`; "auto" is hand. `UserError` for another name."""
    engines = {"auto": HandTranslator, "hand": HandTranslator, "reference": ReferenceTranslator}
    if engine not in engines:
        raise no_engine(engine, ["hand", "reference"])
    return engines[engine]
