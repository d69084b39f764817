"""The deep LSTM layer by layer, without autograd."""

from functools import partial

import torch
from torch import Tensor

from reprise.engines.gemm import Linear, linear_for
from reprise.models.deep_lstm import DeepLSTM, State


class LayerwiseEngine:
    """A layer at a time over the whole window: all products but h(t-1)'s are one for all steps, there and back.

    Against autograd it keeps the gates alone of what it computed, writes their derivatives where they are needed, and
    takes products that use the CPU's whole vector width (`engines/gemm.py`).
    """

    name = "layerwise"

    def __init__(self, model: DeepLSTM) -> None:
        self.model, self.linear = model, linear_for(model.b_out)
        self.recurrences: list[Recurrence] = []  # a layer each, of the last window's size

    @torch.no_grad()
    def loss_and_gradients(self, x: Tensor, y: Tensor, state: State) -> tuple[float, State]:
        """See `ReferenceEngine`; ValueError for symbols that the model does not have."""
        model = self.model
        if not 0 <= x.min() <= x.max() < model.vocabulary:
            raise ValueError(f"symbols must be in 0 .. {model.vocabulary - 1}")
        self._make_room(*x.shape)
        after = []
        for number, (recurrence, (h, c)) in enumerate(zip(self.recurrences, state, strict=True), start=1):
            W, U, b = model.layer(number)
            with_beta = b.clone()
            with_beta[model.hidden : 2 * model.hidden] += model.forget_bias
            gates = recurrence.gates.flatten(0, 1)  # (T B, 4n)
            if number == 1:
                torch.index_select(W.t().contiguous() + with_beta, 0, x.flatten(), out=gates)
            else:
                gates.copy_(self.linear(self._states(number - 1), W, with_beta))
            after.append(recurrence.forward(U, h, c))
        loss, d = self._through_softmax(self._states(model.layers), y.flatten())
        for number in range(model.layers, 0, -1):
            W, U, b = model.layer(number)
            recurrence = self.recurrences[number - 1]
            d_gates = recurrence.backward(d.view(*x.shape, -1), U).flatten(0, 1)  # (T B, 4n)
            U.grad = self._product(d_gates, recurrence.h[:-1].flatten(0, 1))
            b.grad = d_gates.sum(0)
            if number == 1:
                W.grad = torch.zeros_like(W.t()).index_add_(0, x.flatten(), d_gates).t().contiguous()
            else:
                W.grad = self._product(d_gates, self._states(number - 1))
                d = self.linear(d_gates, W.t().contiguous(), None)
        return loss, tuple(after)

    def _make_room(self, T: int, B: int) -> None:
        model = self.model
        if not self.recurrences or self.recurrences[0].phi_c.shape[:2] != (T, B):
            rest = (model.hidden, model.activation, self.linear)
            self.recurrences = [Recurrence(model.b_out, T, B, *rest) for _ in range(model.layers)]

    def _states(self, number: int) -> Tensor:
        """h(1) … h(T) of a layer, (T B, n)."""
        return self.recurrences[number - 1].h[1:].flatten(0, 1)

    def _product(self, d: Tensor, s: Tensor) -> Tensor:
        """d^T s of d (N, m) and s (N, n), n < m: the narrower one is turned, and the small result."""
        return self.linear(s.t().contiguous(), d.t(), None).t().contiguous()

    def _through_softmax(self, s: Tensor, y: Tensor) -> tuple[float, Tensor]:
        """States s (N, n) and next symbols (N,): the mean loss and its derivative by s; sets the output's gradients."""
        W, b = self.model.W_out, self.model.b_out
        log_p = torch.log_softmax(self.linear(s, W, b), 1)  # (N, V)
        loss = -log_p.gather(1, y[:, None]).mean(dtype=torch.float64).item()
        d = log_p.exp_()
        d.scatter_add_(1, y[:, None], d.new_full((len(y), 1), -1.0))
        d /= len(y)
        W.grad, b.grad = self.linear(d.t().contiguous(), s.t(), None), d.sum(0)
        return loss, self.linear(d, W.t().contiguous(), None)


class Recurrence:
    """n units, windows of T steps and B streams; phi is `activation`, see `reprise.models.deep_lstm`.

    The caller writes W z(t) + b + beta into `gates`, (T, B, 4n); `h` holds h(0) … h(T) after `forward`, (T + 1, B, n).
    """

    def __init__(self, like: Tensor, T: int, B: int, n: int, activation: str, linear: Linear) -> None:
        self.n, self.linear = n, linear
        self.phi, self.slope = PHI[activation]
        new = like.detach().new_empty
        self.gates, self.d_gates = new(T, B, 4 * n), new(T, B, 4 * n)
        self.h, self.c, self.phi_c, self.by_c = new(T + 1, B, n), new(T + 1, B, n), new(T, B, n), new(T, B, n)
        # Views of every step are made once: of small tensors they cost as much as what is computed with them.
        self.steps = _by_step(
            self.gates,
            self.gates[..., : 3 * n],
            *self.gates.split(n, -1),
            *(self.phi_c, self.h[:-1], self.h[1:], self.c[:-1], self.c[1:]),
        )
        f, d_o, d_g = self.gates[..., n : 2 * n], self.d_gates[..., 2 * n : 3 * n], self.d_gates[..., 3 * n :]
        d_i_f = self.d_gates[..., : 2 * n].unflatten(2, (2, n))
        self.back = _by_step(self.d_gates, d_i_f, d_o, d_g, self.by_c, f)

    def forward(self, U: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """With U (4n, n), h(0) and c(0), (B, n) each: the last h and c. The gates are finished in place."""
        self.h[0], self.c[0] = h, c
        for all_four, i_f_o, i, f, o, g, phi_c, before, after, c_before, c_after in self.steps:
            all_four += self.linear(before, U, None)
            i_f_o.sigmoid_()
            self.phi(g, out=g)
            torch.mul(i, g, out=c_after).addcmul_(f, c_before)
            torch.mul(o, self.phi(c_after, out=phi_c), out=after)
        return self.h[-1].clone(), self.c[-1].clone()

    def backward(self, dh: Tensor, U: Tensor) -> Tensor:
        """Derivatives by the gates' inputs, (T, B, 4n), from those by h(1) … h(T) from above, (T, B, n), used up."""
        i, f, o, g = self.gates.split(self.n, -1)
        d_i, d_f, d_o, d_g = self.d_gates.split(self.n, -1)
        # First what a step's dc, or dh, has to be multiplied by, for all steps at once.
        torch.mul(i, self.slope(g), out=d_g)
        torch.mul(g, i, out=d_i).addcmul_(d_i, i, value=-1)
        torch.mul(self.c[:-1], f, out=d_f).addcmul_(d_f, f, value=-1)
        torch.mul(self.phi_c, o, out=d_o).addcmul_(d_o, o, value=-1)
        torch.mul(self.slope(self.phi_c), o, out=self.by_c)
        U_T, dc, recurrent = U.t().contiguous(), torch.zeros_like(dh[0]), None
        for d, (d_all, d_i_f, d_o, d_g, by_c, f) in zip(reversed(dh.unbind()), reversed(self.back), strict=True):
            if recurrent is not None:
                d += recurrent
            dc.addcmul_(d, by_c)
            d_i_f.mul_(dc[:, None])
            d_g.mul_(dc)
            d_o.mul_(d)
            dc.mul_(f)
            recurrent = self.linear(d_all, U_T, None)
        return self.d_gates


def _by_step(*parts: Tensor) -> list[tuple[Tensor, ...]]:
    return list(zip(*(part.unbind() for part in parts), strict=True))


PHI = {"relu": (partial(torch.clamp_min, min=0), torch.sign), "tanh": (torch.tanh, lambda y: 1 - y * y)}
"""phi by name, with an argument `out`, and its slope by its value."""
